"""`binning="exact"`: the best tree over all cuts between values of the training rows.

The search over all cuts looks at the raw values; its tree then becomes one over codes, with just the thresholds that it
needs. What that search does not do (rules, constraints, other losses) is solved with one code a value instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from omtree.data.table import Feature
from omtree.deadline import Deadline
from omtree.engines.answers import OutOfTimeError, TreeAnswer
from omtree.engines.dispatch import TreeSolver
from omtree.engines.trees.all_cuts import CutSolution
from omtree.engines.trees.neighbourhoods import ENDLESS, PATIENCE
from omtree.errors import InfeasibleError
from omtree.fit.cut_search import (
    BRIEF_WORK,
    CutSearch,
    has_more_values_than_codes,
    is_for_multiway,
    is_for_multiway_bounds,
)
from omtree.fit.fine_grid import at_thresholds
from omtree.fit.pose import Pose
from omtree.fit.quick_trees import QuickTree, QuickTrees
from omtree.fit.raw_cuts import with_cuts
from omtree.fit.threshold_rounds import ROUNDING, Refined, Solve, as_quick_tree
from omtree.fit.thresholds import ThresholdSearch
from omtree.model.certificate import Status
from omtree.objectives import Objective
from omtree.problem.graph import Categories
from omtree.problem.problem import Solution
from omtree.sources.samples import Training

#: Share of the time for binary trees over all cuts: their search cannot be taken up again, and most often it ends.
_BINARY_SHARE = 0.5
#: Share of the time for a moment's work before any other.
_MOMENT_SHARE = 0.1
#: Share of the time left for trees over few cuts, which a long search over all cuts starts from.
_COARSE_SHARE = 0.3
#: The same where that search gives a bound only.
_BEFORE_BOUND_SHARE = 0.6
#: Share of the time left for that search; the rest is for neighbourhoods of the best tree.
_TIME_SHARE = 0.85
_LAST_SHARE = 0.93
#: Share of the time for trees over few cuts where columns have a code for every value.
FEW_CUTS_SHARE = 0.4

#: The tree over few cuts that a fit without "exact" gives by a deadline, which need not look at all cuts any more.
Coarse = Callable[[Deadline, QuickTree], Refined]


def over_few_cuts(
    training: Training,
    features: tuple[Feature, ...],
    n_bins: int,
    categories: Categories,
    search: ThresholdSearch,
    solve: Solve,
) -> QuickTree:
    """The tree that a fit without "exact" gives, which one over features with a code for every value starts from."""
    every, _ = training.features(n_bins, "quantile", categories == "groups")
    # Constraints may keep columns out, of which the features here know.
    allowed = {feature.column for feature in features}
    few = tuple(feature for feature in every if feature.column in allowed)
    found = as_quick_tree(search.tree(few, solve))
    return replace(found, root=at_thresholds(training, features, found.root))


@dataclass(frozen=True, eq=False)
class ExactCuts:
    """Finds the best tree over all cuts.

    Attributes
    ----------
    training : Training
    pose : Pose
    objective : Objective
    search : TreeSolver
        For trees of other sizes, which come from the cuts of the best one.
    deadline : Deadline
    quick : QuickTrees or None
        Which makes the best tree better in the time that is left.
    """

    training: Training
    pose: Pose
    objective: Objective
    search: TreeSolver
    deadline: Deadline
    quick: QuickTrees | None = None

    def tree(self, features: tuple[Feature, ...], coarse: Coarse) -> Refined:
        """The best tree over all cuts of these features, no worse than the one over few cuts that `coarse` gives."""
        cuts = CutSearch.of(self.training, self.pose, self.objective, features)
        found = self._moment(cuts)
        if found.tree is None:
            raise InfeasibleError(f"No leaf can have a weight of {self.pose.min_support:g}; lower min_samples_leaf.")
        if found.status in ("optimal", "interrupted") or found.value - found.bound <= self.search.gap * found.value:
            return self._known(self._refined(features, cuts, found), found.bound, found.status, {})
        goes_on = self._proves and not self._in_two
        share = _COARSE_SHARE if goes_on else _BEFORE_BOUND_SHARE if self._bounds else _LAST_SHARE
        other = coarse(self.deadline.share(share), cuts.quick_tree(found))
        solution = other.answer.solution
        floor = max(found.bound, solution.bound if solution.all_cuts else solution.floor or 0.0)
        seconds = {**solution.seconds, "all cuts": found.seconds}
        known = min(found.value, solution.value)
        goes_on = goes_on and not math.isinf(self.deadline.remaining) and solution.status != "interrupted"
        if goes_on and known > floor * (1.0 + ROUNDING):
            again = cuts.multiway(self.deadline.share(_TIME_SHARE), binary=found, known=known)
            seconds["all cuts"] = again.seconds
            floor = max(floor, again.bound)
            found = again if again.value < found.value else replace(found, status=again.status)
        if self._bounds and solution.status != "interrupted":
            floor = max(floor, cuts.multiway_floor(self.deadline.share(_TIME_SHARE), known))
        best = other if solution.value <= found.value else self._refined(features, cuts, found)
        status = "interrupted" if solution.status == "interrupted" else found.status
        if status != "interrupted" and best.answer.solution.value > floor * (1.0 + ROUNDING):
            before = self.deadline.elapsed
            best = self._polished(features, cuts, found, other, best)
            seconds["neighbourhoods"] = seconds.get("neighbourhoods", 0.0) + self.deadline.elapsed - before
        solution = best.answer.solution
        ended = "interrupted" in (status, solution.status) or self.deadline.expired
        if not ended and solution.value > floor * (1.0 + ROUNDING) and not has_more_values_than_codes(self.training):
            before = self.deadline.elapsed
            best, floor, status = self._over_codes(best, floor)
            seconds["search"] = seconds.get("search", 0.0) + self.deadline.elapsed - before
        return self._known(best, floor, "stopped" if status == "optimal" else status, seconds)

    def _over_codes(self, best: Refined, floor: float) -> tuple[Refined, float, Status]:
        """The better of a tree and one over a code for every value, with what no tree undercuts, and how that ended.

        Codes are all cuts there are then, and their search ends with a proof where the one over cuts knew a bound only.
        """
        features, _ = self.training.features(2, "exact", self.pose.categories == "groups", self.deadline)
        try:
            found = Refined(problem := self.pose(self.training, features), self.search(problem, self.deadline), 1)
        except OutOfTimeError:
            return best, floor, "time_limit"
        except KeyboardInterrupt:
            return best, floor, "interrupted"
        solution = found.answer.solution
        better = found if solution.value <= best.answer.solution.value else best
        return better, max(floor, solution.bound), solution.status

    @property
    def _in_two(self) -> bool:
        return self.search.splits == "binary" or self.search.max_children == 2

    @property
    def _proves(self) -> bool:
        """Whether there is a search that ends with a proof."""
        most = self.search.max_children
        return self._in_two or is_for_multiway(self.objective, self.training, self.pose, most)

    @property
    def _bounds(self) -> bool:
        """Whether there is one for a bound alone."""
        most = self.search.max_children
        return not self._proves and is_for_multiway_bounds(self.objective, self.training, self.pose, most)

    def _moment(self, cuts: CutSearch) -> CutSolution:
        """What the first search finds, which may end with a proof; without a limit, it ends when it ends."""
        endless = math.isinf(self.deadline.remaining)
        limit = self.deadline.share(1.0 if endless else _BINARY_SHARE if self._in_two else _MOMENT_SHARE)
        if self._in_two:
            return cuts.binary(limit)
        if not self._proves:
            found = cuts.binary(limit, BRIEF_WORK)
            return found if found.status == "interrupted" else replace(found, bound=0.0, status="stopped")
        if endless:
            return cuts.multiway(limit)
        return cuts.multiway(limit, BRIEF_WORK, binary=cuts.binary(limit, BRIEF_WORK))

    def _refined(self, features: tuple[Feature, ...], cuts: CutSearch, found: CutSolution) -> Refined:
        """The answer of a search, over codes that have its cuts."""
        changed, root = with_cuts(features, cuts.quick_tree(found).root)
        problem = self.pose(self.training, changed)
        solution = Solution(
            (), found.status, found.value, found.bound, seconds={"all cuts": found.seconds}, all_cuts=True
        )
        sizes = partial(self.search.sizes_on_grid, problem, root, found.value, self.deadline)
        return Refined(problem, TreeAnswer(solution, root, problem.max_leaves, sizes, fewest=False), 1)

    def _polished(
        self, features: tuple[Feature, ...], cuts: CutSearch, found: CutSolution, other: Refined, best: Refined
    ) -> Refined:
        """The best tree, or a better one among its neighbours."""
        if self.quick is None or self.deadline.expired:
            return best
        starts = [cuts.quick_tree(found), as_quick_tree(other)]
        starts.sort(key=lambda start: start.value)
        positions = [position for position, feature in enumerate(features) if feature.kind == "numeric"]
        # Where no search is cut off by time, more of it is not what is lacking.
        patience = ENDLESS if found.status == "time_limit" else PATIENCE
        limit = self.deadline.share(_LAST_SHARE)
        tree = self.quick.search(
            self.training, features, positions, limit, starts=starts, patience=patience, floor=starts[0].floor
        )
        if tree is None or tree.value >= best.answer.solution.value:
            return best
        status: Status = "interrupted" if tree.interrupted else "time_limit"
        return Refined(*self.quick.answer(self.training, features, tree, 0.0, status, all_cuts=True), 1)

    def _known(self, best: Refined, floor: float, status: Status, seconds: dict[str, float]) -> Refined:
        """The tree with all that is known of trees over all cuts."""
        value = best.answer.solution.value
        bound = min(floor, value)
        if status != "optimal" and value <= bound * (1.0 + ROUNDING):
            status, bound = "optimal", value
        elif status not in ("optimal", "interrupted") and value - bound <= self.search.gap * value:
            status = "gap_reached"
        if best.answer.solution.status == "interrupted":
            status = "interrupted"
        solution = best.answer.solution
        seconds = seconds or dict(solution.seconds)
        solution = replace(solution, status=status, bound=bound, seconds=seconds, all_cuts=True, floor=None)
        return replace(best, answer=replace(best.answer, solution=solution))
