"""The feature graph: which conditions and paths there are, and how it is handed on."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

from helpers import datasets, oracle
from omtree.data.table import Feature
from omtree.problem.graph import Condition, FeatureGraph


def feature(kind: str, n_values: int, has_missing: bool = False, name: str = "f", **more: object) -> Feature:
    """A feature with plain levels or thresholds."""
    if kind == "numeric":
        return Feature(name, 0, kind, n_values, has_missing, thresholds=np.arange(1.0, n_values))
    levels = tuple(f"v{i}" for i in range(n_values))
    return Feature(name, 0, kind, n_values, has_missing, levels=levels, **more)  # type: ignore[arg-type]


def random_graph(seed: int, categories: str = "groups") -> FeatureGraph:
    """A graph over a random table's features, in random order."""
    rng = np.random.default_rng(seed)
    features = datasets.random_table(rng).features
    return FeatureGraph(features, categories, order=rng.permutation(len(features)).tolist())


@pytest.mark.parametrize("categories", ["groups", "values"])
@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize("kind", ["numeric", "ordinal", "nominal"])
@pytest.mark.parametrize("n_values", [1, 2, 3, 4, 5, 6, 8])
def test_conditions_are_those_of_the_definition(kind: str, n_values: int, has_missing: bool, categories: str) -> None:
    """Each condition of the definition is a node exactly once, whatever the kind, with and without missing values."""
    n_codes = n_values + has_missing
    order = tuple(np.random.default_rng(n_codes).permutation(n_codes).tolist()) if kind == "nominal" else None
    f = feature(kind, n_values, has_missing, target_order=order) if order else feature(kind, n_values, has_missing)
    level = FeatureGraph([f], categories).levels[0]
    nodes = level.nodes
    assert len(set(nodes)) == len(nodes) == level.n_conditions
    assert {frozenset(node.codes) for node in nodes} == set(oracle.conditions(f, categories))
    assert all(node.codes == tuple(sorted(node.codes)) for node in nodes)
    assert all(node.text == f.describe(node.codes) == str(node) for node in nodes)


def test_groups_of_many_values() -> None:
    """Beyond five codes: single values, their complements, and runs along the target, each once."""
    f = feature("nominal", 6, target_order=(5, 3, 1, 0, 2, 4))
    sets = set(FeatureGraph([f]).levels[0].code_sets)
    assert {(i,) for i in range(6)} <= sets
    assert {tuple(j for j in range(6) if j != i) for i in range(6)} <= sets
    assert (3, 5) in sets
    assert (0, 1, 3, 5) in sets
    assert (0, 5) not in sets
    # 20 proper runs hold the 6 single values and 2 of the 6 complements.
    assert len(sets) == 20 + 4


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("categories", ["groups", "values"])
def test_counts_agree_with_enumeration(seed: int, categories: str) -> None:
    """`n_paths` counts what `paths` lists, for every depth limit and none; no path comes twice."""
    graph = random_graph(seed, categories)
    for depth in (0, 1, 2, None):
        if graph.n_paths(depth) > 20_000:
            continue
        paths = list(graph.paths(depth))
        assert len(paths) == len(set(paths)) == graph.n_paths(depth)
        assert paths[0] == ()
        for path in paths:
            levels = [graph.level_of(condition.feature) for condition in path]
            assert levels == sorted(set(levels))
            assert depth is None or len(path) <= depth


@pytest.mark.parametrize("seed", range(12))
def test_counts_agree_with_the_formulas(seed: int) -> None:
    """All paths: the product of conditions + 1. Up to d conditions: elementary symmetric sums of the level sizes."""
    graph = random_graph(seed)
    sizes = [len(level.nodes) for level in graph]
    assert graph.n_paths() == math.prod(size + 1 for size in sizes)
    for depth in range(len(sizes) + 3):
        expected = sum(math.prod(c) for k in range(depth + 1) for c in itertools.combinations(sizes, k))
        assert graph.n_paths(depth) == expected
    assert graph.n_conditions == sum(sizes)
    assert graph.n_nodes == sum(sizes) + len(sizes) + 2
    assert len(graph) == len(sizes)


def test_counts_of_large_graphs_are_exact() -> None:
    """Counts are whole numbers of any size."""
    graph = FeatureGraph([feature("numeric", 20) for _ in range(60)])
    assert graph.n_paths() == (20 * 21 // 2) ** 60


def test_successors() -> None:
    """A path is extended by conditions of later levels, while it is shorter than the limit."""
    a, b, c = feature("ordinal", 3), feature("nominal", 2), feature("numeric", 2)
    graph = FeatureGraph([a, b, c], order=[2, 0, 1])
    every = [node for level in graph for node in level.nodes]
    assert list(graph.successors(())) == every
    on_a = graph.levels[1].nodes[0]
    assert on_a.feature == 0
    assert list(graph.successors((on_a,))) == list(graph.levels[2].nodes)
    assert list(graph.successors((on_a,), max_depth=1)) == []
    assert list(graph.successors((on_a,), max_depth=2)) == list(graph.levels[2].nodes)
    assert list(graph.successors((graph.levels[2].nodes[0],))) == []


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("categories", ["groups", "values"])
def test_pack_round_trip(seed: int, categories: str) -> None:
    """The flat arrays hold the same conditions in the same order."""
    graph = random_graph(seed, categories)
    packed = graph.pack()
    unpacked = [
        (int(position), tuple(code for code in range(256) if int(mask[code // 64]) >> (code % 64) & 1))
        for position, begin, end in zip(packed.feature, packed.start, packed.start[1:], strict=False)
        for mask in packed.masks[begin:end]
    ]
    assert unpacked == [(node.feature, node.codes) for level in graph for node in level.nodes]
    assert packed.start[-1] == len(packed.masks) == graph.n_conditions


def test_pack_many_codes() -> None:
    """Codes beyond the first machine word keep their bits."""
    graph = FeatureGraph([feature("nominal", 200, True)], "values")
    masks = graph.pack().masks
    assert [[int(w) for w in np.flatnonzero(mask)] for mask in masks] == [[code // 64] for code in range(201)]
    assert [int(mask.max()) for mask in masks] == [1 << (code % 64) for code in range(201)]


def test_order() -> None:
    """Levels follow the order asked for; conditions keep the position of their feature in the table."""
    features = [feature("nominal", 2, name="a"), feature("nominal", 3, name="b"), feature("nominal", 4, name="c")]
    graph = FeatureGraph(features, order=[1, 2, 0])
    assert [level.feature.name for level in graph] == ["b", "c", "a"]
    assert [level.position for level in graph] == [1, 2, 0]
    assert [graph.level_of(f) for f in range(3)] == [2, 0, 1]
    assert all(node.feature == level.position for level in graph for node in level.nodes)
    assert graph.n_paths() == FeatureGraph(features).n_paths()


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, 2, 0]])
def test_bad_order(order: list[int]) -> None:
    """An order that leaves out or repeats a feature is refused."""
    with pytest.raises(ValueError, match="order"):
        FeatureGraph([feature("nominal", 2)] * 3, order=order)


def test_empty_graph() -> None:
    """Without features there is one path, the empty one."""
    graph = FeatureGraph([])
    assert (graph.n_paths(), list(graph.paths()), graph.n_conditions, graph.n_nodes) == (1, [()], 0, 2)
    assert "source -> sink" in graph.to_dot()
    assert graph.pack().start.tolist() == [0]


def test_conditions_are_equal_by_their_codes() -> None:
    """Words are not part of a condition's identity."""
    assert Condition(0, (1,), "one") == Condition(0, (1,), "uno")
    assert hash(Condition(0, (1,), "one")) == hash(Condition(0, (1,), "uno"))


@pytest.mark.parametrize("name", ["plain", 'with "quotes"', "back\\slash", 'both \\"', "semi; colon {", "-> x"])
def test_dot(name: str) -> None:
    """The DOT text has every node once and all arcs between neighbouring levels, whatever the names."""
    graph = FeatureGraph([feature("nominal", 3, name=name), feature("ordinal", 3, True, name="g")])
    text = graph.to_dot()
    string = r'"(?:[^"\\]|\\.)*"'
    # With the quoted texts taken out, only plain syntax is left.
    bare = re.sub(string, "TEXT", text)
    assert '"' not in bare
    assert bare.count("{") == bare.count("}") == 1
    assert bare.startswith("digraph")
    first, second = (len(level.nodes) + 1 for level in graph)
    assert bare.count("label=TEXT") == graph.n_nodes
    assert bare.count("->") == first + first * second + second
    labels = [re.sub(r"\\(.)", r"\1", match[1:-1]) for match in re.findall(string, text)]
    assert f"SKIP {name}" in labels
    assert {node.text for level in graph for node in level.nodes} <= set(labels)


@pytest.mark.parametrize("categories", ["groups", "values"])
@pytest.mark.parametrize("seed", range(20))
def test_conditions_are_counted_without_listing_them(seed: int, categories: str) -> None:
    """The number of conditions of a level is that of its sets of codes."""
    features = datasets.random_table(np.random.default_rng(seed), max_values=8, n_rows=14).features
    for level in FeatureGraph(features, categories):
        assert level.n_conditions == len(level.code_sets)
