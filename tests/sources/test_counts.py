"""The search over joint counts, wherever the rows are."""

import itertools

import numpy as np
import pytest

from omtree import _native
from omtree.data.spill import Block, Spill
from omtree.data.table import Feature, Table
from omtree.engines.trees import solve, solve_counts
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import ImpurityLoss, LinearLoss
from omtree.problem.problem import Problem
from omtree.sources.counts import BlockCounts, LocalCounts, ScaledCounts, count_block, joint_size


def random_table(rng, n_rows=150, weights="whole"):
    """A table with features of every family: intervals, missing values, subsets, runs and single values."""
    features, columns = [], []
    for position in range(int(rng.integers(1, 6))):
        kind = str(rng.choice(["numeric", "ordinal", "nominal", "nominal"]))
        n_values = int(rng.integers(3, 6)) if kind != "nominal" or rng.integers(3) else 7
        missing = bool(rng.integers(2))
        order = tuple(rng.permutation(n_values + missing).tolist()) if kind == "nominal" else None
        cuts = np.arange(1.0, n_values) if kind == "numeric" else None
        levels = tuple(range(n_values)) if kind != "numeric" else None
        features.append(Feature(f"f{position}", position, kind, n_values, missing, cuts, levels, order))
        columns.append(rng.integers(0, n_values + missing, n_rows))
    codes = np.array(columns, dtype=np.uint8)
    n_classes = int(rng.integers(2, 5))
    y = (codes[0].astype(int) + codes[-1] * (codes[len(codes) // 2] > 1) + rng.integers(0, 2, n_rows)) % n_classes
    weight = rng.integers(1, 4, n_rows).astype(float) if weights == "whole" else np.ones(n_rows)
    rows = np.empty(n_rows, np.int64)
    first = _native.merge_rows(codes, rows)
    statistics = np.zeros((len(first), n_classes))
    np.add.at(statistics, (rows, y), weight)
    return Table(tuple(features), np.ascontiguousarray(codes[:, first]), statistics, rows)


def random_limits(rng, n_classes):
    """Costs and limits that bind now and then."""
    costs = 1.0 - np.eye(n_classes) if rng.integers(2) else rng.integers(0, 5, (n_classes, n_classes)).astype(float)
    limits = {
        "max_depth": int(rng.integers(1, 5)),
        "max_leaves": int(rng.integers(1, 12)),
        "min_support": float(rng.integers(1, 6)),
    }
    return costs, limits


@pytest.mark.parametrize("seed", range(60))
def test_the_trees_are_those_of_the_rows_in_memory(seed):
    """For every number of leaves the tree is the same, in all families, with weights, costs and limits that bind."""
    rng = np.random.default_rng(seed)
    table = random_table(rng)
    costs, limits = random_limits(rng, table.statistics.shape[1])
    order = rng.permutation(len(table.features)).tolist()
    graph = FeatureGraph(table.features, str(rng.choice(["groups", "values"])), order)
    options = {"max_children": None if rng.integers(2) else int(rng.integers(2, 4)), "n_jobs": int(rng.integers(1, 3))}
    expected = solve(Problem(table, graph, LinearLoss(costs), **limits), **options)
    # With little room the tables come in several batches.
    table_mb = float(rng.choice([1024, 0.5]))
    found = solve_counts(LocalCounts(table), graph, LinearLoss(costs), **limits, **options, table_mb=table_mb)
    np.testing.assert_array_equal(found.losses, expected.losses)
    assert (found.status, found.bound) == (expected.status, expected.bound)
    if options["max_children"] != 2:  # of several best binary trees it may be another one
        assert list(found.trees) == list(expected.trees)


@pytest.mark.parametrize("kind", ["gini", "entropy"])
@pytest.mark.parametrize("seed", range(8))
def test_impurity_is_that_of_the_rows_in_memory(seed, kind):
    """The weights of the classes decide it, so that joint counts are all it takes."""
    rng = np.random.default_rng(seed)
    table = random_table(rng)
    _, limits = random_limits(rng, table.statistics.shape[1])
    graph = FeatureGraph(table.features)
    loss = ImpurityLoss(kind, table.statistics.shape[1])
    expected = solve(Problem(table, graph, loss, **limits))
    found = solve_counts(LocalCounts(table), graph, loss, **limits)
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-12)
    assert list(found.trees) == list(expected.trees)


@pytest.mark.parametrize("seed", range(10))
def test_binary_trees_cost_what_they_cost_in_memory(seed):
    """With binary splits the losses of all sizes are the same; of equal trees it may be another one."""
    rng = np.random.default_rng(seed)
    table = random_table(rng)
    costs, limits = random_limits(rng, table.statistics.shape[1])
    graph = FeatureGraph(table.features)
    expected = solve(Problem(table, graph, LinearLoss(costs), **limits), splits="binary")
    found = solve_counts(LocalCounts(table), graph, LinearLoss(costs), **limits, splits="binary")
    np.testing.assert_array_equal(found.losses, expected.losses)


def test_features_that_cannot_be_split_are_not_counted():
    """Of many features those with too few rows beside one value are asked for once, alone; the trees are the same."""
    rng = np.random.default_rng(11)
    n_rows = 600
    rare = np.arange(24) % 3 == 0
    codes = np.array([rng.integers(0, 3, n_rows) * (rng.random(n_rows) > 0.98 * r) for r in rare], dtype=np.uint8)
    features = tuple(Feature(f"f{i}", i, "numeric", 3, False, np.array([1.0, 2.0])) for i in range(24))
    label = ((codes[1] > 0) & (codes[4] < 2)) ^ (codes[8] == 1) ^ (rng.random(n_rows) < 0.1)
    table = Table(features, codes, np.eye(2)[label.astype(int)], np.arange(n_rows))
    graph, costs = FeatureGraph(features), 1.0 - np.eye(2)
    limits = {"max_depth": 3, "max_leaves": 8, "min_support": 20.0}
    expected = solve(Problem(table, graph, LinearLoss(costs), **limits), counting="bits")
    asked = []

    class Asked(LocalCounts):
        def tables(self, sets, stopped):
            asked.append(sets)
            return super().tables(sets, stopped)

    found = solve_counts(Asked(table), graph, LinearLoss(costs), **limits)
    np.testing.assert_array_equal(found.losses, expected.losses)
    assert list(found.trees) == list(expected.trees)
    singles, triples = asked
    assert singles.shape == (24, 1)
    assert set(triples.ravel().tolist()) == set(np.flatnonzero(~rare).tolist())


def test_counts_beyond_four_bytes_are_exact():
    """Ten billion rows: every loss is a multiple of what it is for few rows, and the trees are the same."""
    rng = np.random.default_rng(5)
    table = random_table(rng)
    costs, limits = 1.0 - np.eye(table.statistics.shape[1]), {"max_depth": 3, "max_leaves": 6}
    graph = FeatureGraph(table.features)
    scale = 123_456_789.0
    few = solve_counts(LocalCounts(table), graph, LinearLoss(costs), min_support=2, **limits)
    counts = ScaledCounts(LocalCounts(table), np.full(len(costs), scale))
    many = solve_counts(counts, graph, LinearLoss(costs), min_support=2 * scale, **limits)
    assert counts.totals.sum() > 1e10
    np.testing.assert_array_equal(many.losses, scale * few.losses)
    assert list(many.trees) == list(few.trees)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_joint_counts_are_those_of_plain_numpy(width, weighted):
    """The kernel adds to the tables what a count of each row by numpy gives, in sets of features in any order."""
    rng = np.random.default_rng(width)
    n_codes, n_classes, n_rows = [3, 4, 2, 5], 3, 10_000
    codes = np.array([rng.integers(0, k, n_rows) for k in n_codes], dtype=np.uint8)
    labels = rng.integers(0, n_classes, n_rows).astype(np.uint16)
    weights = rng.integers(1, 100, n_rows) / 4.0 if weighted else None
    sets = np.array(list(itertools.permutations(range(4), width)), dtype=np.int32)
    found = np.ones(joint_size(sets, n_codes, n_classes))
    count_block(Block(codes, labels, weights), sets, n_codes, found, n_classes)
    parts = []
    for features in sets:
        table = np.ones([*(n_codes[f] for f in features), n_classes])
        np.add.at(table, (*codes[features], labels), 1.0 if weights is None else weights)
        parts.append(table.ravel())
    np.testing.assert_array_equal(found, np.concatenate(parts))


@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_bitsets_count_as_row_by_row_counting_does(width, weighted):
    """Of many features with few codes bitsets are counted; halved weights make it row by row, with half the sums."""
    rng = np.random.default_rng(width)
    n_codes = rng.integers(2, 4, 14).tolist()
    n_rows = 140_000  # more than one chunk of bitsets
    codes = np.array([rng.integers(0, k, n_rows) for k in n_codes], dtype=np.uint8)
    codes[3] = 0
    labels = np.where(rng.random(n_rows) < 0.001, 2, rng.integers(0, 2, n_rows)).astype(np.uint16)
    weights = rng.choice([0.0, 1.0, 3.0, 8.0, 777.0], n_rows) if weighted else None
    sets = np.array(list(itertools.combinations(range(14), width)), dtype=np.int32)
    sets = sets[rng.random(len(sets)) < 0.9]
    tables = [np.zeros(joint_size(sets, n_codes, 4)) for _ in range(2)]
    count_block(Block(codes, labels, weights), sets, n_codes, tables[0], 4)
    halves = np.full(n_rows, 0.5) if weights is None else weights / 2
    count_block(Block(codes, labels, halves), sets, n_codes, tables[1], 4)
    np.testing.assert_array_equal(tables[0], 2 * tables[1])


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_rows_in_a_file_give_the_same_tree(tmp_path, n_jobs):
    """Written in pieces and counted in blocks, by one thread or more, the rows give the tree of the table."""
    rng = np.random.default_rng(7)
    table = random_table(rng, 400, weights="one")
    graph, costs = FeatureGraph(table.features), 1.0 - np.eye(table.statistics.shape[1])
    limits = {"max_depth": 3, "max_leaves": 6, "min_support": 4.0}
    expected = solve(Problem(table, graph, LinearLoss(costs), **limits))
    rows, labels = np.nonzero(table.statistics)
    read = []
    with Spill.create(tmp_path, len(table.features), block_rows=50) as spill:
        for part in np.array_split(np.arange(len(rows)), 7):
            weights = table.statistics[rows[part], labels[part]]
            spill.append(table.codes[:, rows[part]], labels[part], weights)
        spill.close()
        n_codes = [feature.n_codes for feature in table.features]
        counts = BlockCounts(spill, n_codes, len(costs), n_jobs, read.append)
        found = solve_counts(counts, graph, LinearLoss(costs), **limits)
    assert counts.whole
    np.testing.assert_array_equal(counts.totals, table.statistics.sum(axis=0))
    np.testing.assert_array_equal(found.losses, expected.losses)
    assert list(found.trees) == list(expected.trees)
    assert sum(read) == len(rows), "a tree of depth three takes one pass over the rows"


class Failing(LocalCounts):
    """Counts that are not to be had."""

    def __init__(self, table, answer):
        super().__init__(table)
        self.answer = answer

    def tables(self, sets, stopped):
        return self.answer(sets)


def test_a_source_that_fails_ends_the_search():
    """Its exception comes through, from any thread; so does an answer of the wrong size."""
    table = random_table(np.random.default_rng(2))
    graph, costs = FeatureGraph(table.features), 1.0 - np.eye(table.statistics.shape[1])
    limits = {"max_depth": 3, "max_leaves": 8, "min_support": 1.0}

    def lost(_):
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        solve_counts(Failing(table, lost), graph, LinearLoss(costs), **limits, n_jobs=2)
    with pytest.raises(ValueError, match="another size"):
        solve_counts(Failing(table, lambda sets: np.zeros(1)), graph, LinearLoss(costs), **limits)


def test_a_source_that_is_stopped_leaves_a_model():
    """Without any counts the best tree known is a leaf, and the bound holds."""
    table = random_table(np.random.default_rng(2))
    graph, costs = FeatureGraph(table.features), 1.0 - np.eye(table.statistics.shape[1])
    found = solve_counts(
        Failing(table, lambda sets: None), graph, LinearLoss(costs), max_depth=3, max_leaves=8, min_support=1.0
    )
    totals = table.statistics.sum(axis=0)
    assert found.status == "time_limit"
    assert found.value == totals.sum() - totals.max()
    assert found.bound == 0.0


def test_tables_that_do_not_fit_are_refused_in_a_sentence():
    """Where even one batch of pairs is too large, the message says what to change."""
    table = random_table(np.random.default_rng(8))
    graph, costs = FeatureGraph(table.features), 1.0 - np.eye(table.statistics.shape[1])
    with pytest.raises(ValueError, match="n_bins"):
        solve_counts(
            LocalCounts(table), graph, LinearLoss(costs), max_depth=3, max_leaves=8, min_support=1.0, table_mb=0.0001
        )


def test_codes_beyond_their_feature_are_refused():
    """Rows that were coded for other features are named, and no memory is written that is not the table's."""
    codes, labels = np.array([[0, 3]], np.uint8), np.zeros(2, np.uint16)
    with pytest.raises(ValueError, match="the code 3 of feature 0, which has 2 codes"):
        count_block(Block(codes, labels), np.array([[0]], np.int32), [2], np.zeros(2), 1)
    with pytest.raises(ValueError, match="beyond the 1 classes"):
        count_block(Block(codes, labels + np.uint16(1)), np.array([[0]], np.int32), [4], np.zeros(4), 1)
