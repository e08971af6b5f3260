"""Branch and bound over listed rules."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.rule_cases import Tiny, check_model, hard, tiny, with_rows
from omtree.deadline import Deadline
from omtree.engines.rules import Options, branching, column_generation, solve
from omtree.engines.rules.branching import Branching
from omtree.engines.rules.column_generation import ExactRun
from omtree.engines.rules.mip import MipAnswer
from omtree.problem.problem import Solution

GAVE_UP = MipAnswer(np.empty(0, dtype=np.int32), np.inf, -np.inf, complete=False)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Nothing but branching can prove: cover search and solver give up. Told are the nodes of each call."""
    monkeypatch.setattr(column_generation, "FIRST_TRY", 1000.0)
    monkeypatch.setattr(ExactRun, "_cover", lambda *_: GAVE_UP)
    monkeypatch.setattr(ExactRun, "_mip", lambda *_, **__: GAVE_UP)
    nodes: list[int] = []
    run = Branching.run

    def counted(self: Branching, deadline: Deadline) -> MipAnswer:
        answer = run(self, deadline)
        nodes.append(self.nodes)
        return answer

    monkeypatch.setattr(Branching, "run", counted)
    return nodes


def check(case: Tiny, solution: Solution) -> None:
    """The oracle's optimum, proven."""
    best = case.best()
    if best is None:
        assert solution.status == "infeasible"
        return
    assert solution.status == "optimal"
    assert solution.value == pytest.approx(best, abs=1e-9)
    check_model(case.problem, solution)


def fit(case: Tiny, seconds: float = 30.0, **options: bool) -> Solution:
    """The engine without what would find the optimum before branching has to."""
    return solve(case.problem, Options(improve=False, warm_start=False, **options), Deadline(seconds))


def test_where_the_relaxation_is_loose_only_branching_proves(alone: list[int]) -> None:
    """All tables of whole weights are proven, some by more than one node only; without branching these stay open."""
    needed = 0
    for seed in range(30):
        case = hard(seed)
        weight = case.problem.table.weight
        if (weight != weight.round()).any():
            continue
        alone.clear()
        check(case, fit(case))
        if max(alone, default=0) > 1:
            needed += 1
            if needed <= 2:
                without = fit(case, 0.3, branching=False)
                assert without.status != "optimal"
                assert without.bound <= without.value
    assert needed >= 3


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_the_same_optimum_with_and_without(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 tables of any kind; the cover search gives up at the root, so that branching comes next."""
    cover = ExactRun._cover

    def at_nodes_only(
        self: ExactRun, candidates: object, cost: object, loss: float, limit: Deadline, bound: float
    ) -> MipAnswer:
        return GAVE_UP if bound == self.raw_bound else cover(self, candidates, cost, loss, limit, bound)  # type: ignore[arg-type]

    for seed in range(first, first + 20):
        case = tiny(seed)
        without = fit(case, branching=False)
        with monkeypatch.context() as patch:
            patch.setattr(ExactRun, "_cover", at_nodes_only)
            having = fit(case)
        assert having.status == without.status
        assert having.value == pytest.approx(without.value, abs=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_constraints_over_the_whole_model(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that couple the rules hold where branching is asked first, and the optimum is the oracle's."""
    monkeypatch.setattr(branching, "COVER_SECONDS", 1e-9)
    cover = ExactRun._cover
    tries: list[int] = []

    def not_at_first(self: ExactRun, *arguments: object) -> MipAnswer:
        tries.append(1)
        return GAVE_UP if len(tries) == 1 else cover(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ExactRun, "_cover", not_at_first)
    case = with_rows(seed, 1 + seed % 2)
    check(case, fit(case))
