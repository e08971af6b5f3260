"""Sums over rules of any number of each: trees of every kind, and what cannot be solved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import omtree
from helpers.every_model import best_model, every_tree
from helpers.reference_losses import error, on_rows
from helpers.tiny_frames import code, random_grouped
from omtree.constraints import Linear
from omtree.deadline import Deadline
from omtree.engines import dispatch
from omtree.engines.reductions import listed_trees
from omtree.engines.rules import listed_rules
from omtree.engines.trees import TreeSolution
from omtree.errors import InfeasibleError
from omtree.problem.problem import Problem


def conditions(rule: Any) -> int:
    return len(rule.features)


def called(rule: Any) -> float:
    return float(rule.prediction == 1)


@pytest.mark.parametrize("shape", [{"splits": "binary"}, {"max_children": 2}, {"max_children": 3}])
@pytest.mark.parametrize("seed", range(4))
def test_shapes_of_trees(seed: int, shape: dict[str, Any]) -> None:
    """Binary trees, and trees with few children, are the best of their kind under two sums at once."""
    data = random_grouped(np.random.default_rng(seed))
    coded = code(data.X)
    limits = {"max_depth": 3, "max_leaves": 4}
    heavy = {row: data.weight[coded.row_of == row].sum() for row in range(coded.codes.shape[1])}
    best = best_model(
        every_tree(
            coded.features, coded.codes, **limits, **shape, keep=lambda leaf: sum(heavy[row] for row in leaf.rows) >= 1
        ),
        on_rows(error(2), data.y, data.weight, coded.row_of),
        lambda model: sum(len(leaf.conditions) for leaf, _ in model) <= 6 and sum(label for _, label in model) >= 2,
    )
    model = omtree.OptimalTreeClassifier(
        binning="exact",
        min_samples_leaf=1,
        constraints=[Linear(conditions, at_most=6), Linear(called, at_least=2)],
        **limits,
        **shape,
    )
    if best is None:
        with pytest.raises(InfeasibleError):
            model.fit(data.X, data.y, sample_weight=data.weight)
        return
    certificate = model.fit(data.X, data.y, sample_weight=data.weight).certificate_
    assert certificate.status == "optimal"
    assert certificate.value == pytest.approx(best.value, abs=1e-9)


def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.integers(0, 5, (200, 3)).astype(float), columns=["a", "b", "c"])
    return X, ((X.a > 1) ^ (X.b > 2) ^ (rng.random(200) < 0.1)).to_numpy().astype(int)


@pytest.mark.parametrize("structure", ["tree", "rules"])
def test_too_large(structure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not all rules can be listed, a sentence names the constraint and what to lower."""
    monkeypatch.setattr(listed_trees, "MOST_NODES", 20)
    monkeypatch.setattr(listed_rules, "MOST_RULES", 20)
    model = omtree.OptimalTreeClassifier(structure=structure, max_depth=2, constraints=[Linear(called, at_least=4)])
    with pytest.raises(ValueError, match=r"too many rules .*Linear\(called, at_least=4\).*lower max_depth.*\.$"):
        model.fit(*table())


@pytest.mark.parametrize("structure", ["tree", "rules"])
def test_nothing_to_solve(structure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the best model keeps the limit anyway, no rules are listed, however many there are."""
    monkeypatch.setattr(listed_trees, "MOST_NODES", 0)
    monkeypatch.setattr(listed_rules, "MOST_RULES", 0)
    model = omtree.OptimalTreeClassifier(structure=structure, max_depth=2, constraints=[Linear(called, at_least=1)])
    free = omtree.OptimalTreeClassifier(structure=structure, max_depth=2).fit(*table())
    assert model.fit(*table()).certificate_.value == free.certificate_.value


@pytest.mark.parametrize("structure", ["tree", "rules"])
def test_out_of_time(structure: str) -> None:
    """When the time is over, a model that keeps the limit is returned with a bound, if one is known."""
    model = omtree.OptimalTreeClassifier(
        structure=structure, max_depth=3, constraints=[Linear(conditions, at_most=5)], time_limit=0.05
    ).fit(*table())
    certificate = model.certificate_
    assert certificate.bound <= certificate.value
    assert all(check.met for check in certificate.constraints)


def test_after_ctrl_c_nothing_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the search without the sums was interrupted, the sums get no time, and the fit says that it was."""
    given = []

    def interrupted(
        self: dispatch.TreeSolver, problem: Problem, deadline: Deadline, *, every_size: bool
    ) -> TreeSolution:
        return replace(search(self, problem, deadline, every_size=every_size), interrupted=True)

    def listed_in(problem: Problem, *, deadline: Deadline | None = None, **options: Any) -> Any:
        given.append(None if deadline is None else deadline.remaining)
        return listed_trees.solve_summed(problem, deadline=deadline, **options)

    search = dispatch.TreeSolver._search
    monkeypatch.setattr(dispatch.TreeSolver, "_search", interrupted)
    monkeypatch.setattr(dispatch, "solve_summed", listed_in)
    X = pd.DataFrame({"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5})
    model = omtree.OptimalTreeClassifier(
        max_depth=2, min_samples_leaf=1, constraints=[Linear(lambda rule: len(rule.features), at_most=3)]
    )
    with pytest.warns(UserWarning, match="The fit was interrupted"):
        model.fit(X, [0, 1, 1, 0] * 5)
    assert model.certificate_.status == "interrupted"
    assert given[0] == 0.0
