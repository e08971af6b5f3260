"""Where numbers are cut: quick trees that cut anywhere, rounds of thresholds, and which of them get how much time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from omtree.data.table import Feature
from omtree.deadline import Deadline
from omtree.engines.answers import TreeAnswer
from omtree.engines.trees.neighbourhoods import ENDLESS, PATIENCE
from omtree.engines.trees.splits import Splits
from omtree.fit.greedy_start import greedy_tree
from omtree.fit.known_trees import above_floor, better_of
from omtree.fit.pose import Pose
from omtree.fit.quick_trees import FIRST_WORK, QuickTree, QuickTrees
from omtree.fit.raw_cuts import n_leaves
from omtree.fit.smaller_problems import Smaller, coarser, shallower
from omtree.fit.threshold_rounds import (
    EVERY_ROUND,
    MOST_LEAVES,
    VARIETY,
    Refined,
    RoundLimits,
    Solve,
    ThresholdRounds,
    as_quick_tree,
    interrupted_answer,
    with_cuts_of,
)
from omtree.fit.time_guesses import coding_seconds, greedy_seconds, reading_seconds, search_seconds
from omtree.model.certificate import Status
from omtree.problem.problem import Problem
from omtree.progress import Progress
from omtree.sources.samples import Training

#: Thresholds are found on a sample where there are more cells than this, of at least so many rows.
MAX_CELLS, MIN_SAMPLES = 1_000_000, 50_000
#: Share of the time left that may go into thresholds when a longer solve is still to come.
_TIME_SHARE = 0.4
#: Share of the time left for the first quick tree, for searches that may prove something, and for those that cannot.
_FIRST_SHARE, _PROOF_SHARE, _HOPELESS_SHARE = 0.3, 0.6, 0.15
#: Cells of the sample on which a first tree is sought where all are many times more, of at least so many rows, the
#: share of the time left for it, and its steps.
START_CELLS, LEAST_START_ROWS, _SAMPLE_SHARE, SAMPLE_WORK = 3_000_000, 10_000, 0.2, 2e9
#: Share of the time left for trees of a level less, or over fewer cuts, once a search has not ended.
_SMALLER_SHARE = 0.5
#: Share of the time left for a brief search over all cuts.
_BRIEF_SHARE = 0.15
#: Share of the time left for neighbourhoods when nothing is to come but the model and its check.
_LAST_SHARE = 0.93
#: Random changes without a gain after which the search for the first tree ends.
FIRST_PATIENCE = 4
#: Once the time is up, no quick tree is grown on more cells than this.
LATE_CELLS = 1_000_000
#: How many seconds past the limit a greedy tree may go on: nothing can stop it once it is begun.
GREEDY_GRACE = 0.5

#: A tree that cuts anywhere, and what no tree does better than, if a search for them applies.
Brief = Callable[[Training, Sequence[Feature], Pose, Deadline], QuickTree | None]


@dataclass(frozen=True)
class Prepared:
    """A problem with better thresholds, the round they are from, and the tree they were made for, if one was sought.

    The tree is one for all samples (`on_all`) unless the thresholds were found on a part of them.
    """

    problem: Problem
    rounds: int
    answer: TreeAnswer | None = None
    on_all: bool = False


@dataclass(frozen=True, eq=False)
class _Part:
    """The samples that thresholds are found on, and whether they are all samples."""

    training: Training
    is_all: bool


class ThresholdSearch:
    """Finds thresholds and the best tree over them together.

    Parameters
    ----------
    training : Training
    pose : Pose
    n_bins : int or None
        About how many bins a feature has in every round; None leaves the thresholds as they are.
    deadline : Deadline
    seed : int
        For the sample of a large training set.
    progress : callable, optional
        Told before and after every round.
    quick : QuickTrees, optional
        Where trees by neighbourhoods are wanted: the first one gives cuts to the first round, and the last one is the
        answer where no search ends in time.
    brief : callable, optional
        The search over all cuts for a moment, where it may find the tree that is wanted.
    rounds : RoundLimits, optional
    """

    def __init__(
        self,
        training: Training,
        pose: Pose,
        n_bins: int | None,
        deadline: Deadline,
        seed: int = 0,
        progress: Progress | None = None,
        quick: QuickTrees | None = None,
        brief: Brief | None = None,
        rounds: RoundLimits = EVERY_ROUND,
    ) -> None:
        self._training = training
        self._pose = pose
        self._n_bins = n_bins
        self._deadline = deadline
        self._seed = seed
        self._quick = quick
        self._rounds = ThresholdRounds(n_bins, deadline, progress, quick, rounds)
        self._brief = brief

    def tree(self, features: tuple[Feature, ...], solve: Solve, start: QuickTree | None = None) -> Refined:
        """The best tree, starting from the thresholds of these features.

        Every round is solved on all samples, and none makes the tree worse. In large data the thresholds are found on a
        sample, and then the tree on all samples over those thresholds.

        Parameters
        ----------
        features : tuple of Feature
        solve : callable
            The best tree for a problem, by a deadline.
        start : QuickTree, optional
            A tree over thresholds that stay as they are; the answer is no worse.
        """
        started = self._deadline.elapsed
        coarse = self._rounds.coarse(self._training, features)
        hopeless = self._hopeless(features)
        part = self._part(features, coarse, hopeless)
        first = self._first_tree(part, features, coarse, hopeless)
        if start is not None:
            first = start if first is None else better_of(first, start)
        answers = self._quick is not None and not self._quick.cuts_only
        if first is not None and part.is_all and answers:
            if coarse and not first.interrupted and not first.proven and not self._deadline.expired:
                first = self._anywhere(part, features, first)
            # The trees of other sizes need more cuts than those of a tree that is proven.
            proven = first.proven and (hopeless or n_leaves(first.root) > MOST_LEAVES)
            ended = first.interrupted or proven or self._late(part)
            if ended or (hopeless and not self._ends_in_two(features)):
                return self._quickly(part, features, coarse, first, None, go_on=not ended)
        if first is not None and first.interrupted:
            # The tree of a part of the samples need not have the support in all of them.
            problem = self._pose(self._training, features)
            return Refined(problem, interrupted_answer(self._rounds.run(problem, solve, "all", Deadline(0.0))), 1)
        rounds = 1
        quantiles = features
        if first is not None and coarse:
            # Where thresholds are no longer quantiles, a round is over.
            features, rounds = with_cuts_of(part.training, features, first, self._n_bins), 2
        floor = first.floor if first is not None and part.is_all and (first.floor > 0.0 or first.proven) else None
        before = self._deadline.elapsed - started
        refined = above_floor(self._searched(part, features, solve, hopeless, rounds, floor or 0.0), floor, before)
        looked = self._brief is not None and first is not None
        tried = looked and coarse and part.is_all and answers and not hopeless
        if tried:
            for make in (shallower, coarser):
                if not self._may_be_smaller(refined):
                    break
                known = self._of_smaller(make(self._pose, self._n_bins, quantiles, coarse), _SMALLER_SHARE, solve)
                if known is None:
                    continue
                first = known if first is None else better_of(first, known)
                if known.value < refined.answer.solution.value:
                    cuts = with_cuts_of(part.training, features, known, self._n_bins)
                    again = self._searched(part, cuts, solve, hopeless, rounds, floor or 0.0)
                    if again.answer.solution.value > known.value:
                        go_on = refined.answer.solution.status == "time_limit" and not first.interrupted
                        return self._quickly(part, features, coarse, first, refined, go_on=go_on)
                    features, refined = cuts, above_floor(again, floor, before)
        ended = refined.answer.solution.status in ("optimal", "gap_reached", "interrupted")
        in_memory = part.is_all or type(self._training) is Training
        if not answers or ended or not in_memory or (first is None and self._too_late(part)):
            return refined
        if not part.is_all:
            part = _Part(self._training, is_all=True)
            # What the first tree is worth on all samples is not known yet.
            first = None if first is None else replace(first, value=math.inf, floor=0.0)
        return self._quickly(part, features, coarse, first, refined, go_on=True)

    def better_problem(self, features: tuple[Feature, ...], solve: Solve) -> Prepared:
        """The problem with thresholds for another engine or a longer solve, found in a part of the time left."""
        coarse = self._rounds.coarse(self._training, features)
        if not coarse:
            return Prepared(self._pose(self._training, features), 1)
        part = self._part(features, coarse, hopeless=False)
        first = self._first_tree(part, features, coarse, hopeless=False)
        rounds = 1
        if first is not None:
            features, rounds = with_cuts_of(part.training, features, first, self._n_bins), 2
        if first is None or not first.interrupted:
            return self._prepared(part, features, solve, self._share(_TIME_SHARE), rounds)
        found = self._prepared(part, features, solve, Deadline(0.0), rounds)
        assert found.answer is not None
        return replace(found, answer=interrupted_answer(found.answer))

    def _searched(
        self, part: _Part, features: tuple[Feature, ...], solve: Solve, hopeless: bool, rounds: int, floor: float
    ) -> Refined:
        """The best tree of the searches, in all the time left or, if something is to come, in a part of it."""
        last = self._quick is None or self._quick.cuts_only
        share = 1.0 if last else _HOPELESS_SHARE if hopeless else _PROOF_SHARE
        if part.is_all:
            problem = self._pose(part.training, features)
            return self._rounds.refine(part.training, self._pose, problem, solve, self._share(share), rounds, floor)
        before = self._deadline.elapsed
        found = self._prepared(part, features, solve, self._share(_TIME_SHARE * share), rounds)
        seconds = {"thresholds": self._deadline.elapsed - before}
        interrupted = found.answer is not None and found.answer.solution.status == "interrupted"
        answer = self._rounds.run(found.problem, solve, "all", Deadline(0.0) if interrupted else self._share(share))
        solution = replace(answer.solution, seconds={**seconds, **answer.solution.seconds})
        if interrupted:
            solution = replace(solution, status="interrupted")
        return Refined(found.problem, replace(answer, solution=solution), found.rounds)

    def _prepared(
        self, part: _Part, features: tuple[Feature, ...], solve: Solve, limit: Deadline, rounds: int
    ) -> Prepared:
        # Thresholds are chosen for the loss alone: a tree may miss constraints that the model to come can meet.
        pose = replace(self._pose, relaxed=True)
        refined = self._rounds.refine(part.training, pose, pose(part.training, features), solve, limit, rounds)
        problem = refined.problem
        if not part.is_all or self._pose.constraints:
            problem = self._pose(self._training, problem.table.features)
        return Prepared(problem, refined.rounds, refined.answer, on_all=part.is_all)

    def _part(self, features: tuple[Feature, ...], coarse: Sequence[int], hopeless: bool) -> _Part:
        """The samples that thresholds are found on: all, where those of a search matter little."""
        size = self._sample_size(features)
        if size < len(self._training) and not (hopeless and type(self._training) is Training):
            return _Part(self._training.sample(size, self._seed), is_all=False)
        return _Part(self._training.whole() if coarse else self._training, is_all=True)

    def _share(self, share: float) -> Deadline:
        """A part of the time left."""
        return self._deadline.share(share)

    def _last_limit(self, part: _Part) -> Deadline:
        """What is left but for the time that a large tree takes to be read off its rows and checked."""
        left = self._deadline.remaining
        if math.isinf(left):
            return self._deadline
        leaves = min(self._pose.max_leaves, part.training.total / self._pose.min_support)
        after = reading_seconds(part.training, leaves)
        return self._deadline.at_most(max(_LAST_SHARE * left - after, 0.3 * left))

    def _too_late(self, part: _Part) -> bool:
        """Whether the time is up, and even the quickest tree would take long."""
        return self._deadline.expired and len(part.training) * len(part.training.columns) > LATE_CELLS

    def _late(self, part: _Part) -> bool:
        """Whether the time is up, or would be far over once all columns are cut finely."""
        coding = coding_seconds(part.training)
        return self._deadline.expired or (coding > GREEDY_GRACE and coding > self._deadline.remaining)

    def _hopeless(self, features: Sequence[Feature]) -> bool:
        """Whether a search over these features will hardly end in time."""
        if self._quick is None or self._quick.cuts_only or math.isinf(self._deadline.remaining):
            return False
        return not self._ends(features, self._quick.splits)

    def _ends_in_two(self, features: Sequence[Feature]) -> bool:
        """Whether a search among binary trees will probably end, which is a part of that among others."""
        return self._quick is not None and self._quick.max_children is None and self._ends(features, "binary")

    def _ends(self, features: Sequence[Feature], splits: Splits) -> bool:
        seconds = search_seconds(len(self._training), features, self._pose.max_depth, splits)
        return seconds <= 20.0 * self._deadline.remaining

    def _first_tree(
        self, part: _Part, features: tuple[Feature, ...], coarse: Sequence[int], hopeless: bool
    ) -> QuickTree | None:
        """A quick tree, for its cuts or as the best that will be known soon."""
        if self._quick is None or not (coarse or hopeless) or self._too_late(part):
            return None
        # Trees that test no feature twice cut at more places, which is what wide splits need; an answer may test again.
        once = self._quick.splits == "multiway" and not hopeless
        limit = self._share(_FIRST_SHARE)
        return self._quick.search(
            part.training,
            features,
            coarse,
            limit,
            starts=self._sampled_start(part, features, coarse) if hopeless else (),
            once=once,
            work=FIRST_WORK,
            variety=VARIETY if self._pose.max_depth <= 4 and not self._quick.cuts_only else 0,
            patience=FIRST_PATIENCE,
        )

    def _sampled_start(self, part: _Part, features: tuple[Feature, ...], coarse: Sequence[int]) -> list[QuickTree]:
        """A good tree of a sample, where there are so many cells that little is tried on all of them.

        What it is worth on all samples is not known yet.
        """
        assert self._quick is not None
        size = max(LEAST_START_ROWS, START_CELLS // len(features))
        after = (1.0 - _SAMPLE_SHARE) * self._deadline.remaining
        if 2 * size > len(part.training) or coding_seconds(part.training) > after:
            return []
        sample = part.training.sample(size, self._seed)
        tree = self._quick.search(
            sample, features, coarse, self._share(_SAMPLE_SHARE), work=SAMPLE_WORK, patience=PATIENCE, floor=0.0
        )
        return [] if tree is None else [replace(tree, value=math.inf)]

    def _anywhere(self, part: _Part, features: tuple[Feature, ...], first: QuickTree) -> QuickTree:
        """The better of the first tree and one of a brief search over all cuts, with what that search has proven."""
        found = (
            None if self._brief is None else self._brief(part.training, features, self._pose, self._share(_BRIEF_SHARE))
        )
        return first if found is None else better_of(first, found)

    def _may_be_smaller(self, refined: Refined) -> bool:
        """Whether a tree of a level less, or over fewer cuts, may be better, which chose its cuts by itself."""
        found = refined.answer.solution
        proven = found.status == "optimal" and (found.all_cuts or found.value <= (found.floor or 0.0))
        return self._pose.max_depth > 2 and not proven and found.status != "interrupted" and not self._deadline.expired

    def _of_smaller(self, smaller: Smaller | None, share: float, solve: Solve) -> QuickTree | None:
        """The tree of a smaller problem, which a fit starts from so that it is no worse.

        What is proven there does not hold here.
        """
        if smaller is None:
            return None
        assert self._quick is not None
        quick = replace(self._quick, pose=smaller.pose)
        given = (self._seed, None, quick, self._brief, self._rounds.limits)
        search = ThresholdSearch(self._training, smaller.pose, smaller.n_bins, self._share(share), *given)
        found = search.tree(smaller.features, solve)
        return replace(as_quick_tree(found), interrupted=found.answer.solution.status == "interrupted")

    def _quickly(
        self,
        part: _Part,
        features: tuple[Feature, ...],
        coarse: Sequence[int],
        first: QuickTree | None,
        refined: Refined | None,
        *,
        go_on: bool,
    ) -> Refined:
        """The best tree by neighbourhoods in the time left, unless that of a search is as good.

        Without `go_on` it is the first one, as it is.
        """
        assert self._quick is not None
        before = self._deadline.elapsed
        starts = [] if first is None else [first]
        bound, tree = 0.0, first
        if refined is not None:
            starts.append(as_quick_tree(refined, 0.0 if first is None else first.floor))
            # Over fixed cuts the bound of the search holds for all of them.
            bound = 0.0 if coarse else refined.answer.solution.bound
        if go_on:
            in_time = greedy_seconds(part.training, self._pose.max_depth) <= self._deadline.remaining + GREEDY_GRACE
            greedy = greedy_tree(part.training, features, self._pose, coarse) if coarse and in_time else None
            if greedy is not None:
                starts.append(QuickTree(greedy, math.inf, starts[0].floor))
            patience = PATIENCE if math.isinf(self._deadline.remaining) else ENDLESS
            limit = self._last_limit(part)
            known = min((start.value for start in starts), default=math.inf)
            self._rounds.tell("search parts", known, bound)
            tree = self._quick.search(
                part.training, features, coarse, limit, starts=starts, patience=patience, floor=starts[0].floor
            )
            self._rounds.tell("solved parts", math.inf if tree is None else tree.value, bound)
        if refined is not None and (tree is None or tree.value >= refined.answer.solution.value):
            return refined
        assert tree is not None
        status: Status = "interrupted" if tree.interrupted else "time_limit"
        problem, answer = self._quick.answer(part.training, features, tree, bound, status, all_cuts=bool(coarse))
        seconds = {} if refined is None else refined.answer.solution.seconds
        seconds = {**seconds, "neighbourhoods": self._deadline.elapsed - before}
        return Refined(problem, replace(answer, solution=replace(answer.solution, seconds=seconds)), 1)

    def _sample_size(self, features: tuple[Feature, ...]) -> int:
        """How many samples to find thresholds on."""
        size = max(MIN_SAMPLES, MAX_CELLS // max(1, len(features)))
        if len(self._training) <= size or not self._rounds.coarse(self._training, features):
            return len(self._training)
        return size
