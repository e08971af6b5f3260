"""The mixed-integer programs against brute force over the trees that each of them can make."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from scipy.optimize import linprog

from benchmarks.rivals.mip.binoct import BinOct, halvings
from benchmarks.rivals.mip.flowoct import FlowOct
from benchmarks.rivals.mip.model import Model
from benchmarks.rivals.mip.oct import Oct
from benchmarks.rivals.mip.s1o import MARGIN, S1O
from benchmarks.rivals.mip.shape import CompleteTree, greedy, leaves_below


def soon() -> float:
    """Time enough for what is tiny."""
    return time.perf_counter() + 600.0


def best_cost(matrix: np.ndarray, labels: np.ndarray, depth: int, error: float = 1.0, split: float = 0.0) -> float:
    """The least error * errors + split * splits of a tree with single-feature splits, by trying them all."""
    here = error * (len(labels) - max(np.bincount(labels).max(), 0)) if len(labels) else 0.0
    if depth == 0 or not len(labels):
        return here
    for column in matrix.T:
        for cut in np.unique(column)[:-1]:
            left = column <= cut
            halves = (best_cost(matrix[side], labels[side], depth - 1, error, split) for side in (left, ~left))
            here = min(here, split + sum(halves))
    return here


def tiny(seed: int, n: int, values: int, n_classes: int, k: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """A random set, every class in it."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    return rng.integers(0, values, (n, k)).astype(float), labels


@pytest.mark.parametrize(("seed", "alpha"), [(0, 0.0), (1, 0.0), (2, 0.05), (0, 0.3), (1, 0.3)])
def test_oct_is_the_best_tree_of_its_class(seed: int, alpha: float) -> None:
    """OCT's optimum equals brute force, and its tree has the cost that the program says."""
    matrix, labels = tiny(seed, 12, 3, 2 + seed % 2)
    baseline = len(labels) - np.bincount(labels).max()
    tree, answer = Oct(matrix, labels, 2, alpha).solve(soon())
    assert answer.proven
    assert answer.value == pytest.approx(best_cost(matrix, labels, 2, 1.0, alpha * baseline), abs=1e-6)
    splits = int((tree.feature >= 0).sum())
    assert (tree.predict(matrix) != labels).sum() + alpha * baseline * splits == pytest.approx(answer.value, abs=1e-6)


def test_oct_keeps_its_least_leaf() -> None:
    """With a least number of rows in a leaf, every leaf in use has them."""
    matrix, labels = tiny(3, 16, 4, 2)
    program = Oct(matrix, labels, 2, least=5)
    answer = program.model.solve(soon())
    assert answer.values is not None
    sizes = np.bincount(program.tree_of(answer.values).leaf(matrix))
    assert sizes[sizes > 0].min() >= 5


@pytest.mark.parametrize("seed", range(4))
def test_binoct_is_the_best_tree_of_its_class(seed: int) -> None:
    """BinOCT's optimum equals brute force, and its tree makes as many errors as the program says."""
    matrix, labels = tiny(seed, 13, 5, 2 + seed % 2)
    tree, answer = BinOct(matrix, labels, 2).solve(soon())
    assert answer.proven
    assert answer.value == pytest.approx(best_cost(matrix, labels, 2))
    assert (tree.predict(matrix) != labels).sum() == round(answer.value)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13])
def test_halving_reaches_every_threshold(n: int) -> None:
    """Each threshold is the end of exactly one string of bits."""
    ends = [
        bits
        for step in halvings(n)
        for bits, first, last in (
            ((*step.bits, 0), step.first, step.middle),
            ((*step.bits, 1), step.middle + 1, step.last),
        )
        if first == last
    ]
    assert len(set(ends)) == (n if n > 1 else 0)


@pytest.mark.parametrize(("seed", "penalty"), [(0, 0.0), (1, 0.0), (2, 0.1), (3, 0.1), (0, 0.4)])
def test_flowoct_is_the_best_tree_of_its_class(seed: int, penalty: float) -> None:
    """FlowOCT's optimum equals brute force over trees of 0/1 columns, and its tree has the value the program says."""
    matrix, labels = tiny(seed, 18, 2, 2 + seed % 2, k=4)
    tree, answer = FlowOct(matrix, labels, 2, penalty).solve(soon())
    best = best_cost(matrix, labels, 2, 1 - penalty, penalty)
    assert answer.proven
    assert answer.value + (1 - penalty) * len(labels) == pytest.approx(best, abs=1e-6)
    cost = (1 - penalty) * (tree.predict(matrix) != labels).sum() + penalty * (tree.feature >= 0).sum()
    assert cost == pytest.approx(best, abs=1e-6)


def hyperplane_cost(x: np.ndarray, right: np.ndarray, slack_cost: float, norm_cost: float) -> float:
    """The least slack and norm of a hyperplane with these rows on its right: a linear program in h, |h|, g, m."""
    n, k = x.shape
    sign = np.where(right, 1.0, -1.0)
    zero = np.zeros((n, k))
    # Rows may not be beyond the hyperplane, and within the margin they pay.
    beyond = np.hstack([-sign[:, None] * x, zero, -sign[:, None], np.zeros((n, n))])
    margin = np.hstack([-sign[:, None] * x, zero, -sign[:, None], -np.eye(n)])
    size = np.vstack([np.hstack([s * np.eye(k), -np.eye(k), np.zeros((k, 1 + n))]) for s in (1.0, -1.0)])
    found = linprog(
        np.concatenate([np.zeros(k), np.full(k, norm_cost), [0.0], np.full(n, slack_cost)]),
        A_ub=np.vstack([beyond, margin, size]),
        b_ub=np.concatenate([np.zeros(n), np.full(n, -MARGIN), np.zeros(2 * k)]),
        bounds=[(-1, 1)] * k + [(0, 1)] * k + [(-k - 1, k + 1)] + [(0, MARGIN)] * n,
    )
    return float(found.fun)


@pytest.mark.parametrize(("seed", "depth", "slack_cost"), [(0, 1, 100.0), (1, 1, 30.0), (2, 2, 100.0), (3, 2, 20.0)])
def test_s1o_is_the_best_tree_of_its_class(seed: int, depth: int, slack_cost: float) -> None:
    """S1O's optimum equals the best over all ways to put the rows on the sides of the hyperplanes."""
    rng = np.random.default_rng(seed)
    n = 7 if depth == 1 else 5
    matrix, labels = rng.integers(0, 3, (n, 2)).astype(float), rng.permutation(np.arange(n) % 2)
    program = S1O(matrix, labels, depth, slack_cost, 0.05)
    _, answer = program.solve(soon())
    x = (matrix - matrix.min(axis=0)) / np.ptp(matrix, axis=0)
    sides = [np.array(side) for side in itertools.product([False, True], repeat=n)]
    costs = [hyperplane_cost(x, side, slack_cost, 0.05) for side in sides]
    best = np.inf
    for chosen in itertools.product(range(len(sides)), repeat=2**depth - 1):
        cost = sum(costs[i] for i in chosen)
        if cost < best:
            node = np.zeros(n, dtype=int)
            for _ in range(depth):
                node = 2 * node + 1 + np.array([sides[chosen[node[i]]][i] for i in range(n)])
            errors = sum((node == leaf).sum() - np.bincount(labels[node == leaf]).max() for leaf in np.unique(node))
            best = min(best, cost + errors)
    assert answer.proven
    assert answer.value == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("program", [Oct, BinOct, FlowOct, S1O])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_greedy_tree_is_a_solution(program: type, depth: int) -> None:
    """The start breaks no row of the program, stands for the greedy tree and costs what that costs."""
    matrix, labels = tiny(depth, 30, 2, 3, k=5)
    built = program(matrix, labels, depth)
    start = built.start()
    assert built.model.broken(start) == 0.0
    mine, other = built.tree_of(start), greedy(matrix, labels, depth)
    assert (mine.predict(matrix) != labels).sum() == (other.predict(matrix) != labels).sum()


def test_no_time_means_the_start() -> None:
    """A program that is out of time answers with the greedy tree or better, and claims no proof."""
    matrix, labels = tiny(0, 200, 8, 3, k=6)
    program = Oct(matrix, labels, 4)
    tree, answer = program.solve(time.perf_counter())
    errors = (greedy(matrix, labels, 4).predict(matrix) != labels).sum()
    assert not answer.proven
    assert (tree.predict(matrix) != labels).sum() <= errors


def test_a_broken_solution_is_noticed() -> None:
    """`broken` tells rows, bounds and whole numbers that are not kept."""
    model = Model()
    pair = model.binaries(1, 2)
    model.rows((1, pair), at_most=1)
    assert model.broken(np.array([1.0, 0.0])) == 0.0
    assert model.broken(np.array([1.0, 1.0])) == 1.0
    assert model.broken(np.array([0.5, 0.0])) == 0.5
    assert model.broken(np.array([-2.0, 0.0])) == 2.0


def test_shape_of_the_complete_tree() -> None:
    """Leaves below a node, and where a row without splits ends."""
    assert leaves_below(1, 2).tolist() == [0, 1, 2, 3]
    assert leaves_below(3, 2).tolist() == [2, 3]
    assert leaves_below(6, 2).tolist() == [2]
    assert CompleteTree.empty(2).leaf(np.zeros((2, 1))).tolist() == [3, 3]
