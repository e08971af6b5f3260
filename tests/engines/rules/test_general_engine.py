"""Column generation for any loss under any limits, against brute force over all rules."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.general_rule_cases import KINDS, GeneralCase, general_case, with_conflicts
from omtree.deadline import Deadline
from omtree.engines.rules import Options, solve
from omtree.engines.rules.mip import MipAnswer
from omtree.engines.rules.run import Run
from omtree.problem.problem import Path, Solution

LINEAR = ("linear", "rectangular")
PLAIN = Options(pricing="exact", row_pace=0, stabilise=False, warm_start=False, drop_columns=False)


def run(case: GeneralCase, options: Options | None = None, start: tuple[Path, ...] = ()) -> Solution:
    """The engine, with more time than it can need: a test that hangs fails instead."""
    return solve(case.problem, options, Deadline(30), start)


def check(case: GeneralCase, solution: Solution) -> None:
    """The optimum of brute force, proven; or a proof that there is no model."""
    best = case.best()
    if best is None:
        assert solution.status == "infeasible"
        assert solution.paths == ()
        return
    assert solution.status == "optimal"
    scale = max([abs(best), *(1e-3 * abs(rule.loss) for rule in case.rules)])
    assert case.value_of(solution.paths) == pytest.approx(solution.value, abs=1e-9 * scale, rel=1e-9)
    assert solution.value == pytest.approx(best, abs=2e-6 * scale)
    assert solution.bound <= solution.value
    if solution.lp_value is not None:
        relaxed = case.best(relaxed=True)
        assert relaxed is not None
        assert solution.lp_value <= relaxed + 1e-5 * scale


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_losses(seed: int, kind: str) -> None:
    """Without limits, every kind of loss has the optimum of brute force."""
    case = general_case(seed, kind, limited=False)
    check(case, run(case, Options() if seed % 2 else PLAIN))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(100, 109))
def test_limits(seed: int, kind: str) -> None:
    """Under random limits on rules the optimum is that of brute force, and infeasible is what has no model."""
    case = general_case(seed, kind)
    check(case, run(case, Options() if seed % 2 else PLAIN))


@pytest.mark.parametrize("kind", [*LINEAR, "gini"])
@pytest.mark.parametrize("seed", range(200, 212))
def test_limits_and_constraints(seed: int, kind: str) -> None:
    """With a constraint over the whole model as well, labels are free and the optimum is that of brute force."""
    case = general_case(seed, kind, limited=seed % 3 > 0, rows=True)
    check(case, run(case, Options() if seed % 2 else PLAIN))


SMALL = {"n_features": 2, "max_values": 3, "n_rows": 7, "missing": 0.0}


@pytest.mark.parametrize("kind", ["linear", "gini", "squared", "odd rows"])
@pytest.mark.parametrize("seed", range(400, 405))
def test_conflicts(seed: int, kind: str) -> None:
    """Rules that may not be chosen together are not, and the rest is the optimum of brute force."""
    case = with_conflicts(general_case(seed, kind, limited=seed % 4 == 0, **SMALL), seed)
    check(case, run(case, Options() if seed % 2 else PLAIN))


@pytest.mark.parametrize("tool", ["cover", "mip"])
@pytest.mark.parametrize("seed", range(420, 425))
def test_both_tools_of_the_proof_know_conflicts(seed: int, tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cover search alone and the MIP alone find the optimum where rules may be in conflict."""
    case = with_conflicts(general_case(seed, "linear", limited=False, **SMALL), seed)
    best = case.best()
    assert best is not None  # one rule for all rows has no conflict
    other = "_mip" if tool == "cover" else "_cover"

    def gives_up(*_: object, **__: object) -> MipAnswer:
        return MipAnswer(np.empty(0, dtype=np.int32), np.inf, -np.inf, complete=False)

    monkeypatch.setattr(Run, other, gives_up)
    solution = run(case)
    assert solution.status == "optimal"
    assert solution.value == pytest.approx(best)
    assert case.value_of(solution.paths) == pytest.approx(best)


def test_conflicts_matter() -> None:
    """The random conflicts raise the optimum of many problems."""
    cases = [general_case(seed, "linear", limited=False, **SMALL) for seed in range(420, 428)]
    raised = [(with_conflicts(case, seed).best() or 0.0) > (case.best() or 0.0) for seed, case in enumerate(cases, 420)]
    assert sum(raised) >= 2


def test_cases_are_of_all_sorts() -> None:
    """The random limits leave some problems without a model and most with one."""
    feasible = [
        general_case(seed, kind).best() is not None for kind in ("linear", "squared") for seed in range(100, 112)
    ]
    assert 2 <= len(feasible) - sum(feasible) <= 14


@pytest.mark.parametrize("kind", ["linear", "entropy", "squared", "huber", "odd rows"])
@pytest.mark.parametrize("seed", range(4))
def test_heuristic_pricing_proves_nothing(seed: int, kind: str) -> None:
    """With the heuristic alone the bound stays below the optimum, and the model is one."""
    case = general_case(seed + 300, kind, limited=seed % 2 == 0)
    best = case.best()
    solution = run(case, Options(pricing="ksp"))
    assert not solution.exact_pricing
    if best is None:
        assert solution.paths == ()
        assert solution.status != "optimal"
        return
    scale = max([abs(best), *(1e-3 * abs(rule.loss) for rule in case.rules)])
    assert solution.bound <= best + 1e-9 * scale
    assert solution.value >= best - 1e-9 * scale or not solution.paths
    if solution.paths:
        assert case.value_of(solution.paths) == pytest.approx(solution.value, abs=1e-9 * scale)


@pytest.mark.parametrize("kind", ["gini", "squared", "quantile"])
def test_no_time(kind: str) -> None:
    """Without time the answer is a model or none at all, with a bound that holds."""
    case = general_case(7, kind, limited=False)
    best = case.best()
    assert best is not None
    solution = solve(case.problem, deadline=Deadline(0.0))
    assert solution.bound <= best + 1e-9 * abs(best)
    if solution.paths:
        assert case.value_of(solution.paths) == pytest.approx(solution.value)


def test_losses_without_a_floor() -> None:
    """Nothing is known of a loss that may be negative, unless an exact round tells."""
    case = general_case(5, "odd rows", limited=False)
    assert solve(case.problem, deadline=Deadline(0.0)).bound == -math.inf
    assert run(case).value < 0


def test_given_rules_are_not_made_worse() -> None:
    """Rules to start from that make a model are the worst answer; those that are not allowed are ignored."""
    case = general_case(102, "squared", limited=False)
    best = run(case)
    given = solve(case.problem, Options(max_iterations=0, proof=False, warm_start=False), Deadline(0.5), best.paths)
    assert given.value == pytest.approx(best.value)
    limited = next(c for seed in range(100, 140) if (c := general_case(seed, "squared")).best() is not None)
    answer = run(limited, start=tuple(rule.path for rule in general_case(100, "squared", limited=False).rules[:5]))
    check(limited, answer)


def test_reason() -> None:
    """A problem without a model says what stands in the way."""
    case = next(c for seed in range(100, 200) if (c := general_case(seed, "gini")).best() is None)
    assert "limits on rules" in run(case).reason


def test_gap() -> None:
    """A gap that is asked for ends the work."""
    case = general_case(104, "squared", limited=False)
    best = case.best()
    solution = run(case, Options(gap=0.5))
    assert solution.status in ("gap_reached", "optimal")
    assert best is not None
    assert solution.bound <= best * (1 + 1e-9)
    assert solution.value - solution.bound <= 0.5 * solution.value + 1e-9
    assert np.isfinite(solution.value)
