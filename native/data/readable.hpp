// Numbers a person likes to read.
#pragma once

namespace omtree {

/// The most readable number above `low` and not above `high`: zero if it is there; an integer between integers;
/// otherwise the number with the fewest significant digits, of those the one closest to the middle.
double readable_between(double low, double high);

} // namespace omtree
