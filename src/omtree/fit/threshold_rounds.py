"""Rounds of thresholds: solve, cut finer where the best tree cuts, solve again.

Every round keeps the thresholds of the best tree so far, so that this tree stays among those the next round chooses
from, and spends the other cuts on two kinds of candidates: thresholds between the chosen ones and their neighbours,
and for every node of the tree those that would split its rows best. All of them are found from the weight of each
class at each value, so a row of weight 2 counts as two rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from omtree.data.table import Feature
from omtree.deadline import Deadline
from omtree.engines.answers import TreeAnswer
from omtree.fit.fine_grid import raw_tree, readable
from omtree.fit.finer_cuts import Scale, finer_features
from omtree.fit.pose import Pose
from omtree.fit.quick_trees import QuickTree, QuickTrees, with_thresholds
from omtree.fit.raw_cuts import n_leaves
from omtree.problem.problem import Problem
from omtree.progress import Event, Progress
from omtree.sources.samples import Training

#: Most solves, the first one included.
MAX_ROUNDS = 5
#: A tree with more leaves than this has too many cuts for the thresholds of a search.
MOST_LEAVES = 40
#: First tests that are looked at for trees that give their cuts to a round, where trees are shallow.
VARIETY = 24
#: Work and patience of the search for a better tree between two rounds.
NEXT_WORK, NEXT_PATIENCE = 1.5e7, 3
#: Losses are equal up to this share.
ROUNDING = 1e-8
#: The share of the loss that a round must have saved for another one to follow.
_LEAST_GAIN = 0.005

Solve = Callable[[Problem, Deadline], TreeAnswer]


@dataclass(frozen=True)
class RoundLimits:
    """When rounds end, beside the end of the time and of their gains.

    Attributes
    ----------
    most : int
        No round after these.
    least_hope : float
        The share of the loss that a quick tree with finer cuts must save for another round; 0 asks for none.
    """

    most: int = MAX_ROUNDS
    least_hope: float = 0.0


EVERY_ROUND = RoundLimits()


@dataclass(frozen=True)
class Refined:
    """The best tree and the thresholds it was chosen from.

    Attributes
    ----------
    problem : Problem
        With the thresholds of the last round that found a better tree.
    answer : TreeAnswer
    rounds : int
        Number of that round; the first is the one on coarse bins, or the quick tree that takes its place.
    """

    problem: Problem
    answer: TreeAnswer
    rounds: int


@dataclass(frozen=True, eq=False)
class ThresholdRounds:
    """Finds thresholds and the best tree over them by turns.

    Attributes
    ----------
    n_bins : int or None
        About how many bins a feature has in every round; None leaves the thresholds as they are.
    deadline : Deadline
        Of the fit, for the moments that `progress` is told.
    progress : callable or None
        Told before and after every round.
    quick : QuickTrees or None
        The search for better trees between rounds, where these are wanted.
    limits : RoundLimits
    """

    n_bins: int | None
    deadline: Deadline
    progress: Progress | None
    quick: QuickTrees | None
    limits: RoundLimits = EVERY_ROUND

    def coarse(self, training: Training, features: Sequence[Feature]) -> list[int]:
        """Positions of the numeric features that have more distinct values than bins."""
        if self.n_bins is None:
            return []
        return [
            position
            for position, feature in enumerate(features)
            if feature.kind == "numeric" and training.many_valued(feature, self.n_bins)
        ]

    def refine(
        self,
        training: Training,
        pose: Pose,
        problem: Problem,
        solve: Solve,
        limit: Deadline,
        rounds: int,
        floor: float = 0.0,
    ) -> Refined:
        """Solve, and solve again with finer thresholds as long as that is worth it and may go below the floor.

        A round after the first begins only if it will probably end in time.
        """
        coarse = self.coarse(training, problem.table.features)
        start = limit.elapsed
        best = Refined(problem, self.run(problem, solve, f"{rounds}", limit), rounds)
        if self.n_bins is None or not coarse:
            return best
        last = searched = limit.elapsed - start
        gain = math.inf
        scales: list[Scale] = []
        while best.rounds < self.limits.most:
            found = best.answer.solution
            if found.status != "optimal" or gain <= _LEAST_GAIN * found.value or 1.5 * last > limit.remaining:
                break
            if found.value <= floor * (1.0 + ROUNDING):
                break
            scales = scales or [Scale.of(training, problem.table.features[f], f) for f in coarse]
            features, interrupted = self._next_features(training, best, coarse, scales, limit)
            if interrupted:
                best = replace(best, answer=interrupted_answer(best.answer))
            if features is None or interrupted:
                break
            problem = pose(training, features)
            before = limit.elapsed
            answer = self.run(problem, solve, f"{best.rounds + 1}", limit)
            last = limit.elapsed - before
            searched += last
            gain = found.value - answer.solution.value
            if gain > 0.0:
                best = Refined(problem, answer, best.rounds + 1)
                continue
            if answer.solution.status == "interrupted":
                best = replace(best, answer=interrupted_answer(best.answer))
            break
        seconds = {"thresholds": limit.elapsed - start - searched, "search": searched}
        return replace(best, answer=replace(best.answer, solution=replace(best.answer.solution, seconds=seconds)))

    def run(self, problem: Problem, solve: Solve, name: str, limit: Deadline) -> TreeAnswer:
        """Solve, and tell of it."""
        self.tell(f"search {name}")
        answer = solve(problem, limit)
        self.tell(f"solved {name}", answer.solution.value, answer.solution.bound)
        return answer

    def tell(self, phase: str, value: float = math.inf, bound: float = -math.inf) -> None:
        """Tell how far the fit is."""
        if self.progress is not None:
            self.progress(Event(phase, self.deadline.elapsed, value, bound))

    def _next_features(
        self, training: Training, best: Refined, coarse: Sequence[int], scales: Sequence[Scale], limit: Deadline
    ) -> tuple[tuple[Feature, ...] | None, bool]:
        """Thresholds for another round: around those of the best tree, and those of a better one, if one is found.

        None where there are none, or too little to hope for; and whether Ctrl-C came.
        """
        assert best.answer.root is not None
        assert self.n_bins is not None
        features = finer_features(training, best.problem, best.answer.root, scales, self.n_bins)
        if self.quick is None or self.quick.cuts_only:
            return features, False
        once = self.quick.splits == "multiway"
        start = as_quick_tree(best)
        before = best.problem.table.features
        tree = self.quick.search(
            training,
            before,
            coarse,
            limit,
            starts=[start],
            once=once,
            work=NEXT_WORK,
            variety=VARIETY if best.problem.max_depth <= 4 else 0,
            patience=NEXT_PATIENCE,
            floor=start.floor,
        )
        hope = 0.0 if tree is None else max(0.0, start.value - tree.value)
        if hope < self.limits.least_hope * start.value:
            return None, tree is not None and tree.interrupted
        if tree is None or hope == 0.0:
            return features, tree is not None and tree.interrupted
        return with_cuts_of(training, features or before, tree, self.n_bins), tree.interrupted


def interrupted_answer(answer: TreeAnswer) -> TreeAnswer:
    """The answer after Ctrl-C."""
    return replace(answer, solution=replace(answer.solution, status="interrupted"))


def as_quick_tree(refined: Refined, floor: float = 0.0) -> QuickTree:
    """The tree of a search as one to start from."""
    assert refined.answer.root is not None
    root = raw_tree(refined.answer.root, refined.problem.table.features)
    return QuickTree(root, refined.answer.solution.value, floor)


def with_cuts_of(
    training: Training, features: tuple[Feature, ...], tree: QuickTree, n_bins: int | None
) -> tuple[Feature, ...]:
    """The features with the cuts of a tree beside their own, and those of the other trees while there is room."""
    if n_bins is None or n_leaves(tree.root) > MOST_LEAVES:
        return features
    features = with_thresholds(features, readable(training, features, tree.root))
    for other in tree.others:
        features = with_thresholds(features, readable(training, features, other), most=2 * n_bins - 1)
    return features
