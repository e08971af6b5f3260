"""The good trees under constraints over the whole model: against all trees there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from helpers.coupled_oracle import Leaves, Oracle
from omtree import OptimalTreeClassifier
from omtree.constraints import (
    F1,
    MCC,
    Answers,
    Constraint,
    ConstraintCheck,
    EqualOpportunity,
    Force,
    MaxSupport,
    Monotone,
    Precision,
    Recall,
    StatisticalParity,
)
from omtree.constraints.demands import RuleSum
from omtree.estimators.alternatives import TreeCount


@dataclass(frozen=True, repr=False)
class FewConditions(Constraint):
    """All leaves together have at most so many conditions."""

    at_most: int
    level: ClassVar[Any] = "sample"

    def on_model(self, strata: Any, setting: Any) -> list[RuleSum]:
        return [RuleSum(self.title, self, lambda facts: -float(len(facts.conditions)), -self.at_most)]

    def audit(self, answers: Answers) -> list[ConstraintCheck]:
        conditions = sum(len(rule.conditions) for rule in answers.rules)
        return [ConstraintCheck.of(self, conditions, self.at_most, "at most")]


def table(seed: int, n: int = 24) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Three columns of few values, a class and a group that they tell something about."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.integers(0, 3, n), "b": rng.integers(0, 2, n), "c": rng.integers(0, 2, n)})
    y = ((X.a + X.b + rng.integers(0, 3, n)) > 2).to_numpy().astype(int)
    y[:2] = 0, 1
    group = np.where(rng.random(n) < 0.3 + 0.4 * X.b, "m", "f")
    group[:4] = "m", "f", "f", "m"
    return X, y, group


def rate(given: np.ndarray, among: np.ndarray) -> float:
    """The share of ones."""
    return float(given[among].mean()) if among.any() else np.nan


def f1(y: np.ndarray, given: np.ndarray) -> float:
    """Of class 1."""
    both = (y & given).sum()
    return 2 * both / (y.sum() + given.sum())


def mcc(y: np.ndarray, given: np.ndarray) -> float:
    """Of class 1; nothing where a class is never given."""
    if given.min() == given.max():
        return 0.0
    return float(np.corrcoef(y, given)[0, 1])


Case = tuple[list[Any], Callable[[np.ndarray, np.ndarray, np.ndarray], bool]]
CASES: dict[str, Case] = {
    "recall": ([Recall(1, at_least=0.9)], lambda y, g, p: rate(p, y == 1) >= 0.9),
    "recall of both": (
        [Recall(1, at_least=0.7), Recall(0, at_least=0.7)],
        lambda y, g, p: rate(p, y == 1) >= 0.7 and rate(1 - p, y == 0) >= 0.7,
    ),
    "precision": ([Precision(1, at_least=0.8)], lambda y, g, p: not p.any() or rate(y, p == 1) >= 0.8),
    "parity": (
        [StatisticalParity("group", tolerance=0.1)],
        lambda y, g, p: abs(rate(p, g == "m") - rate(p, g == "f")) <= 0.1 + 1e-12,
    ),
    "opportunity and recall": (
        [EqualOpportunity("group", tolerance=0.2), Recall(1, at_least=0.5)],
        lambda y, g, p: (
            abs(rate(p, (g == "m") & (y == 1)) - rate(p, (g == "f") & (y == 1))) <= 0.2 + 1e-12
            and rate(p, y == 1) >= 0.5
        ),
    ),
    "f1": ([F1(1, at_least=0.75)], lambda y, g, p: f1(y, p) >= 0.75 - 1e-12),
    "mcc": ([MCC(1, at_least=0.45)], lambda y, g, p: mcc(y, p) >= 0.45 - 1e-12),
    "none that binds": ([Recall(1, at_least=0.0)], lambda y, g, p: True),
}


def leaves_of(model: OptimalTreeClassifier, X: pd.DataFrame) -> Leaves:
    """The leaves of a model as sets of rows."""
    rule = model.apply(X)
    return frozenset(frozenset(np.flatnonzero(rule == r).tolist()) for r in set(rule.tolist()))


def fitted(seed: int, constraints: list[Any], splits: str, **options: Any) -> tuple[Any, ...]:
    X, y, group = table(seed)
    settings: dict[str, Any] = {"max_depth": 2, "max_leaves": 4, "min_samples_leaf": 2, "binning": "exact", **options}
    model = OptimalTreeClassifier(splits=splits, constraints=constraints, **settings)  # type: ignore[arg-type]
    groups = pd.DataFrame({"group": group})
    return X, y, group, model.fit(X, y, groups=groups) if any_group(constraints) else model.fit(X, y)


def any_group(constraints: list[Any]) -> bool:
    """Whether some constraint is about groups."""
    return any(hasattr(constraint, "group") for constraint in constraints)


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("name", CASES)
def test_equals_all_trees(name: str, splits: str) -> None:
    """Every tree within the margin once, in order, with its best labels, and none besides."""
    constraints, allowed = CASES[name]
    listed = 0
    for seed in range(3):
        X, y, group, model = fitted(seed, constraints, splits)
        oracle = Oracle(
            X, y, lambda p, y=y, g=group: allowed(y, g, p), depth=2, leaves=4, least=2, binary=splits == "binary"
        )
        for trivial in (False, True):
            every = oracle.listed(trivial)
            best = min(every.values())
            assert model.certificate_.value == best
            for within in (0.0, 0.1, None):
                most = np.inf if within is None else best + within * len(y) + 1e-9
                expected = {leaves: loss for leaves, loss in every.items() if loss <= most}
                found = model.alternatives(None if within is not None else 100_000, within, trivial=trivial)
                errors = [int((other.predict(X) != y).sum()) for other in found]
                assert errors == sorted(errors) == found.losses.tolist()
                assert {leaves_of(other, X): e for other, e in zip(found, errors, strict=True)} == expected
                assert len(found) == len(expected)
                assert found.complete
                assert all(allowed(y, group, other.predict(X)) for other in found)
                if within is not None:
                    assert model.count_within(within, trivial=trivial) == TreeCount(len(expected), True)
                listed += len(expected)
    assert listed > 50


def test_with_constraints_on_leaves() -> None:
    """Constraints on single leaves, and a part that is given, hold beside those over the model."""
    for seed in range(3):
        X, y, _, model = fitted(seed, [Recall(1, at_least=0.8), MaxSupport(0.6)], "multiway")
        oracle = Oracle(
            X,
            y,
            lambda p, y=y: rate(p, y == 1) >= 0.8,
            depth=2,
            leaves=4,
            least=2,
            binary=False,
            leaf_allowed=lambda rows: len(rows) <= 0.6 * 24,
        )
        found = model.alternatives(100_000, None)
        assert {leaves_of(m, X): m.certificate_.value for m in found} == oracle.listed()
        forced = [Recall(1, at_least=0.8), Force({"split": "b"})]
        held = fitted(seed, forced, "multiway")[-1].alternatives(100_000, None)
        assert all(X.columns[m.tree_.nodes[0].feature] == "b" for m in held)
        sides = [frozenset(np.flatnonzero(X.b == value).tolist()) for value in (0, 1)]
        every = Oracle(X, y, lambda p, y=y: rate(p, y == 1) >= 0.8, depth=2, leaves=4, least=2, binary=False)
        first = {leaves for leaves in every.listed(True) if all(any(r <= s for s in sides) for r in leaves)}
        assert {leaves_of(m, X) for m in held} <= first
        assert held[0].certificate_.value == min(every.loss(leaves) for leaves in first)


def test_monotone() -> None:
    """Where every combination of values was seen, the trees are those whose answers rise from row to row."""
    every = np.array([(a, b, c) for a in range(3) for b in range(2) for c in range(2)])
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(np.concatenate([every, every]), columns=["a", "b", "c"])
        y = (X.a - X.b + rng.normal(0, 1.2, len(X)) > 0.5).to_numpy().astype(int)

        def rises(predicted: np.ndarray, X: pd.DataFrame = X) -> bool:
            ordered = pd.DataFrame({"b": X.b, "c": X.c, "a": X.a, "p": predicted}).sort_values(["b", "c", "a"])
            return all((part.p.diff().dropna() >= 0).all() for _, part in ordered.groupby(["b", "c"]))

        for splits in ("multiway", "binary"):
            model = OptimalTreeClassifier(
                max_depth=2, max_leaves=4, min_samples_leaf=2, constraints=[Monotone("a", +1)], splits=splits
            ).fit(X, y)
            oracle = Oracle(X, y, rises, depth=2, leaves=4, least=2, binary=splits == "binary")
            found = model.alternatives(100_000, None)
            assert {leaves_of(m, X): m.certificate_.value for m in found} == oracle.listed()
            assert found.losses[0] == model.certificate_.value


def test_sums_over_leaves() -> None:
    """A number of each leaf that a function tells, and that depends on its conditions, is kept to by all trees."""
    X, _, _, model = fitted(2, [FewConditions(5)], "multiway", binning="adaptive")
    found = model.alternatives(100_000, None, trivial=True)
    free = fitted(2, [Recall(1, at_least=0.0)], "multiway", binning="adaptive")[-1].alternatives(
        100_000, None, trivial=True
    )
    assert 1 < len(found) < len(free)
    assert all(sum(len(rule.conditions) for rule in other.rules_) <= 5 for other in found)
    listed = {leaves_of(other, X): other.certificate_.value for other in found}
    for other in free:
        if sum(len(rule.conditions) for rule in other.rules_) <= 5:
            assert listed[leaves_of(other, X)] == other.certificate_.value


def test_in_parts_and_limits() -> None:
    """The first few are the first of all; without time there is the model itself, and that is said."""
    X, _, _, model = fitted(1, [Recall(1, at_least=0.9)], "multiway", binning="adaptive")
    every = model.alternatives(100_000, None)
    few = model.alternatives(5, None)
    assert few.losses.tolist() == every.losses.tolist()[:5]
    assert few.complete
    none = model.alternatives(10, None, time_limit=1e-9)
    assert len(none) == 1
    assert not none.complete
    assert leaves_of(none[0], X) == leaves_of(model, X)
    assert not model.alternatives(None, 0.5, time_limit=1e-9).count_all().exact
