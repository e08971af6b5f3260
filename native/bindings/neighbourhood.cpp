// Trees by neighbourhoods for Python.
#include "bindings/arrays.hpp"

#include "neighbourhood/search.hpp"

namespace omtree::bindings {

namespace {

using namespace omtree::neighbourhood;

Worth worth_named(const std::string &name) {
    constexpr std::pair<const char *, Worth> kinds[] = {{"label", Worth::label},     {"squared", Worth::squared},
                                                        {"squares", Worth::squares}, {"lines", Worth::lines},
                                                        {"planes", Worth::planes},   {"poisson", Worth::poisson},
                                                        {"hazard", Worth::hazard},   {"logrank", Worth::logrank},
                                                        {"gini", Worth::gini},       {"entropy", Worth::entropy}};
    for (const auto &[known, worth] : kinds) {
        if (name == known) {
            return worth;
        }
    }
    throw nb::value_error("improve_trees: this kind of loss is not known");
}

void add_rows(Task &task, const Matrix<double> &sums, const Vector<double> &weight) {
    const std::size_t n_rows = sums.shape(0), n_planes = sums.shape(1);
    task.n_rows = static_cast<int>(n_rows);
    task.n_planes = static_cast<int>(n_planes);
    task.weight.assign(weight.data(), weight.data() + weight.size());
    task.start.assign(1, 0U);
    for (std::size_t row = 0; row < n_rows; ++row) {
        for (std::size_t plane = 0; plane < n_planes; ++plane) {
            const double amount = sums.data()[row * n_planes + plane];
            // A window centres targets, those that are zero as well.
            if (amount != 0.0 || task.worth == Worth::squared) {
                task.plane.push_back(static_cast<std::uint16_t>(plane));
                task.amount.push_back(static_cast<float>(amount));
            }
        }
        task.start.push_back(static_cast<std::uint32_t>(task.plane.size()));
    }
}

void add_views(Task &task, const Matrix<std::uint8_t> &codes, const std::vector<int> &features,
               const std::vector<int> &n_ranks, const std::vector<bool> &nests, const Matrix<std::uint8_t> &rank_of) {
    const std::size_t n_views = features.size(), n_rows = codes.shape(1);
    task.ranks.resize(n_views * n_rows);
    for (std::size_t view = 0; view < n_views; ++view) {
        task.views.push_back({features[view], n_ranks[view], nests[view]});
        const std::uint8_t *code = codes.data() + features[view] * n_rows;
        const std::uint8_t *rank = rank_of.data() + view * 256;
        for (std::size_t row = 0; row < n_rows; ++row) {
            task.ranks[row * n_views + view] = rank[code[row]];
        }
    }
}

} // namespace

void bind_neighbourhood(nb::module_ &m) {
    m.def(
        "improve_trees",
        [](Matrix<std::uint8_t> codes, Matrix<double> sums, Vector<double> weight, const std::vector<int> &features,
           const std::vector<int> &n_ranks, const std::vector<bool> &nests, Matrix<std::uint8_t> rank_of,
           const std::string &worth, bool weighs, int max_depth, int max_leaves, double min_support, double leaf_price,
           bool free_nesting, bool once, double work, int variety, int patience, std::uint64_t seed, double seconds,
           const std::vector<std::vector<std::tuple<int, int, int, int>>> &starts) {
            if (sums.shape(0) != codes.shape(1) || weight.size() != codes.shape(1)) {
                throw nb::value_error("improve_trees: codes, sums and weight differ in length");
            }
            if (n_ranks.size() != features.size() || nests.size() != features.size() ||
                rank_of.shape(0) != features.size() || rank_of.shape(1) != 256) {
                throw nb::value_error("improve_trees: a view needs a feature, ranks and a flag");
            }
            std::vector<std::vector<FlatNode>> trees;
            for (const auto &start : starts) {
                trees.emplace_back();
                for (const auto &[view, cut, low, high] : start) {
                    trees.back().push_back({{view, cut}, low, high, 0});
                }
            }
            Found found;
            std::atomic<bool> cancelled{false};
            const Stopwatch watch(seconds, cancelled);
            const bool interrupted = interruptibly(cancelled, [&] {
                Task task;
                task.worth = worth_named(worth);
                task.weighs = weighs;
                add_rows(task, sums, weight);
                add_views(task, codes, features, n_ranks, nests, rank_of);
                task.max_depth = max_depth;
                task.max_leaves = max_leaves;
                task.min_support = min_support;
                task.leaf_price = leaf_price;
                task.free_nesting = free_nesting;
                task.once = once;
                task.work = work;
                task.variety = variety;
                task.patience = patience;
                task.seed = seed;
                found = search(task, trees, watch);
            });
            nb::list answer;
            for (const std::vector<FlatNode> &tree : found.trees) {
                nb::list nodes;
                for (const FlatNode &node : tree) {
                    nodes.append(nb::make_tuple(node.test.view, node.test.cut, node.low, node.high, node.label));
                }
                answer.append(nodes);
            }
            return nb::make_tuple(answer, found.ended, interrupted);
        },
        nb::arg("codes"), nb::arg("sums"), nb::arg("weight"), nb::kw_only(), nb::arg("features"), nb::arg("n_ranks"),
        nb::arg("nests"), nb::arg("rank_of"), nb::arg("worth"), nb::arg("weighs"), nb::arg("max_depth"),
        nb::arg("max_leaves"), nb::arg("min_support"), nb::arg("leaf_price"), nb::arg("free_nesting"), nb::arg("once"),
        nb::arg("work"), nb::arg("variety"), nb::arg("patience"), nb::arg("seed"), nb::arg("seconds"),
        nb::arg("starts"));
}

} // namespace omtree::bindings
