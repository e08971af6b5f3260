"""Deep trees for real targets are sought with a price for each leaf first: the same answer as without it."""

from __future__ import annotations

import numpy as np
import pytest
from test_general import check_trees
from test_sizes import n_leaves

from omtree.data.table import Feature, Table
from omtree.deadline import Deadline
from omtree.engines.trees import TreeSolution, solve
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import MomentLoss
from omtree.problem.problem import Problem

KINDS = {"numeric": 5, "gaps": 4, "ordinal": 4, "few": 3, "many": 7}


def number_problem(seed: int, max_leaves: int) -> Problem:
    """Numbers with and without missing cells, nominal columns with few and with many levels, some support."""
    rng = np.random.default_rng(50_000 + seed)
    n_rows = int(rng.integers(40, 100))
    features, codes = [], []
    for f, name in enumerate(rng.choice(list(KINDS), 4)):
        n, missing = KINDS[name], name == "gaps"
        kind = {"gaps": "numeric", "few": "nominal", "many": "nominal"}.get(name, name)
        facts = {"thresholds": np.arange(n - 1.0)} if kind == "numeric" else {"levels": tuple("abcdefghij"[:n])}
        order = tuple(rng.permutation(n).tolist()) if kind == "nominal" else None
        features.append(Feature(f"x{f}", f, kind, n, missing, target_order=order, **facts))  # type: ignore[arg-type]
        codes.append(rng.integers(0, n + missing, n_rows))
    table = np.array(codes, dtype=np.uint8)
    y = np.abs(rng.normal(size=len(features)) @ table + rng.normal(size=n_rows)) + 0.1
    if seed % 4 == 0:
        y = np.round(y) + 1  # many ties
    weight = rng.choice([0.375, 1.0, 2.5], n_rows) if seed % 3 == 0 else np.ones(n_rows)
    loss = "poisson" if seed % 5 == 1 else "squared"
    y = y / np.average(y, weights=weight)
    sums = np.stack([np.ones(n_rows), y - 1, y * np.log(y) - y + 1 if loss == "poisson" else (y - 1) ** 2], axis=1)
    return Problem(
        Table(tuple(features), table, sums * weight[:, None], np.arange(n_rows), weight),
        FeatureGraph(tuple(features), "values" if seed % 7 == 0 else "groups"),
        MomentLoss(loss),  # type: ignore[arg-type]
        4,
        max_leaves,
        float(rng.choice([1, 2, 4, 8])),
    )


def fewest(every: TreeSolution) -> int:
    """Leaves that the best loss takes."""
    return 1 + int(np.flatnonzero(every.losses <= every.value + 1e-9)[0])


@pytest.mark.parametrize("max_leaves", [3, 8, 40])
@pytest.mark.parametrize("seed", range(7))
def test_the_answer_is_that_of_the_search_without_prices(seed: int, max_leaves: int) -> None:
    """All kinds of feature: loss, leaves and bound are those of the plain search for all sizes."""
    problem = number_problem(seed, max_leaves)
    every = solve(problem, use_bounds=False)
    for use_cache, n_jobs in ((True, 1), (False, 1), (True, 2)):
        one = solve(problem, every_size=False, use_cache=use_cache, n_jobs=n_jobs)
        assert one.status == "optimal"
        assert one.value == pytest.approx(every.value, abs=1e-8)
        assert one.bound == pytest.approx(every.value, abs=1e-8)
        assert one.bound <= one.value + 1e-12
        assert one.tree is not None
        assert n_leaves(one.tree) == fewest(every)
        check_trees(problem, one, "multiway")


@pytest.mark.parametrize("seed", range(4))
def test_a_search_that_is_stopped_knows_less_but_nothing_wrong(seed: int) -> None:
    """Whenever it has to stop, the bound is below the best loss, and the tree is one of the loss it says."""
    problem = number_problem(seed, 9)
    best = solve(problem, use_bounds=False).value
    for seconds in (0.0, 0.001, 0.003, 0.01):
        found = solve(problem, every_size=False, deadline=Deadline(seconds))
        assert found.bound <= best + 1e-9 <= found.value + 2e-9
        check_trees(problem, found, "multiway")
