// Columns of text: their distinct texts, and which of them each cell has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/arrow.hpp"

namespace omtree {

struct CodedTexts {
    std::vector<std::string> levels; ///< sorted by their bytes, which for UTF-8 is by their characters
    std::vector<std::int32_t> codes; ///< position of each cell's text in `levels`, -1 where it is missing
    bool has_missing = false;
};

/// Reads a stream of text arrays (utf8, large utf8 or utf8 view) to its end and releases it. Throws
/// std::invalid_argument where it holds something else, and std::runtime_error where it fails.
CodedTexts code_texts(ArrowStream &stream);

} // namespace omtree
