"""The best set of disjoint rules, by the method that the options name."""

from __future__ import annotations

from collections.abc import Sequence

from omtree.deadline import Deadline
from omtree.engines.rules.column_generation import ExactRun
from omtree.engines.rules.options import Options
from omtree.engines.rules.paper import PaperRun
from omtree.engines.rules.run import Run
from omtree.problem.problem import Path, Problem, Solution
from omtree.progress import Progress


def make_run(problem: Problem, options: Options, deadline: Deadline, progress: Progress | None) -> Run:
    """One call of the engine, ready to run."""
    method: type[Run] = PaperRun if options.method == "paper" else ExactRun
    return method(problem, options, deadline, progress)


def solve(
    problem: Problem,
    options: Options | None = None,
    deadline: Deadline | None = None,
    start: Sequence[Path] = (),
    progress: Progress | None = None,
) -> Solution:
    """The best set of disjoint rules, with a bound.

    Parameters
    ----------
    problem : Problem
    options : Options, optional
    deadline : Deadline, optional
        Without one the engine works until it is done.
    start : sequence of Path
        Rules to start from. If they make a model it is the first one known, so the answer is never worse.
    progress : callable, optional
        Told how far the work is, now and then.
    """
    return make_run(problem, options or Options(), deadline or Deadline(), progress).run(start)
