"""Random problems of any loss under any limits, and brute force over all their rules from the definitions alone."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from helpers import datasets, oracle
from omtree.data.table import Table
from omtree.problem.graph import Condition, FeatureGraph
from omtree.problem.limits import LinearLimit, PathShape, RatioLimit, RuleLimits, TestPrices
from omtree.problem.losses import ImpurityLoss, LinearLoss, MomentLoss, RowLoss, SampleLoss
from omtree.problem.problem import ModelLimit, Path, Problem

KINDS = ("linear", "rectangular", "gini", "entropy", "squared", "poisson", "quantile", "huber", "rows", "odd rows")
#: Losses of rules whose cost is infinite do not exist; differences below this are rounding.
ROUNDING = 1e-7

#: What the rows of a rule cost under a label, by the definition of the loss.
LossOf = Callable[[np.ndarray, int], float]


@dataclass(frozen=True)
class BruteRule:
    """A rule that is allowed, with a label that it may predict."""

    path: Path
    rows: tuple[bool, ...]
    loss: float
    shares: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class GeneralCase:
    """A problem, and its loss once more."""

    problem: Problem
    loss_of: LossOf

    @cached_property
    def rules(self) -> list[BruteRule]:
        """Every rule that is allowed, with every label that is allowed for it."""
        p = self.problem
        conditions = [
            [(level.position, frozenset(codes)) for codes in oracle.conditions(level.feature, p.graph.categories)]
            for level in p.graph
        ]
        found = []
        for size in range(p.max_depth + 1):
            for levels in itertools.combinations(conditions, size):
                for rule in itertools.product(*levels):
                    found += self._judge(rule)
        return found

    def _judge(self, rule: Sequence[tuple[int, frozenset[int]]]) -> list[BruteRule]:
        p, limits = self.problem, self.problem.limits
        rows = np.ones(p.table.n_rows, dtype=bool)
        for feature, codes in rule:
            rows &= np.isin(p.table.codes[feature], list(codes))
        weight = p.table.weight[rows].sum()
        features = {feature for feature, _ in rule}
        if not rows.any() or weight < p.min_support - 1e-9 or not _shape_allows(limits.shape, features):
            return []
        price = 0.0 if limits.prices is None else _price(limits.prices, sorted(features))
        if limits.prices is not None and price > limits.prices.limit + 1e-9:
            return []
        measures = np.zeros(0) if limits.measures is None else limits.measures[rows].sum(axis=0)
        for ratio in limits.ratios:
            a, b, c, d = (measures[i] for i in (ratio.a, ratio.b, ratio.c, ratio.d))
            if b > 0 and d > 0 and abs(a / b - c / d) > ratio.tolerance + 1e-9:
                return []
        found = []
        for label in range(p.loss.n_labels):
            values = [(limit, measures @ limit.coefficient) for limit in limits.linear]
            if any(v[label if len(v) > 1 else 0] < limit.at_least - 1e-9 for limit, v in values):
                continue
            described = [(feature, tuple(sorted(codes))) for feature, codes in rule]
            numbers = np.flatnonzero(rows).astype(np.uint32)
            if limits.predicate is not None and not limits.predicate(described, numbers, label):
                continue
            loss = self.loss_of(rows, label)
            if limits.prices is not None:
                loss += limits.prices.weight * price * weight
            shares = [float((p.table.statistics[rows] @ row.coefficient)[:, label].sum()) for row in p.model_limits]
            path = Path(tuple(Condition(*condition) for condition in described), label)
            found.append(BruteRule(path, tuple(rows.tolist()), loss, tuple(shares)))
        return found

    @cached_property
    def distinct(self) -> dict[tuple[tuple[bool, ...], int], BruteRule]:
        """The cheapest rule for every set of rows and label."""
        best: dict[tuple[tuple[bool, ...], int], BruteRule] = {}
        for rule in self.rules:
            key = (rule.rows, rule.path.label)
            if key not in best or rule.loss < best[key].loss:
                best[key] = rule
        return best

    def best(self, relaxed: bool = False) -> float | None:
        """The least loss of a model, by a MIP (or LP) over all rules; None when there is no model."""
        p = self.problem
        rules = list(self.rules if p.conflict is not None and not relaxed else self.distinct.values())
        if not rules:
            return None
        cover = np.array([rule.rows for rule in rules], dtype=float).T
        constraints = [
            LinearConstraint(cover, 1.0, 1.0),
            LinearConstraint(np.ones((1, len(rules))), -np.inf, p.max_leaves),
        ]
        for m, row in enumerate(p.model_limits):
            constraints.append(LinearConstraint(np.array([[rule.shares[m] for rule in rules]]), row.at_least, np.inf))
        if p.conflict is not None and not relaxed:
            apart = [
                (i, j)
                for i, j in itertools.combinations(range(len(rules)), 2)
                if not (cover[:, i] @ cover[:, j]) and p.conflict(rules[i].path, rules[j].path)
            ]
            entries = (np.ones(2 * len(apart)), np.ravel(apart).astype(int), np.arange(0, 2 * len(apart) + 1, 2))
            constraints.append(LinearConstraint(csr_array(entries, shape=(len(apart), len(rules))), -np.inf, 1.0))
        answer = milp(
            np.array([rule.loss for rule in rules]),
            integrality=np.full(len(rules), 0 if relaxed else 1),
            bounds=Bounds(0, 1),
            constraints=constraints,
            options={"mip_rel_gap": 0.0},
        )
        if answer.status == 2:
            return None
        assert answer.status == 0
        return float(answer.fun)

    def value_of(self, paths: Sequence[Path]) -> float:
        """The loss of a model, after checking that it is one."""
        p = self.problem
        known = {(frozenset(rule.path.conditions), rule.path.label): rule for rule in self.rules}
        rules = [known[frozenset(Condition(c.feature, c.codes) for c in path.conditions), path.label] for path in paths]
        assert (np.array([rule.rows for rule in rules]).sum(axis=0) == 1).all()
        assert len(rules) <= p.max_leaves
        for m, row in enumerate(p.model_limits):
            assert sum(rule.shares[m] for rule in rules) >= row.at_least - 1e-6
        if p.conflict is not None:
            assert not any(p.conflict(a, b) for a, b in itertools.combinations(paths, 2))
        return sum(rule.loss for rule in rules)


def _shape_allows(shape: PathShape, features: set[int]) -> bool:
    return (
        all(len(features & limited) <= n for limited, n in shape.at_most)
        and all(feature not in features or others <= features for feature, others, _ in shape.needs)
        and (shape.root is None or shape.root in features)
    )


def _price(prices: TestPrices, features: list[int]) -> float:
    """Every test at its lower price, plus for each group (or test without one) the largest discount not given."""
    groups: dict[Any, list[int]] = {}
    for f in features:
        groups.setdefault(prices.group[f] if prices.group[f] >= 0 else f"own {f}", []).append(f)
    total = 0.0
    for key, members in groups.items():
        if isinstance(key, str):
            total += prices.full[members[0]]
        else:
            total += sum(prices.again[f] for f in members) + max(prices.full[f] - prices.again[f] for f in members)
    return total


def general_case(seed: int, kind: str, *, limited: bool = True, rows: bool = False, **shape: Any) -> GeneralCase:
    """A random problem with this kind of loss, with random limits on rules and constraints over the model."""
    rng = np.random.default_rng(seed)
    table = datasets.random_table(rng, **{"n_features": 3, "max_values": 3, "n_rows": 9, **shape})
    table, loss, loss_of = _with_loss(rng, table, kind)
    categories = "groups" if rng.random() < 0.7 else "values"
    graph = FeatureGraph(table.features, categories, rng.permutation(len(table.features)).tolist())
    support = float(rng.choice([0.25, 1.0, 2.0]))
    depth, leaves = int(rng.integers(1, 4)), int(rng.integers(2, 7))
    problem = Problem(table, graph, loss, depth, leaves, support)
    if limited:
        problem = dataclasses.replace(problem, limits=random_limits(rng, table, loss.n_labels))
    if rows:
        coefficient = rng.integers(-2, 4, size=(table.statistics.shape[1], loss.n_labels)).astype(float)
        share = float(rng.choice([0.2, 0.5, 0.8]))
        least, most = (
            table.statistics.sum(axis=0) @ ends for ends in (coefficient.min(axis=1), coefficient.max(axis=1))
        )
        row = ModelLimit("share", coefficient, float(np.round(least + share * (most - least), 1)))
        problem = dataclasses.replace(problem, model_limits=(row,))
    return GeneralCase(problem, loss_of)


def with_conflicts(case: GeneralCase, seed: int) -> GeneralCase:
    """The same problem, where pairs of rules may not both be chosen, by their conditions and labels alone."""
    rng = np.random.default_rng(seed)
    salt, share = int(rng.integers(1, 1000)), float(rng.choice([0.2, 0.5]))

    def number(path: Path) -> int:
        return sum(7 * c.feature + sum(3**code for code in c.codes) for c in path.conditions) + path.label

    def conflict(a: Path, b: Path) -> bool:
        low, high = sorted((number(a), number(b)))
        return (low * 31 + high * 17 + salt) * 2654435761 % 1000 < 1000 * share

    return GeneralCase(dataclasses.replace(case.problem, conflict=conflict), case.loss_of)


def _with_loss(rng: np.random.Generator, table: Table, kind: str) -> tuple[Table, Any, LossOf]:
    counts = table.statistics
    n_classes = counts.shape[1]
    if kind in ("linear", "rectangular"):
        costs = 1.0 - np.eye(n_classes)
        if kind == "rectangular":
            costs = rng.integers(0, 9, size=(n_classes, int(rng.integers(1, 5)))) / float(rng.choice([1.0, 3.0, 800.0]))
        return table, LinearLoss(costs), lambda rows, label: float(counts[rows].sum(axis=0) @ costs[:, label])
    if kind in ("gini", "entropy"):

        def impurity(rows: np.ndarray, label: int) -> float:
            total = counts[rows].sum(axis=0)
            share = total[total > 0] / total.sum()
            return float(total.sum() * (1 - share @ share if kind == "gini" else -share @ np.log(share)))

        return table, ImpurityLoss(kind, n_classes), impurity  # type: ignore[arg-type]
    row = np.repeat(np.arange(table.n_rows), rng.integers(1, 3, table.n_rows))
    weight = rng.integers(1, 5, len(row)) / 4
    scale = float(rng.choice([0.01, 1.0, 1000.0]))
    target = scale * np.round(rng.normal(2.0 + table.codes[0][row], 1.0), 2)
    if kind == "poisson":
        target = np.maximum(0.0, target)
    total = np.bincount(row, weight)
    moments = [total, np.bincount(row, weight * target), np.bincount(row, weight * target**2)]
    if kind == "poisson":
        own = target * np.log(np.where(target > 0, target, 1.0)) - target + 1.0
        moments[1:] = [np.bincount(row, weight * (target - 1.0)), np.bincount(row, weight * own)]
    table = Table(table.features, table.codes, np.stack(moments, axis=1), row.astype(np.int64), total)

    def of_samples(loss_at: Callable[[float, np.ndarray, np.ndarray], float]) -> LossOf:
        def loss_of(rows: np.ndarray, label: int) -> float:
            inside = rows[row]
            w, t = weight[inside], target[inside]
            ends = np.unique([*t, *(t - delta), *(t + delta)])
            centres = [*ends, np.average(t, weights=w)]
            for low, high in itertools.pairwise(ends):  # Huber loss is a parabola between these
                middle = (low + high) / 2
                near, above, below = np.abs(t - middle) < delta, t > middle + delta, t < middle - delta
                if near.any():
                    pull = delta * (w[above].sum() - w[below].sum())
                    centres.append((w[near] @ t[near] + pull) / w[near].sum())
            return min(loss_at(float(p), w, t) for p in centres)

        return loss_of

    delta = 0.7 * scale
    start = np.searchsorted(row, np.arange(table.n_rows + 1)).astype(np.int64)
    if kind == "squared":
        return table, MomentLoss("squared"), of_samples(lambda p, w, t: float(w @ (t - p) ** 2))
    if kind == "poisson":

        def deviance(p: float, w: np.ndarray, t: np.ndarray) -> float:
            if p <= 0:
                return 0.0 if not t.any() else math.inf
            return float(w @ (t * np.log(np.where(t > 0, t, p) / p) - t + p))

        return table, MomentLoss("poisson"), of_samples(deviance)
    if kind == "quantile":
        level = float(rng.choice([0.2, 0.5]))
        pinball = of_samples(lambda p, w, t: float(w @ np.maximum(level * (t - p), (level - 1) * (t - p))))
        return table, SampleLoss("quantile", level, start, target, weight), pinball
    if kind == "huber":

        def rounded(p: float, w: np.ndarray, t: np.ndarray) -> float:
            d = np.abs(t - p)
            return float(w @ np.where(d <= delta, d * d / 2, delta * (d - delta / 2)))

        return table, SampleLoss("huber", delta, start, target, weight), of_samples(rounded)
    refines = kind == "rows"

    def own(rows: np.ndarray, label: int) -> float:
        """Spread and number of the rows, which never fall when rules are joined; or anything at all."""
        inside = rows[row]
        if refines:
            spread = weight[inside] @ (target[inside] - np.average(target[inside], weights=weight[inside])) ** 2
            return float(spread * (1.0 + label) + (0.3 * scale * rows.sum()) ** 2)
        return float(np.sin(37 * rows @ np.arange(len(rows))) + 0.3 * label - 0.2)

    def function(numbers: np.ndarray, allowed: Sequence[bool] | None) -> tuple[float, int]:
        rows = np.isin(np.arange(table.n_rows), numbers)
        return min((own(rows, label), label) for label in range(2) if allowed is None or allowed[label])

    return table, RowLoss(function, 2, refines), own


def random_limits(rng: np.random.Generator, table: Table, n_labels: int) -> RuleLimits:
    """One or two limits of any kind, that about half of the rules meet."""
    n_features = len(table.features)
    measures = rng.integers(0, 4, size=(table.n_rows, 4)).astype(float) / 3
    changes: dict[str, Any] = {"measures": measures}
    for kind in rng.choice(["linear", "label", "ratio", "prices", "at_most", "needs", "root", "predicate"], 2):
        shape = changes.get("shape", PathShape())
        one = int(rng.integers(n_features))
        if kind == "linear":
            coefficient = np.zeros((4, 1))
            coefficient[rng.integers(4)] = 1.0
            changes["linear"] = (LinearLimit(coefficient, float(rng.choice([0.4, 1.0, 1.7]))),)
        elif kind == "label":
            coefficient = rng.integers(-2, 3, size=(4, n_labels)).astype(float)
            changes["linear"] = (LinearLimit(coefficient, float(rng.choice([-3.0, -1.0, 0.5]))),)
        elif kind == "ratio":
            changes["ratios"] = (RatioLimit(0, 1, 2, 3, float(rng.choice([0.2, 0.8]))),)
        elif kind == "prices":
            again = rng.integers(0, 3, n_features)
            full = again + rng.integers(0, 4, n_features)
            group = rng.integers(-1, 2, n_features)
            limit, weight = float(rng.choice([3.0, 6.0, math.inf])), float(rng.choice([0.0, 0.013]))
            changes["prices"] = TestPrices(
                tuple(full.tolist()), tuple(again.tolist()), tuple(group.tolist()), limit, weight
            )
        elif kind == "at_most":
            some = frozenset(rng.choice(n_features, 2, replace=False).tolist())
            changes["shape"] = dataclasses.replace(shape, at_most=((some, int(rng.integers(0, 2))),))
        elif kind == "needs":
            other = int((one + 1) % n_features)
            need = (one, frozenset([other]), bool(rng.random() < 0.5))
            changes["shape"] = dataclasses.replace(shape, needs=(need,), above=((other, one),))
        elif kind == "root":
            changes["shape"] = dataclasses.replace(shape, root=one)
        else:
            modulus = int(rng.integers(3, 6))

            def predicate(conditions: Any, rows: np.ndarray, label: int, modulus: int = modulus) -> bool:
                return (sum(f + sum(codes) for f, codes in conditions) + len(rows) + label) % modulus != 0

            changes["predicate"] = predicate
    return RuleLimits(**changes)
