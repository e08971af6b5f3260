"""The search for one tree goes without a limit on leaves first: the same answer, whether the limit binds or not."""

from __future__ import annotations

import numpy as np
import pytest
from test_sizes import n_leaves
from test_solve import check_trees

from helpers import datasets
from omtree.data.build import make_features, make_table
from omtree.data.columns import read_columns
from omtree.deadline import Deadline
from omtree.engines.trees import TreeSolution, solve
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Problem

FEW, SOME, MANY = 4, 9, 1000


def deep_problem(seed: int, max_leaves: int) -> Problem:
    """Numbers with missing cells, nominal columns with few and with many levels, two to four classes, some support."""
    rng = np.random.default_rng(30_000 + seed)
    n_rows, n_classes = int(rng.integers(30, 150)), int(rng.integers(2, 5))
    kinds = rng.choice(["number", "gaps", "flag", "few", "many"], int(rng.integers(3, 6)))
    columns: list[np.ndarray] = []
    for kind in kinds:
        values = rng.integers(0, {"flag": 2, "few": 4, "many": 7}.get(kind, 5), n_rows).astype(float)
        if kind == "gaps":
            values[rng.random(n_rows) < 0.2] = np.nan
        columns.append(values)
    X = np.column_stack(columns)
    y = (np.nan_to_num(X) @ rng.integers(0, 3, X.shape[1]) + (rng.random(n_rows) < 0.3)).astype(np.int64) % n_classes
    weight = rng.integers(1, 4, n_rows).astype(float) if seed % 3 == 0 else None
    nominal = {i: "nominal" for i, kind in enumerate(kinds) if kind in ("flag", "few", "many")}
    read = read_columns(X, nominal)
    features, _ = make_features(read, y, n_classes, weight, n_bins=6)
    table = make_table(read, features, y, n_classes, weight)
    categories = "values" if seed % 5 == 0 else "groups"
    return Problem(
        table,
        FeatureGraph(features, categories),  # type: ignore[arg-type]
        LinearLoss(1.0 - np.eye(n_classes)),
        int(rng.integers(3, 5)),
        max_leaves,
        float(rng.choice([1, 2, 4, 8])),
    )


def fewest(every: TreeSolution) -> int:
    """Leaves that the best loss takes."""
    return 1 + int(np.flatnonzero(every.losses == every.value)[0])


@pytest.mark.parametrize("max_leaves", [FEW, SOME, 40])
@pytest.mark.parametrize("seed", range(30))
def test_the_answer_is_that_of_the_search_with_a_limit(seed: int, max_leaves: int) -> None:
    """All kinds of feature, depth 3 and 4: loss, leaves and bound are those of the plain search for all sizes."""
    problem = deep_problem(seed, max_leaves)
    every = solve(problem, use_bounds=False)
    for counting, use_cache, n_jobs in (("auto", True, 1), ("bits", False, 2), ("tables", True, 1)):
        one = solve(problem, every_size=False, counting=counting, use_cache=use_cache, n_jobs=n_jobs)  # type: ignore[arg-type]
        assert (one.status, one.value, one.bound) == ("optimal", every.value, every.value)
        assert one.tree is not None
        assert n_leaves(one.tree) == fewest(every)
        check_trees(problem, one, "multiway", None)


@pytest.mark.parametrize("seed", range(20))
def test_a_limit_that_cannot_bind(seed: int) -> None:
    """As many leaves as anybody might want: no better, no larger than with just enough of them."""
    one = solve(deep_problem(seed, MANY), every_size=False)
    assert one.tree is not None
    enough = solve(deep_problem(seed, n_leaves(one.tree)), use_bounds=False)
    assert (enough.value, fewest(enough)) == (one.value, n_leaves(one.tree))


@pytest.mark.parametrize("seed", range(20))
def test_threads_and_tables_give_the_same_tree(seed: int) -> None:
    """Of several best trees it is the same one, however many threads look for it and wherever counts come from."""
    problem = deep_problem(100 + seed, SOME)
    tree = solve(problem, every_size=False).tree
    assert solve(problem, every_size=False, n_jobs=2).tree == tree
    assert solve(problem, every_size=False, counting="tables").tree == tree


@pytest.mark.parametrize("seed", range(20))
def test_a_cache_that_forgets(seed: int) -> None:
    """With next to no memory for what is known: the same loss."""
    problem = deep_problem(seed, SOME)
    assert solve(problem, every_size=False, cache_mb=0.01).value == solve(problem, use_bounds=False).value


@pytest.mark.parametrize("max_leaves", [16, 32, 200])
def test_a_search_that_is_stopped(max_leaves: int) -> None:
    """At any deadline: a tree within the limit whose loss is as stated, and a bound that no tree undercuts."""
    table = datasets.tic_tac_toe().table()
    problem = Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 5, max_leaves, 9.58)
    best = solve(problem, every_size=False)
    assert best.status == "optimal"
    for seconds in (0.0, 0.002, 0.01, 0.03, 0.1):
        stopped = solve(problem, every_size=False, deadline=Deadline(seconds), cache_mb=0.01)
        assert 0 <= stopped.bound <= best.value <= stopped.value
        assert stopped.status == "time_limit" or stopped.value == best.value
        assert stopped.tree is not None
        assert n_leaves(stopped.tree) <= max_leaves
        check_trees(problem, stopped, "multiway", None)
