"""Pricing of rules of any loss under any limits, against enumeration of all rules."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from helpers.general_rule_cases import KINDS, GeneralCase, general_case
from omtree import _native
from omtree.engines.rules.floors import row_floors
from omtree.engines.rules.pool import ColumnPool, Duals
from omtree.engines.rules.pricing import credits_for, general_pricer, native_pricer
from omtree.problem.judge import make_judge

Key = tuple[tuple[bool, ...], int]


class Pricing:
    """A case with a pricer and random duals."""

    def __init__(self, case: GeneralCase, seed: int, n_threads: int = 1, unit: float = 0.5) -> None:
        rng = np.random.default_rng(seed)
        self.case, self.unit = case, unit
        p = case.problem
        self.plain = native_pricer(p, n_threads)
        self.general = general_pricer(p, self.plain, make_judge(p), unit)
        scale = np.median([abs(rule.loss) for rule in case.rules] or [1.0]) / unit + 1e-3
        cover = scale * rng.normal(0.3, 0.5, p.table.n_rows)
        self.duals = Duals.of_each_row(cover, -scale * float(rng.random()), scale * rng.random(len(p.model_limits)))
        self.pool = ColumnPool(p, self.plain, self.general)
        self.scale = scale

    def expected(self) -> dict[Key, float]:
        """Least reduced cost of every set of rows under every label that some rule for them may predict."""
        found: dict[Key, float] = {}
        for (rows, label), rule in self.case.distinct.items():
            cost = rule.loss / self.unit - self.duals.own[list(rows)].sum() - self.duals.leaf
            cost -= np.dot(self.duals.rows, rule.shares)
            found[rows, label] = float(cost)
        return found

    def price(self, threshold: float, limit: int = 10**6, k_best: int = 0) -> tuple[dict[Key, float], float, bool]:
        """What the kernel finds, its least cost, and whether that is proven."""
        p = self.case.problem
        conditions, label, cost, least, complete, _, _ = self.general.price(
            credits_for(p, self.duals),
            -self.duals.leaf,
            p.max_depth,
            threshold,
            limit,
            False,
            p.free_labels,
            1e9,
            k_best,
        )
        start, rows = self.plain.cover(
            conditions.reshape(-1, max(1, p.max_depth)), np.arange(p.table.n_rows, dtype=np.int32)
        )
        found = {}
        for r in range(len(cost)):
            inside = np.isin(np.arange(p.table.n_rows), rows[start[r] : start[r + 1]])
            found[tuple(inside.tolist()), int(label[r])] = float(cost[r])
        assert len(found) == len(cost)
        return found, least, complete


def by_rows(priced: dict[Key, float], free: bool) -> dict[object, float]:
    """Least costs by rows, and by label where labels are free: rules may differ in the labels they are allowed."""
    least: dict[object, float] = {}
    for key, cost in priced.items():
        place = key if free else key[0]
        least[place] = min(cost, least.get(place, cost))
    return least


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(9))
def test_exact_pricing_finds_all_rules(seed: int, kind: str) -> None:
    """The exact pricer lists every allowed rule below the threshold with its true cost, and no other."""
    rows = kind in ("linear", "rectangular", "gini") and seed % 2 == 0
    case = general_case(seed, kind, limited=seed % 3 > 0, rows=rows)
    pricing = Pricing(case, seed, n_threads=1 + seed % 2)
    free = case.problem.free_labels
    true = pricing.expected()
    expected = by_rows(true, free)
    slack = 1e-9 * pricing.scale
    for quantile in (0.1, 0.6, 1.0):
        threshold = float(np.quantile(list(expected.values()), quantile)) + slack if expected else 0.0
        priced, least, complete = pricing.price(threshold)
        found = by_rows(priced, free)
        assert complete
        assert all(cost == pytest.approx(true[key], abs=1e-7 * pricing.scale) for key, cost in priced.items())
        sure = {key for key, cost in expected.items() if cost < threshold - 2 * slack}
        assert sure <= set(found)
        assert least == pytest.approx(min([threshold, *expected.values()]), abs=1e-7 * pricing.scale)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_shortest_paths_find_rules(seed: int, kind: str) -> None:
    """With enough partial paths kept the heuristic finds every rule; what it finds is true, but nothing is proven."""
    case = general_case(seed + 50, kind, rows=kind in ("linear", "gini") and seed % 2 == 0)
    pricing = Pricing(case, seed)
    free = case.problem.free_labels
    true = pricing.expected()
    for k in (1, 3, 10**5):
        priced, _, complete = pricing.price(1e9, k_best=k)
        assert not complete
        # With few paths kept, a dearer rule for the same rows may be the one that is found.
        assert all(cost >= true[key] - 1e-7 * pricing.scale for key, cost in priced.items())
    assert by_rows(priced, free) == pytest.approx(by_rows(true, free), abs=1e-7 * pricing.scale)


@pytest.mark.parametrize("kind", KINDS)
def test_cheapest_rules_come_first(kind: str) -> None:
    """With a limit on their number, the cheapest rules are returned."""
    case = general_case(3, kind, limited=False)
    pricing = Pricing(case, 3)
    expected = sorted(by_rows(pricing.expected(), free=False).values())
    priced, least, _ = pricing.price(1e9, limit=7)
    assert sorted(priced.values()) == pytest.approx(expected[:7], abs=1e-7 * pricing.scale)
    assert least == pytest.approx(expected[0], abs=1e-7 * pricing.scale)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_floors_are_below_losses(seed: int, kind: str) -> None:
    """The loss of a rule is never below the sum of its rows' floors in the lowest case."""
    case = general_case(seed, kind, limited=False)
    if not case.problem.loss.refines:
        return
    floors = row_floors(case.problem, make_judge(case.problem))
    for rule in case.distinct.values():
        assert floors[list(rule.rows)].sum(axis=0).min() <= rule.loss + 1e-9 * (1 + abs(rule.loss))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_losses_of_rules(seed: int, kind: str) -> None:
    """The pool's losses are those of the definition, for any label; what is not allowed does not fit."""
    case = general_case(seed, kind)
    pricing = Pricing(case, seed)
    allowed = {(rule.path.conditions, rule.path.label): rule.loss for rule in case.rules}
    free = general_case(seed, kind, limited=False)
    pool = pricing.pool
    for rule in free.rules:
        loss = allowed.get((rule.path.conditions, rule.path.label))
        assert pool.fits(rule.path) == (loss is not None)
    columns = pool.add_paths([rule.path for rule in case.rules])
    cheapest = [case.distinct[rule.rows, rule.path.label].loss for rule in case.rules]
    tolerance = 1e-9 * max([1.0, *map(abs, cheapest)])
    assert pool.loss[columns] * pricing.unit == pytest.approx(np.array(cheapest), abs=tolerance)


def test_errors_of_the_users_functions_come_through() -> None:
    """An exception in a loss or a predicate of the user's ends pricing, whatever the thread it is raised on."""
    case = general_case(1, "squared", limited=False)

    def broken(conditions: object, rows: object, label: int) -> bool:
        raise ZeroDivisionError("on purpose")

    limits = dataclasses.replace(case.problem.limits, predicate=broken)
    problem = dataclasses.replace(case.problem, limits=limits)
    for n_threads in (1, 2):
        plain = native_pricer(problem, n_threads)
        general = general_pricer(problem, plain, make_judge(problem), 1.0)
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            general.price(np.zeros((problem.table.n_rows, 1)), 0.0, 2, 1e9, 10, False, False, 1e9, 0)


def test_wrong_shapes_are_refused() -> None:
    """Arrays that do not fit the rows raise, instead of being read out of bounds."""
    problem = general_case(1, "gini", limited=False).problem
    plain, judge = native_pricer(problem, 1), make_judge(problem)
    with pytest.raises(ValueError, match="differ in their rows"):
        _native.GeneralPricer(plain, judge, np.zeros((1, 1)), 1.0, False)
    general = general_pricer(problem, plain, judge, 1.0)
    with pytest.raises(ValueError, match="credits"):
        general.price(np.zeros((problem.table.n_rows, 2)), 0.0, 2, 1e9, 10, False, False, 1e9, 0)
