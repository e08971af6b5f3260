"""The search over all cuts finds what trying every tree finds, and never claims more than it knows."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest

from helpers.cut_oracle import Cuttable, best_binary, best_multiway, best_multiway_of_boxes
from omtree.deadline import Deadline
from omtree.engines.trees.all_cuts import CutNode, CutSolution, solve_cuts

FloatArray = npt.NDArray[np.float64]


def _leaves(node: CutNode, views: FloatArray, rows: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
    """The rows of every leaf, sent down on raw values."""
    if not node.children:
        return [rows]
    leaves: list[npt.NDArray[np.intp]] = []
    own = views[node.view, rows]
    lows, highs = [-np.inf, *(above for _, above in node.cuts)], [*(below for below, _ in node.cuts), np.inf]
    assert sum(((own >= low) & (own <= high)).sum() for low, high in zip(lows, highs, strict=True)) == len(rows)
    for child, low, high in zip(node.children, lows, highs, strict=True):
        assert low <= high
        leaves += _leaves(child, views, rows[(own >= low) & (own <= high)])
    return leaves


def _depth(node: CutNode) -> int:
    return 1 + max(map(_depth, node.children)) if node.children else 0


def _check(found: CutSolution, data: Cuttable, optimum: float, depth: int, leaves: int, support: float) -> None:
    if optimum == np.inf:
        assert found.tree is None
        assert found.status == "infeasible"
        return
    assert found.tree is not None
    parts = _leaves(found.tree, data.views, np.arange(data.views.shape[1]))
    assert found.value == pytest.approx(sum(data.cost(tuple(part.tolist())) for part in parts), abs=1e-9)
    assert found.value == pytest.approx(optimum, abs=1e-9)
    assert found.status == "optimal"
    assert found.bound == found.value
    assert len(parts) <= leaves
    assert _depth(found.tree) <= depth
    assert min(data.mass[part].sum() for part in parts) >= support - 1e-9


def _views(rng: np.random.Generator, n: int) -> FloatArray:
    n_views, n_values = int(rng.integers(1, 4)), int(rng.integers(2, 9))
    return rng.integers(0, n_values, (n_views, n)).astype(float)


@pytest.mark.parametrize("seed", range(150))
def test_errors_against_every_tree(seed: int) -> None:
    """Errors: the optimum over all trees, with weights, support and few leaves in turns."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 13))
    views, labels = _views(rng, n), rng.integers(0, int(rng.integers(2, 5)), n)
    weights = [None, rng.integers(1, 5, n).astype(float), rng.uniform(0.1, 2.0, n)][seed % 3]
    masses = [None, rng.integers(1, 4, n).astype(float)][seed // 3 % 2]
    depth = int(rng.integers(1, 4))
    leaves = int(rng.integers(1, 2**depth + 2))
    support = float([1.0, 2.0, 2.5][seed % 3])
    own = np.ones(n) if weights is None else weights
    mass = np.ones(n) if masses is None else masses
    data = Cuttable.errors(views, labels.tolist(), own.tolist(), mass.tolist())
    found = solve_cuts(
        views,
        labels=labels,
        weights=weights,
        masses=masses,
        max_depth=depth,
        max_leaves=leaves,
        min_support=support,
    )
    _check(found, data, best_binary(data, depth, leaves, support), depth, leaves, support)


@pytest.mark.parametrize("seed", range(100))
def test_squares_against_every_tree(seed: int) -> None:
    """Squared loss: the optimum over all trees, with weights, support and few leaves in turns."""
    rng = np.random.default_rng(1000 + seed)
    n = int(rng.integers(2, 12))
    views = _views(rng, n)
    targets = rng.normal(50.0, 3.0, n) if seed % 2 else rng.integers(0, 5, n).astype(float)
    weights = [None, rng.uniform(0.5, 2.0, n)][seed // 2 % 2]
    own = np.ones(n) if weights is None else weights
    depth = int(rng.integers(1, 4))
    leaves = int(rng.integers(1, 2**depth + 2))
    support = float([0.4, 2.0][seed % 2])
    data = Cuttable.squares(views, targets.tolist(), own.tolist())
    found = solve_cuts(
        views, targets=targets, weights=weights, masses=weights, max_depth=depth, max_leaves=leaves, min_support=support
    )
    _check(found, data, best_binary(data, depth, leaves, support), depth, leaves, support)


@pytest.mark.parametrize("seed", range(200))
def test_multiway_errors_against_every_tree(seed: int) -> None:
    """Multiway trees: the optimum over all trees with any intervals, features tested again included."""
    rng = np.random.default_rng(2000 + seed)
    n = int(rng.integers(2, 11))
    views, labels = _views(rng, n), rng.integers(0, int(rng.integers(2, 5)), n)
    weights = rng.integers(1, 5, n).astype(float) if seed % 3 == 0 else np.ones(n)
    depth, leaves = int(rng.integers(1, 4)), int(rng.integers(1, 9))
    data = Cuttable.errors(views, labels.tolist(), weights.tolist(), [1.0] * n)
    found = solve_cuts(views, labels=labels, weights=weights, max_depth=depth, max_leaves=leaves, multiway=True)
    _check(found, data, best_multiway(data, depth, leaves), depth, leaves, 1.0)
    assert found.value <= best_binary(data, depth, leaves, 1.0)


@pytest.mark.parametrize("seed", range(12))
def test_multiway_errors_against_every_box(seed: int) -> None:
    """So many values and rows that cells are cut finer and parts looked at in halves: the optimum, and bounds below it
    whenever the work ends."""
    rng = np.random.default_rng(4000 + seed)
    n, n_values = int(rng.integers(100, 400)), int(rng.integers(10, 13))
    views = rng.integers(0, n_values, (2, n))
    noise = rng.random(n) < 0.15
    labels = np.where(noise, rng.integers(0, 3, n), (views[0] // 4 + (views[1] // (3 + seed % 3))) % (2 + seed % 2))
    weights = rng.integers(1, 4, n).astype(float) if seed % 3 == 0 else np.ones(n)
    depth, leaves = [(2, 5), (3, 6), (3, 8), (2, 8)][seed % 4]
    optimum = best_multiway_of_boxes(views, labels, weights, depth, leaves)
    options = {"labels": labels, "weights": weights, "max_depth": depth, "max_leaves": leaves, "multiway": True}
    found = solve_cuts(views.astype(float), **options)
    assert found.value == found.bound == optimum
    for work in (1e3, 1e4, 1e5, 1e6):
        early = solve_cuts(views.astype(float), work=work, **options)
        assert early.bound <= optimum <= early.value
    beyond = solve_cuts(views.astype(float), known=optimum, **options)
    assert beyond.tree is None
    assert beyond.bound == optimum


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize(("depth", "n_rows", "seed"), [(3, 90, 0), (3, 90, 1), (3, 90, 2), (3, 60, 3), (4, 40, 4)])
def test_bounds_by_cut_are_passed_on(depth: int, n_rows: int, seed: int, squared: bool) -> None:
    """Far more cuts than are looked at at a time: the optimum is that of each root's sides, searched on their own, with
    no bounds from other nodes."""
    rng = np.random.default_rng(seed)
    views = np.round(rng.normal(size=(3, n_rows)), 1 + seed % 2)
    weights = rng.integers(1, 4, n_rows).astype(float)
    answers = rng.integers(0, 2 + seed % 2, n_rows)
    answers[views[0] * views[1] > 0.3] = 1

    def value(rows: np.ndarray, levels: int) -> float:
        data = {"targets": answers[rows].astype(float)} if squared else {"labels": answers[rows]}
        return solve_cuts(views[:, rows], weights=weights[rows], max_depth=levels, **data).value

    least = value(np.arange(n_rows), depth - 1)
    for view in views:
        for cut in np.unique(view)[:-1]:
            left = view <= cut
            sides = np.flatnonzero(left), np.flatnonzero(~left)
            least = min(least, sum(value(rows, depth - 1) for rows in sides))
    assert value(np.arange(n_rows), depth) == pytest.approx(least, rel=1e-9, abs=1e-9)


def test_only_better_multiway_trees() -> None:
    """With the loss of a known tree the answer has a tree only where that is better, and the same optimum."""
    rng = np.random.default_rng(3)
    views, labels = rng.normal(size=(3, 80)), rng.integers(0, 2, 80)
    free = solve_cuts(views, labels=labels, max_depth=2, max_leaves=5, multiway=True)
    again = solve_cuts(views, labels=labels, max_depth=2, max_leaves=5, multiway=True, known=free.value)
    assert again.tree is None
    assert again.value == again.bound == free.value
    assert again.status == "optimal"
    worse = solve_cuts(views, labels=labels, max_depth=2, max_leaves=5, multiway=True, known=free.value + 1)
    assert worse.tree is not None
    assert worse.value == worse.bound == free.value


def test_multiway_bound_at_any_limit() -> None:
    """Whenever the time ends, the bound is at most the optimum, and the tree's loss is its own."""
    rng = np.random.default_rng(11)
    views = rng.normal(size=(3, 60))
    labels = ((np.sin(3 * views[0]) > views[1]) + rng.integers(0, 2, 60) * (rng.random(60) < 0.2)) % 2
    data = Cuttable.errors(views, labels.tolist(), [1.0] * 60, [1.0] * 60)
    optimum = solve_cuts(views, labels=labels, max_depth=3, max_leaves=6, multiway=True)
    assert optimum.status == "optimal"
    for seconds in (0.0, 0.001, 0.01, 0.05, 0.3):
        found = solve_cuts(views, labels=labels, max_depth=3, max_leaves=6, multiway=True, deadline=Deadline(seconds))
        assert found.bound <= optimum.value <= found.value
        assert (found.status == "optimal") == (found.bound == found.value)
        if found.tree is not None:
            parts = _leaves(found.tree, views, np.arange(60))
            assert found.value == sum(data.cost(tuple(part.tolist())) for part in parts)


@pytest.mark.parametrize("n_classes", [2, 3, 20])
@pytest.mark.parametrize("support", [1.0, 12.0])
def test_bound_at_any_limit(n_classes: int, support: float) -> None:
    """Whenever the time ends: bound at most the optimum, the tree's loss its own, more time no worse."""
    rng = np.random.default_rng(n_classes)
    views = rng.normal(size=(4, 150))
    labels = ((views[0] * views[1] > 0) + rng.integers(0, n_classes - 1, 150)) % n_classes
    data = Cuttable.errors(views, labels.tolist(), [1.0] * 150, [1.0] * 150)
    optimum = solve_cuts(views, labels=labels, max_depth=3, min_support=support)
    assert optimum.status == "optimal"
    last = np.inf
    for seconds in (0.0, 0.001, 0.01, 0.05, 0.3):
        found = solve_cuts(views, labels=labels, max_depth=3, min_support=support, deadline=Deadline(seconds))
        assert found.bound <= optimum.value <= found.value
        assert found.tree is not None
        parts = _leaves(found.tree, views, np.arange(150))
        assert found.value == sum(data.cost(tuple(part.tolist())) for part in parts)
        assert (found.status == "optimal") == (found.bound == found.value)
        assert min(map(len, parts)) >= support
        last = min(last, found.value)
    assert last >= optimum.value


@pytest.mark.parametrize("multiway", [False, True])
@pytest.mark.parametrize("squared", [False, True])
def test_work_ends_a_search_where_it_ended_before(multiway: bool, squared: bool) -> None:
    """A limit on the work gives the same tree every time, a bound that holds, and with more of it no worse a tree."""
    if multiway and squared:
        pytest.skip("multiway trees are sought for labels only")
    rng = np.random.default_rng(5)
    views = rng.normal(size=(4, 120))
    labels = ((views[0] * views[1] > 0) + (views[2] > 0.5)).astype(int)
    data = {"targets": views[0] * views[1] + views[2]} if squared else {"labels": labels}
    optimum = solve_cuts(views, max_depth=3, max_leaves=6, multiway=multiway, **data)
    assert optimum.status == "optimal"
    before, ends = np.inf, set()
    for work in (0.0, 1e3, 1e4, 3e4, 1e5, 3e5, 1e6, 1e8):
        first, again = (
            solve_cuts(views, max_depth=3, max_leaves=6, multiway=multiway, work=work, **data) for _ in range(2)
        )
        assert (first.value, first.bound, first.tree, first.sweeps) == (
            again.value,
            again.bound,
            again.tree,
            again.sweeps,
        )
        assert first.bound <= optimum.value * (1 + 1e-12)
        assert optimum.value <= first.value * (1 + 1e-12)
        assert first.value <= before
        before = first.value
        ends.add(first.status)
    assert ends == {"stopped", "optimal"}
    assert before == pytest.approx(optimum.value)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_more_rows_than_narrow_lanes_hold(depth: int) -> None:
    """With more rows than 16-bit lanes can count, a concept that a tree of the depth can say is found without error."""
    rng = np.random.default_rng(depth)
    views = rng.normal(size=(3, 40_000))
    labels = (views[0] > 0.3).astype(int) + (views[1] > -0.2) * (views[2] > 0.1)
    found = solve_cuts(views, labels=labels, max_depth=depth)
    assert found.status == "optimal"
    assert (found.value == 0.0) == (depth > 2)


def test_simpler_processors() -> None:
    """The portable and the AVX2 sweeps give the values of the widest ones."""
    program = (
        "import numpy as np\n"
        "from omtree import _native\n"
        "from omtree.engines.trees.all_cuts import solve_cuts\n"
        "rng = np.random.default_rng(5)\n"
        "views = rng.normal(size=(4, 120)).round(1)\n"
        "out = []\n"
        "for k in (2, 3):\n"
        "    labels = rng.integers(0, k, 120)\n"
        "    for weights in (None, rng.integers(1, 4, 120).astype(float), rng.uniform(1, 2, 120)):\n"
        "        for support in (1.0, 9.0):\n"
        "            found = solve_cuts(views, labels=labels, weights=weights, max_depth=2, min_support=support)\n"
        "            out.append(round(found.value, 6))\n"
        "out.append(round(solve_cuts(views, targets=views[0] ** 2, max_depth=2, min_support=5.0).value, 6))\n"
        "print(_native.sweep_instructions(), out)\n"
    )
    answers = []
    for kernels in ("portable", "avx2", "avx512"):
        environment = {**os.environ, "OMTREE_KERNELS": kernels}
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        name, values = run.stdout.split(" ", 1)
        assert name == kernels or (kernels != "portable" and name in ("portable", "avx2"))
        answers.append(values)
    assert answers[0] == answers[1] == answers[2]


def test_neither_labels_nor_targets() -> None:
    """One of both has to be given."""
    with pytest.raises(ValueError, match="either labels or targets"):
        solve_cuts(np.zeros((1, 2)), max_depth=1)
