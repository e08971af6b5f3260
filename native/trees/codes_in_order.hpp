// Codes of features that are grouped along an order, as their places in it: what the kernels for runs can take.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <span>
#include <utility>
#include <vector>

#include "trees/joint_counts.hpp"
#include "trees/joint_store.hpp"
#include "trees/search.hpp"

namespace omtree {

class CodesInOrder {
  public:
    explicit CodesInOrder(const SearchProblem &given) : problem_(given) {
        for (SearchFeature &feature : problem_.features) {
            orders_.push_back(std::exchange(feature.order, {}));
            if (orders_.back().empty()) {
                continue;
            }
            std::array<std::uint8_t, 256> place{};
            for (std::size_t i = 0; i < orders_.back().size(); ++i) {
                place[orders_.back()[i]] = static_cast<std::uint8_t>(i);
            }
            if (feature.codes == nullptr) {
                continue; // rows that are only counted
            }
            std::vector<std::uint8_t> &column = columns_.emplace_back(problem_.n_rows);
            for (std::size_t i = 0; i < problem_.n_rows; ++i) {
                column[i] = place[feature.codes[i]];
            }
            feature.codes = column.data();
        }
    }
    CodesInOrder(const CodesInOrder &) = delete;
    CodesInOrder &operator=(const CodesInOrder &) = delete;

    const SearchProblem &problem() const { return problem_; }
    /// The codes as they were given, by their place in the order of the feature; empty where that is the same.
    const std::vector<std::uint8_t> &given(int feature) const { return orders_[feature]; }

    /// Trees with the codes that were given.
    void restore(std::vector<SearchTree> &trees) const {
        for (SearchTree &tree : trees) {
            for (SearchNode &node : tree) {
                for (auto &[codes, child] : node.branches) {
                    for (std::uint8_t &code : codes) {
                        code = orders_[node.feature].empty() ? code : orders_[node.feature][code];
                    }
                }
            }
        }
    }

  private:
    SearchProblem problem_;
    std::vector<std::vector<std::uint8_t>> orders_; ///< by feature, as given
    std::list<std::vector<std::uint8_t>> columns_;
};

/// Tables of rows elsewhere, by the places of the codes.
class TablesInOrder final : public JointSource {
  public:
    TablesInOrder(const CodesInOrder &codes, JointSource &source) : codes_(codes), source_(source) {}

    std::vector<double> tables(std::span<const std::int32_t> sets, int width) override {
        std::vector<double> counts = source_.tables(sets, width);
        std::vector<int> n_codes;
        for (const SearchFeature &feature : codes_.problem().features) {
            n_codes.push_back(feature.n_codes);
        }
        if (counts.size() != joint_size(sets, width, n_codes, codes_.problem().n_classes)) {
            return counts; // whoever asked complains
        }
        std::vector<double> as_given;
        double *table = counts.data();
        for (std::size_t s = 0; s < sets.size(); s += width) {
            const std::span<const std::int32_t> set = sets.subspan(s, width);
            std::size_t size = codes_.problem().n_classes;
            for (const std::int32_t feature : set) {
                size *= n_codes[feature];
            }
            std::size_t inner = size; // what one code of the feature before has
            for (const std::int32_t feature : set) {
                const std::size_t outer = inner;
                inner /= n_codes[feature];
                const std::vector<std::uint8_t> &given = codes_.given(feature);
                if (given.empty()) {
                    continue;
                }
                as_given.assign(table, table + size);
                for (std::size_t block = 0; block < size; block += outer) {
                    for (std::size_t place = 0; place < given.size(); ++place) {
                        std::copy_n(as_given.data() + block + given[place] * inner, inner,
                                    table + block + place * inner);
                    }
                }
            }
            table += size;
        }
        return counts;
    }

  private:
    const CodesInOrder &codes_;
    JointSource &source_;
};

} // namespace omtree
