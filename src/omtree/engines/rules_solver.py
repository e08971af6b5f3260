"""The best set of disjoint rules for a problem, whatever its objective and constraints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from omtree.deadline import Deadline
from omtree.engines import rules
from omtree.engines.answers import no_model
from omtree.engines.reductions.additive import Additive, scored
from omtree.engines.reductions.curved_limits import solve_curved
from omtree.engines.reductions.scores import best_score
from omtree.engines.standard_units import in_units
from omtree.objectives import Objective, Score
from omtree.problem.problem import Path, Problem, Solution
from omtree.progress import Progress

#: Most conditions that rules are made of; they are listed in memory.
MOST_CONDITIONS = 2_000_000


@dataclass(frozen=True, eq=False)
class RulesSolver:
    """The best set of disjoint rules for a problem.

    Attributes
    ----------
    objective : Objective
    options : rules.Options
    progress : callable or None
    """

    objective: Objective
    options: rules.Options
    progress: Progress | None = None

    def __call__(self, problem: Problem, deadline: Deadline, start: Sequence[Path] = ()) -> Solution:
        """Solve, no worse than the rules to start from.

        Raises
        ------
        InfeasibleError
            When there is no model.
        """
        _check_conditions(problem)
        standard = in_units(problem)
        if isinstance(self.objective, Score):
            solution = self._score(self.objective, standard.problem, deadline, start)
        else:
            solution = self._add_up(standard.problem, deadline, start).times(standard.loss)
        if not solution.paths:
            raise no_model(solution)
        return solution

    def _add_up(self, problem: Problem, deadline: Deadline, start: Sequence[Path]) -> Solution:
        if problem.curved:

            def solve(additive: Problem) -> Additive[Solution]:
                found = self._add_up(additive, deadline, start)
                return Additive(found, found.paths, found.bound, found.status)

            branched = solve_curved(problem, solve)
            if branched.answer is None:
                return Solution((), branched.status, math.inf, branched.bound)
            return replace(
                branched.answer, status=branched.status, value=branched.value, bound=branched.bound, lp_value=None
            )
        if problem.sums:
            return rules.solve_listed(problem, self.options, deadline, start=start, progress=self.progress)
        if not problem.graph.levels and problem.plain and not problem.model_limits:
            return _single_rule(problem)
        return rules.solve(problem, self.options, deadline, start=start, progress=self.progress)

    def _score(self, score: Score, problem: Problem, deadline: Deadline, start: Sequence[Path]) -> Solution:
        known = list(start)

        def solve(additive: Problem) -> Additive[Solution]:
            found = self._add_up(additive, deadline, known)
            known[:] = found.paths or known
            return Additive(found, found.paths, found.bound, found.status)

        found = best_score(problem, score, solve)
        return scored(found, found.answer)


def _check_conditions(problem: Problem) -> None:
    """Refuse what would not fit into memory: the conditions of rules are listed."""
    conditions = problem.graph.n_conditions
    if conditions > MOST_CONDITIONS:
        raise ValueError(
            f"structure='rules' lists its conditions, and {conditions:,} of them are too many; choose fewer n_bins, "
            "another binning than 'exact', fewer columns, or structure='tree'."
        )


def _single_rule(problem: Problem) -> Solution:
    """The one model there is when no feature varies: always the cheapest class."""
    costs = problem.table.statistics.sum(axis=0) @ problem.costs
    label = int(np.argmin(costs))
    value = float(costs[label])
    return Solution((Path((), label),), "optimal", value, value)
