#include "trees/general_ways.hpp"

#include <algorithm>
#include <numeric>

namespace omtree::general {

Ways::Ways(const Partition &partition, Family family, int k, bool missing, int max_children) {
    // Steps among sets of codes first; the number of children so far is a part of the state where it is limited.
    std::vector<Step> plain;
    int n_sets = 0;
    const auto add = [&](int from, int to, int block) {
        if (partition.usable(block)) {
            plain.push_back({from, to, block});
        }
    };
    if (family == Family::single) {
        n_sets = 1;
    } else if (family == Family::value) {
        n_sets = k + 1;
        for (int p = 0; p < k; ++p) {
            add(p, p + 1, p);
        }
    } else if (family == Family::subset) {
        n_sets = 1 << k;
        for (int done = 0; done < n_sets - 1; ++done) {
            const int rest = n_sets - 1 - done;
            const int lowest = rest & -rest;
            for (int block = rest; block > 0; block = (block - 1) & rest) {
                if (block & lowest) {
                    add(done, done | block, block);
                }
            }
        }
    } else {
        const auto set = [&](int placed, bool with_missing) { return placed * (1 + missing) + with_missing; };
        n_sets = (k + 1) * (1 + missing);
        for (int begin = 0; begin < k; ++begin) {
            for (int placed = 0; placed <= missing; ++placed) {
                if (missing && begin == 0 && placed == 0) {
                    add(set(0, false), set(0, true), partition.n_blocks() - 1);
                }
                for (int end = begin + 1; end <= k; ++end) {
                    add(set(begin, placed), set(end, placed), partition.run(begin, end));
                    if (missing && placed == 0) {
                        add(set(begin, false), set(end, true), partition.run(begin, end, true));
                    }
                }
            }
        }
    }
    const int layers = max_children > 0 ? max_children : 1;
    const auto state = [&](int set, int layer) { return max_children > 0 ? set * (layers + 1) + layer : set; };
    for (const Step &step : plain) {
        for (int layer = 0; layer < layers; ++layer) {
            steps.push_back({state(step.from, layer), state(step.to, max_children > 0 ? layer + 1 : 0), step.block});
        }
    }
    n_states = n_sets * (max_children > 0 ? layers + 1 : 1);
    // One code against all others, by a state of its own.
    for (int p = 0; (family == Family::run || family == Family::single) && p < k; ++p) {
        if (partition.usable(k * k + p)) {
            const int between = n_states++;
            steps.push_back({0, between, partition.run(p, p + 1)});
            steps.push_back({between, -1, k * k + p});
        }
    }
    // All ends are one.
    const int end = n_states++;
    for (Step &step : steps) {
        for (int layer = 0; layer <= layers; ++layer) {
            if (step.to == state(n_sets - 1, layer)) {
                step.to = end;
                break;
            }
        }
        step.to = step.to < 0 ? end : step.to;
    }
    std::stable_sort(steps.begin(), steps.end(), [](const Step &a, const Step &b) { return a.from < b.from; });
    first_steps.assign(n_states + 1, 0);
    for (const Step &step : steps) {
        ++first_steps[step.from + 1];
    }
    std::partial_sum(first_steps.begin(), first_steps.end(), first_steps.begin());
}

std::vector<double> Ways::to_the_end(const Partition &partition, int budget) const {
    const std::size_t width = budget + 1;
    std::vector<double> least(n_states * width, infinity);
    std::fill(least.end() - static_cast<std::ptrdiff_t>(width), least.end(), 0.0);
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
        for (int m = 1; m <= budget; ++m) {
            double &best = least[step->from * width + m];
            for (int own = 1; own <= std::min(m, partition.child_budget()); ++own) {
                best = std::min(best, partition.value(step->block, own) + least[step->to * width + m - own]);
            }
        }
    }
    return least;
}

std::vector<double> Ways::from_the_start(const Partition &partition, int budget) const {
    const std::size_t width = budget + 1;
    std::vector<double> least(n_states * width, infinity);
    std::fill_n(least.begin(), width, 0.0);
    for (const Step &step : steps) {
        for (int m = 1; m <= budget; ++m) {
            double &best = least[step.to * width + m];
            for (int own = 1; own <= std::min(m, partition.child_budget()); ++own) {
                best = std::min(best, partition.value(step.block, own) + least[step.from * width + m - own]);
            }
        }
    }
    return least;
}

} // namespace omtree::general
