#include "rules/pricing_general.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>

namespace omtree {
namespace {

std::size_t round_up(std::size_t n) {
    return (n + 3) / 4 * 4;
}

struct Search {
    const GeneralPricer &general;
    const PricingTask &task;
    const GeneralStats &stats;
    const Stopwatch &watch;
    std::atomic<bool> &stop;

    const std::vector<Level> &levels() const { return general.pricer().graph().levels(); }
    const RuleJudge &judge() const { return general.judge(); }
};

/// One thread's walk: buffers for each depth, and the rules it has met.
class Walk {
  public:
    Walk(const Search &search)
        : search_(search), offer_(search.general, search.task, search.stats), pool_(search.task),
          frames_(static_cast<std::size_t>(search.task.max_depth) + 1) {}

    /// Looks at the rules that extend `rule` by a condition of [from, to) of one level, and at what follows them.
    void extend_at(const PricedRule &rule, std::span<const std::int32_t> rows, std::size_t l, int from, int to) {
        const Level &level = search_.levels()[l];
        const RuleJudge &judge = search_.judge();
        const int length = rule.length + 1;
        path_.set(rule.length, level, from);
        const auto features = path_.first_features(length);
        const bool more = l + 1 < search_.levels().size() && length < search_.task.max_depth;
        const bool complete = judge.shape.complete(features) && judge.affordable(features);
        const bool open = more && search_.general.may_go_on(features, static_cast<int>(l));
        if (!complete && !open) {
            return;
        }
        Frame &frame = frames_[static_cast<std::size_t>(rule.length)];
        const std::size_t width = open ? search_.stats.full_width() : search_.stats.short_width();
        // All first conditions of a level share the sums over all rows.
        if (rule.length > 0 || static_cast<int>(l) != level_at_root_) {
            sum_conditions(search_.stats.vectors(width), search_.general.pricer().codes_of(level.feature), level, rows,
                           true, frame.histogram, frame.sums);
            frame.hashes.clear();
        }
        level_at_root_ = rule.length > 0 ? level_at_root_ : static_cast<int>(l);
        // Every extension pays at least for these tests, for at least the least support.
        const double fixed = search_.task.constant + judge.paid(judge.min_support(), features) / search_.general.unit();
        for (int j = from; j < to && !stopped(); ++j) {
            const double *sums = frame.sums.data() + static_cast<std::size_t>(j) * width;
            const double count = search_.stats.count(sums);
            if (!judge.supported(sums[0]) || count == 0.0 ||
                (count == static_cast<double>(rows.size()) && !search_.general.idle_conditions_count())) {
                continue;
            }
            ++looked_at_;
            PricedRule next = rule;
            next.conditions[static_cast<std::size_t>(next.length++)] = level.first + j;
            path_.set(rule.length, level, j);
            bool listed = false;
            if (complete && is_worth_judging(sums, fixed)) {
                if (judge.needs_rows()) {
                    list_rows(rows, level, j, frame);
                    listed = true;
                }
                look_at(next, sums, level, j, rows, frame);
            }
            if (open && !stopped() && (!judge.refines || fixed + search_.stats.bound(sums) <= pool_.threshold())) {
                if (search_.watch.expired()) {
                    search_.stop = true;
                    return;
                }
                if (!listed) {
                    list_rows(rows, level, j, frame);
                }
                for (std::size_t following = l + 1; following < search_.levels().size(); ++following) {
                    extend_at(next, frame.rows, following, 0, search_.levels()[following].size());
                }
            }
        }
    }

    /// The rule without conditions.
    void look_at_root(const PricedRule &rule, const double *sums, std::span<const std::int32_t> rows) {
        const auto hash = [&] {
            std::uint64_t sum = 0;
            for (const std::int32_t i : rows) {
                sum += search_.general.pricer().row_hash()[static_cast<std::size_t>(i)];
            }
            return sum;
        };
        least_ = std::min(least_, offer_(rule, sums, as_numbers(rows), path_, pool_, hash));
    }

    RulePool &pool() { return pool_; }
    double least() const { return least_; }
    std::uint64_t looked_at() const { return looked_at_; }

  private:
    struct Frame {
        std::vector<double> histogram;
        std::vector<double> sums;
        std::vector<std::uint64_t> hashes; // of the rows with each code; empty until a rule needs one
        std::vector<std::int32_t> rows;    // of the child being visited
    };

    bool stopped() const { return search_.stop.load(std::memory_order_relaxed); }

    /// A judge that needs the rows is slow: it is spared what the rows' lowest contributions rule out.
    bool is_worth_judging(const double *sums, double fixed) const {
        return !search_.judge().needs_rows() || !search_.judge().refines ||
               fixed + search_.stats.low(sums) < std::min(search_.task.threshold, pool_.threshold() + 1e-12);
    }

    void look_at(const PricedRule &rule, const double *sums, const Level &level, int j,
                 std::span<const std::int32_t> parent_rows, Frame &frame) {
        const auto hash = [&] { return hash_of(level, j, parent_rows, frame); };
        const RowNumbers rows = search_.judge().needs_rows() ? as_numbers(frame.rows) : RowNumbers{};
        least_ = std::min(least_, offer_(rule, sums, rows, path_, pool_, hash));
        if ((search_.task.stop_when_full && pool_.overflowed()) ||
            (search_.judge().needs_rows() && search_.watch.expired())) {
            search_.stop = true;
        }
    }

    void list_rows(std::span<const std::int32_t> rows, const Level &level, int j, Frame &frame) const {
        const std::uint8_t *codes = search_.general.pricer().codes_of(level.feature);
        const CodeSet &set = level.sets[static_cast<std::size_t>(j)];
        frame.rows.resize(rows.size());
        std::size_t n = 0;
        for (const std::int32_t i : rows) {
            frame.rows[n] = i;
            n += contains(set, codes[i]);
        }
        frame.rows.resize(n);
    }

    std::uint64_t hash_of(const Level &level, int j, std::span<const std::int32_t> rows, Frame &frame) const {
        if (frame.hashes.empty()) {
            frame.hashes.assign(static_cast<std::size_t>(level.n_codes), 0);
            const std::uint8_t *codes = search_.general.pricer().codes_of(level.feature);
            for (const std::int32_t i : rows) {
                frame.hashes[codes[i]] += search_.general.pricer().row_hash()[static_cast<std::size_t>(i)];
            }
        }
        std::uint64_t hash = 0;
        for (unsigned code = 0; code < frame.hashes.size(); ++code) {
            hash += contains(level.sets[static_cast<std::size_t>(j)], code) ? frame.hashes[code] : 0;
        }
        return hash;
    }

    const Search &search_;
    GeneralOffer offer_;
    RulePool pool_;
    std::vector<Frame> frames_;
    GeneralPath path_;
    int level_at_root_ = -1;
    double least_ = std::numeric_limits<double>::infinity();
    std::uint64_t looked_at_ = 0;
};

} // namespace

GeneralPricer::GeneralPricer(const Pricer &pricer, const RuleJudge &judge, std::span<const double> floors, double unit,
                             bool every_path)
    : pricer_(pricer), judge_(judge), floors_(floors.begin(), floors.end()), unit_(unit), every_path_(every_path) {
    for (std::size_t l = 0; l < pricer.graph().levels().size(); ++l) {
        const auto feature = static_cast<std::size_t>(pricer.graph().levels()[l].feature);
        level_of_feature_.resize(std::max(level_of_feature_.size(), feature + 1), -1);
        level_of_feature_[feature] = static_cast<int>(l);
    }
}

bool GeneralPricer::may_go_on(std::span<const int> features, int level) const {
    const PathShape &shape = judge_.shape;
    if (!shape.may_grow(features) || !judge_.affordable(features)) {
        return false;
    }
    const auto within_reach = [&](int feature) {
        const auto f = static_cast<std::size_t>(feature);
        return std::find(features.begin(), features.end(), feature) != features.end() ||
               (f < level_of_feature_.size() && level_of_feature_[f] > level);
    };
    if (shape.root >= 0 && !within_reach(shape.root)) {
        return false;
    }
    return std::all_of(shape.needs.begin(), shape.needs.end(), [&](const PathShape::Needs &need) {
        return std::find(features.begin(), features.end(), need.feature) == features.end() ||
               std::all_of(need.others.begin(), need.others.end(), within_reach);
    });
}

std::vector<double> GeneralPricer::losses(std::span<const std::int32_t> rules, int width,
                                          std::vector<std::int32_t> &labels) const {
    std::vector<double> found(labels.size());
    std::vector<double> sums(static_cast<std::size_t>(judge_.n_statistics()));
    std::vector<char> allowed;
    std::vector<std::int32_t> all(pricer_.n_rows());
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::int32_t> rows;
    for (std::size_t r = 0; r < labels.size(); ++r) {
        const auto rule = rules.subspan(r * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
        GeneralPath path;
        int length = 0;
        for (; length < width && rule[static_cast<std::size_t>(length)] >= 0; ++length) {
            const int condition = rule[static_cast<std::size_t>(length)];
            const Level &level =
                pricer_.graph().levels()[static_cast<std::size_t>(pricer_.graph().level_of(condition))];
            path.set(length, level, condition - level.first);
        }
        pricer_.covered(rule, all, rows);
        std::fill(sums.begin(), sums.end(), 0.0);
        for (const std::int32_t i : rows) {
            for (std::size_t s = 0; s < sums.size(); ++s) {
                sums[s] += judge_.row(static_cast<std::size_t>(i))[s];
            }
        }
        const auto conditions = path.first_conditions(length);
        const auto features = path.first_features(length);
        const Verdict best = judge_.judge(sums.data(), as_numbers(rows), conditions, features);
        found[r] = best.loss;
        if (labels[r] < 0) {
            labels[r] = best.label;
        } else if (labels[r] != best.label && std::isfinite(best.loss)) {
            const auto label = static_cast<std::size_t>(labels[r]);
            const bool allows = judge_.allows(sums.data(), as_numbers(rows), conditions, features, allowed) &&
                                (allowed.empty() || allowed[label]);
            found[r] =
                allows ? judge_.loss_under(labels[r], sums.data(), as_numbers(rows)) + judge_.paid(sums[0], features)
                       : std::numeric_limits<double>::infinity();
        }
        found[r] /= unit_;
    }
    return found;
}

GeneralStats::GeneralStats(const GeneralPricer &general, const PricingTask &task)
    : credit_(static_cast<std::size_t>(general.judge().n_statistics())),
      n_credits_(task.value.size() / std::max<std::size_t>(1, general.pricer().n_rows())), count_(credit_ + n_credits_),
      low_(count_ + 1) {
    const RuleJudge &judge = general.judge();
    const std::size_t n_rows = general.pricer().n_rows();
    const std::size_t n_floors = general.floors().size() / std::max<std::size_t>(1, n_rows);
    n_cases_ = std::max(n_credits_, n_floors);
    const bool slow = judge.needs_rows();
    short_ = round_up(low_ + (slow ? n_cases_ : 0));
    stride_ = short_ + round_up(n_cases_);
    data_.assign(n_rows * stride_, 0.0);
    for (std::size_t i = 0; i < n_rows; ++i) {
        double *row = data_.data() + i * stride_;
        std::copy_n(judge.row(i), credit_, row);
        std::copy_n(task.value.data() + i * n_credits_, n_credits_, row + credit_);
        row[count_] = 1.0;
        for (std::size_t c = 0; c < n_cases_; ++c) {
            const double value = general.floors()[i * n_floors + (n_floors > 1 ? c : 0)] / general.unit() -
                                 row[credit_ + (n_credits_ > 1 ? c : 0)];
            row[short_ + c] = std::min(0.0, value);
            if (slow) {
                row[low_ + c] = value;
            }
        }
    }
}

void GeneralStats::sum_all(std::vector<double> &sums) const {
    sums.assign(stride_, 0.0);
    for (std::size_t i = 0; i < data_.size(); ++i) {
        sums[i % stride_] += data_[i];
    }
}

double GeneralStats::least_of(const double *cases) const {
    return *std::min_element(cases, cases + n_cases_);
}

PricingResult GeneralPricer::exact(const PricingTask &task, const std::atomic<bool> &cancelled) const {
    const GeneralStats stats(*this, task);
    const Stopwatch watch(task.seconds, cancelled);
    std::atomic<bool> stop{false};
    const Search search{*this, task, stats, watch, stop};
    std::vector<std::int32_t> all(pricer_.n_rows());
    std::iota(all.begin(), all.end(), 0);

    // A unit of work is a first condition with everything after it; threads take units from one counter.
    std::vector<std::pair<std::size_t, int>> units;
    for (std::size_t l = 0; l < search.levels().size() && task.max_depth > 0; ++l) {
        for (int j = 0; j < search.levels()[l].size(); ++j) {
            units.emplace_back(l, j);
        }
    }
    std::vector<Walk> walks(static_cast<std::size_t>(std::max(1, pricer_.n_threads())), Walk(search));
    std::vector<double> sums;
    stats.sum_all(sums);
    walks.front().look_at_root({}, sums.data(), all);
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr error;
    const auto work = [&](Walk &walk) {
        try {
            for (std::size_t u = next++; u < units.size() && !stop; u = next++) {
                walk.extend_at({}, all, units[u].first, units[u].second, units[u].second + 1);
            }
        } catch (...) { // what a function of the user's raises
            const std::lock_guard lock(mutex);
            error = std::current_exception();
            stop = true;
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t t = 1; t < walks.size(); ++t) {
        threads.emplace_back(work, std::ref(walks[t]));
    }
    work(walks.front());
    for (auto &thread : threads) {
        thread.join();
    }
    if (error) {
        std::rethrow_exception(error);
    }
    PricingResult result;
    result.least = task.threshold; // what was ruled out unseen costs at least that
    RulePool pool(task);
    for (Walk &walk : walks) {
        result.least = std::min(result.least, walk.least());
        result.looked_at += walk.looked_at();
        pool.absorb(std::move(walk.pool()));
    }
    result.complete = !stop;
    result.rules = pool.finish(result.overflow);
    return result;
}

} // namespace omtree
