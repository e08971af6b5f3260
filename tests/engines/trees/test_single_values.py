"""One value of a nominal feature against all others: what binary trees split where conditions name single values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import test_general
import test_sums
from test_neighbourhoods import check_tree
from test_solve import brute_force, check_trees, random_problem

import omtree
from estimators.test_every_objective import CLASSES, NUMBERS, best_of_all, check
from helpers import general_oracle
from helpers.disk_tables import PLAIN, table, write_parquet
from helpers.tiny_frames import code, random_grouped, random_regression
from omtree.constraints import MinSupport, Recall
from omtree.engines.reductions.listed_trees import solve_summed
from omtree.engines.trees import solve, solve_counts, solve_general, solve_sums
from omtree.engines.trees.neighbourhoods import improve
from omtree.export.saving import from_json
from omtree.problem.graph import FeatureGraph
from omtree.problem.problem import Problem
from omtree.sources.counts import LocalCounts

WAYS: list[dict[str, Any]] = [{"splits": "binary"}, {"splits": "multiway", "max_children": 2}]


def nominal(seed: int) -> Problem:
    """A tiny problem with nominal features of up to seven values."""
    rng = np.random.default_rng(seed)
    kinds = ("nominal", "nominal", "numeric")
    problem = random_problem(rng, "single", n_features=int(rng.integers(1, 4)), kinds=kinds, max_values=7, n_rows=12)
    return replace(problem, max_depth=max(1, problem.max_depth))


@pytest.mark.parametrize("ways", WAYS, ids=["binary", "two children"])
@pytest.mark.parametrize("seed", range(15))
def test_every_search_equals_brute_force(seed: int, ways: dict[str, Any]) -> None:
    """The search over rows, over counts and the general one have the losses of the best of all trees."""
    problem = nominal(seed)
    expected = brute_force(problem, "single", **ways)
    limits = {name: getattr(problem, name) for name in ("max_depth", "max_leaves", "min_support")}
    for found in (
        solve(problem, **ways),
        solve(problem, **ways, use_bounds=False, counting="histogram"),
        solve_general(problem, **ways),
        solve_counts(LocalCounts(problem.table), problem.graph, problem.loss, **limits, **ways),
    ):
        np.testing.assert_allclose(found.losses, expected, atol=1e-9)
        check_trees(problem, found, ways["splits"], ways.get("max_children"))


@pytest.mark.parametrize("limits", ["at_most", "needs", "predicate", "ratio"])
def test_limits_on_rules(limits: str) -> None:
    """Under limits of rules, also on the conditions they name, the losses are those of the best of all trees."""
    for seed in range(6):
        rng = np.random.default_rng([seed, 5])
        problem = nominal(seed)
        problem = replace(problem, limits=test_general.random_limits(rng, limits, problem.table, len(problem.costs[0])))
        for ways in WAYS:
            expected = general_oracle.best_trees(problem, **ways)
            np.testing.assert_allclose(solve_general(problem, **ways).losses, expected, atol=1e-8)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_sums_of_targets(depth: int) -> None:
    """The search over sums of targets has the losses of the best of all binary trees."""
    for seed in range(5):
        rng = np.random.default_rng([seed, depth])
        problem = test_sums.random_problem(rng, "squared", depth)
        problem = replace(problem, graph=FeatureGraph(problem.table.features, "single"))
        found = solve_sums(problem, splits="binary")
        assert found is not None
        expected = general_oracle.best_trees(problem, splits="binary")
        np.testing.assert_allclose(found.losses, expected, atol=1e-8)
        test_sums.check_trees(problem, found)


@pytest.mark.parametrize("seed", range(10))
def test_neighbourhoods_and_lists(seed: int) -> None:
    """Windows of two levels find the best tree of two levels, and so does the list of all of them."""
    problem = replace(nominal(seed), max_depth=2)
    best = brute_force(problem, "single", splits="binary")[-1]
    listed = solve_summed(problem, splits="binary")
    assert listed.complete
    if np.isinf(best):
        assert listed.root is None
        return
    assert listed.value == pytest.approx(best, abs=1e-9)
    if problem.table.weight.sum() >= problem.min_support:
        found = improve(problem, splits="binary")
        check_tree(problem, found, "binary")
        assert found.value == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("ways", WAYS, ids=["binary", "two children"])
@pytest.mark.parametrize("name", ["error", "gini", "f1", "squared", "absolute"])
def test_fits(name: str, ways: dict[str, Any]) -> None:
    """What a fit of single values in two children returns is the best of all such trees, whatever is minimised."""
    for seed in range(3):
        case, limits = {**CLASSES, **NUMBERS}[name], {"max_depth": 3, "max_leaves": 4, "categories": "values"}
        rng = np.random.default_rng(seed)
        data = random_grouped(rng, case.n_classes) if name in CLASSES else random_regression(rng)
        estimator = omtree.OptimalTreeClassifier if name in CLASSES else omtree.OptimalTreeRegressor
        # Over all cuts a column may be split again, also where nodes have two of many children.
        binning = "exact" if ways["splits"] == "binary" else "quantile"
        model = estimator(objective=name, binning=binning, min_samples_leaf=1, **limits, **ways)
        model.fit(data.X, data.y, sample_weight=data.weight)
        check(model, data, case, best_of_all(data, code(data.X), case, "tree", limits, **ways))


@pytest.mark.parametrize("binning", ["adaptive", "quantile", "exact"])
@pytest.mark.parametrize("constraints", [[], [MinSupport(2)], [Recall("c", at_least=0.9)]], ids=str)
def test_three_values(constraints: list[Any], binning: str) -> None:
    """A column of three values of which one decides is split into that value and the others, also after saving."""
    X = pd.DataFrame({"colour": list("abcabcabcabc")})
    y = np.where(X["colour"] == "c", "c", "other")
    model = omtree.OptimalTreeClassifier(
        splits="binary", categories="values", max_depth=1, constraints=constraints, binning=binning, min_samples_leaf=1
    ).fit(X, y)
    assert (model.certificate_.status, model.certificate_.value, len(model.rules_)) == ("optimal", 0, 2)
    again = from_json(model.to_json())
    assert (again.predict(X) == y).all()
    rules = omtree.OptimalTreeClassifier(
        structure="rules", categories="values", max_depth=1, max_leaves=3, min_samples_leaf=1
    )
    assert rules.fit(X, y).certificate_.value == 0


def test_rows_on_disk(tmp_path: Path) -> None:
    """Rows on disk give a binary tree over single values of the loss that the rows in memory give."""
    rows = table()
    options: dict[str, Any] = {"splits": "binary", "categories": "values", "binning": "quantile", "max_depth": 2}
    model = omtree.OptimalTreeClassifier(**options, reading=PLAIN)
    here = model.fit(rows.select(["colour", "member"]), rows["y"].to_numpy())
    files = omtree.scan(write_parquet(rows, tmp_path), "y", columns=["colour", "member"])
    there = omtree.OptimalTreeClassifier(**options).fit(files)
    assert here.certificate_.value == there.certificate_.value < there.certificate_.weight / 2
    assert "colour is not missing" in omtree.to_text(there.rules_)
