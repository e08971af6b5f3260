"""Thresholds made for the model: solve on coarse bins, cut finer where the best tree cuts, solve again.

Every round keeps the thresholds of the best tree so far, so that this tree stays among those the next round chooses
from, and spends the other cuts on two kinds of candidates: thresholds between the chosen ones and their neighbours,
and for every node of the tree those that would split its rows best. All of them are found from the weight of each
class at each value, so a row of weight 2 counts as two rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.binning import Binning, Impurity, entropy, quantile_thresholds, refine_thresholds, squared_error
from omtree.data.table import MAX_CODES, CodeArray, Feature, FloatArray
from omtree.deadline import Deadline
from omtree.engines.answers import TreeAnswer
from omtree.fit.pose import Pose
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Node, Problem
from omtree.progress import Event, Progress
from omtree.sources.samples import Training

#: Most solves, the first one on coarse bins included.
MAX_ROUNDS = 5
#: Thresholds are found on a sample where there are more cells than this, of at least so many rows.
MAX_CELLS, MIN_SAMPLES = 1_000_000, 50_000
#: Share of the time left that may go into thresholds when a longer solve is still to come.
_TIME_SHARE = 0.4
#: The share of the loss that a round must have saved for another one to follow.
_LEAST_GAIN = 0.005
#: The bins on which the rows of a node are looked at.
_FINE_BINS = 240

Solve = Callable[[Problem, Deadline], TreeAnswer]


@dataclass(frozen=True)
class Refined:
    """The best tree and the thresholds it was chosen from.

    Attributes
    ----------
    problem : Problem
        With the thresholds of the last round that found a better tree.
    answer : TreeAnswer
    rounds : int
        Number of that round; the first is the one on coarse bins.
    """

    problem: Problem
    answer: TreeAnswer
    rounds: int


@dataclass(frozen=True)
class Prepared:
    """A problem with better thresholds, the round they are from, and the tree they were made for, if one was sought.

    The tree is one for all samples (`on_all`) unless the thresholds were found on a part of them.
    """

    problem: Problem
    rounds: int
    answer: TreeAnswer | None = None
    on_all: bool = False


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
    """

    def __init__(
        self,
        training: Training,
        pose: Pose,
        n_bins: int | None,
        deadline: Deadline,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self._training = training
        self._pose = pose
        self._n_bins = n_bins
        self._deadline = deadline
        self._seed = seed
        self._progress = progress

    def tree(self, features: tuple[Feature, ...], solve: Solve) -> Refined:
        """The best tree, starting from the thresholds of these features.

        Every round is solved on all samples, and none makes the tree worse. In large data the thresholds are found on a
        sample, and then the tree on all samples over those thresholds.

        Parameters
        ----------
        features : tuple of Feature
        solve : callable
            The best tree for a problem, by a deadline.
        """
        if self._sample_size(features) == len(self._training):
            training = self._training.whole() if self._coarse(self._training, features) else self._training
            problem = self._pose(training, features)
            return self._refine(training, self._pose, problem, solve, self._deadline)
        before = self._deadline.elapsed
        found = self.better_problem(features, solve)
        seconds = {"thresholds": self._deadline.elapsed - before}
        interrupted = found.answer is not None and found.answer.solution.status == "interrupted"
        answer = self._run(found.problem, solve, "all", Deadline(0.0) if interrupted else self._deadline)
        solution = replace(answer.solution, seconds={**seconds, **answer.solution.seconds})
        if interrupted:
            solution = replace(solution, status="interrupted")
        return Refined(found.problem, replace(answer, solution=solution), found.rounds)

    def better_problem(self, features: tuple[Feature, ...], solve: Solve) -> Prepared:
        """The problem with thresholds for another engine or a longer solve, found in a part of the time left."""
        training = self._training
        if not self._coarse(training, features):
            return Prepared(self._pose(training, features), 1)
        limit = Deadline(None if math.isinf(self._deadline.remaining) else _TIME_SHARE * self._deadline.remaining)
        # Thresholds are chosen for the loss alone: a tree may miss constraints that the model to come can meet.
        pose = replace(self._pose, relaxed=True)
        size = self._sample_size(features)
        part = training if size == len(training) else training.sample(size, self._seed)
        refined = self._refine(part, pose, pose(part, features), solve, limit)
        problem = refined.problem
        if part is not training or self._pose.constraints:
            problem = self._pose(training, problem.table.features)
        return Prepared(problem, refined.rounds, refined.answer, on_all=part is training)

    def _sample_size(self, features: tuple[Feature, ...]) -> int:
        """How many samples to find thresholds on."""
        size = max(MIN_SAMPLES, MAX_CELLS // max(1, len(features)))
        if len(self._training) <= size or not self._coarse(self._training, features):
            return len(self._training)
        return size

    def _coarse(self, training: Training, features: Sequence[Feature]) -> list[int]:
        """Positions of the numeric features that have more distinct values than bins."""
        if self._n_bins is None:
            return []
        return [
            position
            for position, feature in enumerate(features)
            if feature.kind == "numeric" and training.many_valued(feature, self._n_bins)
        ]

    def _run(self, problem: Problem, solve: Solve, name: str, limit: Deadline) -> TreeAnswer:
        if self._progress is not None:
            self._progress(Event(f"search {name}", self._deadline.elapsed))
        answer = solve(problem, limit)
        if self._progress is not None:
            found = answer.solution
            self._progress(Event(f"solved {name}", self._deadline.elapsed, found.value, found.bound))
        return answer

    def _refine(self, training: Training, pose: Pose, problem: Problem, solve: Solve, limit: Deadline) -> Refined:
        """Solve, and solve again with finer thresholds as long as that is worth it.

        A round after the first begins only if it will probably end in time.
        """
        coarse = self._coarse(training, problem.table.features)
        start = limit.elapsed
        best = Refined(problem, self._run(problem, solve, "1", limit), 1)
        if self._n_bins is None or not coarse:
            return best
        last = searched = limit.elapsed - start
        gain = math.inf
        scales: list[_Scale] = []
        while best.rounds < MAX_ROUNDS:
            found = best.answer.solution
            if found.status != "optimal" or gain <= _LEAST_GAIN * found.value or 1.5 * last > limit.remaining:
                break
            scales = scales or [_Scale.of(training, problem.table.features[f], f) for f in coarse]
            features = _finer(training, best, scales, self._n_bins)
            if features is None:
                break
            problem = pose(training, features)
            before = limit.elapsed
            answer = self._run(problem, solve, f"{best.rounds + 1}", limit)
            last = limit.elapsed - before
            searched += last
            gain = found.value - answer.solution.value
            if gain > 0.0:
                best = Refined(problem, answer, best.rounds + 1)
                continue
            if answer.solution.status == "interrupted":
                best = replace(best, answer=replace(best.answer, solution=replace(found, status="interrupted")))
            break
        seconds = {"thresholds": limit.elapsed - start - searched, "search": searched}
        return replace(best, answer=replace(best.answer, solution=replace(best.answer.solution, seconds=seconds)))


def cuts_in_words(
    binning: Binning | Literal["adaptive"], n_bins: int, features: Sequence[Feature], rounds: int = 1
) -> str:
    """Where numbers are cut.

    >>> cuts_in_words("quantile", 8, [])
    'into at most 8 quantile bins'
    """
    if binning == "exact":
        return "between any two values"
    if binning == "supervised":
        return f"into at most {n_bins} bins where the label changes"
    if rounds == 1:
        return f"into at most {n_bins} quantile bins"
    counts = [len(feature.thresholds) for feature in features if feature.thresholds is not None]
    span = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return f"at the {span} thresholds per column of refinement round {rounds}"


@dataclass(frozen=True, eq=False)
class _Scale:
    """A column cut into many bins, on which the rows of a node are looked at."""

    position: int
    values: FloatArray
    thresholds: FloatArray
    codes: CodeArray

    @classmethod
    def of(cls, training: Training, feature: Feature, position: int) -> _Scale:
        column = training.columns[feature.column]
        thresholds = quantile_thresholds(column.values, training.row_weight, _FINE_BINS)
        codes = np.empty(len(training), dtype=np.uint8)
        _native.bin_codes(column.values, thresholds, len(thresholds) + 1, codes)
        return cls(position, column.values, thresholds, codes)


def _finer(training: Training, best: Refined, scales: Sequence[_Scale], n_bins: int) -> tuple[Feature, ...] | None:
    """The features with new thresholds; None when there are none."""
    root = best.answer.root
    assert root is not None
    features = list(best.problem.table.features)
    used = _used_thresholds(root, features)
    nodes = list(_splittable(root, best.problem, training))
    changed = False
    for scale in scales:
        feature = features[scale.position]
        current = feature.thresholds
        assert current is not None
        chosen = sorted(used.get(scale.position, ()))
        local = _node_cuts(scale, nodes, training, best.problem)
        if chosen:
            per_side = max(1, (n_bins - 1 - len(chosen)) // (2 * len(chosen)))
            around = refine_thresholds(scale.values, training.row_weight, current, chosen, per_side).tolist()
            limit = max(n_bins - 1, len(around) + 2)
            wanted = [*chosen, *around, *local[:2]]
        else:
            # A column that the best tree does without gets half the bins, and every round is faster for it.
            limit = n_bins // 2
            wanted = local
        limit = min(limit, MAX_CODES - 1 - feature.has_missing)
        cuts = set(list(dict.fromkeys(wanted))[:limit])
        if len(cuts) < limit:
            cuts.update(quantile_thresholds(scale.values, training.row_weight, limit - len(cuts) + 1).tolist())
        changed |= not cuts.issubset(current.tolist())
        thresholds = np.array(sorted(cuts))
        features[scale.position] = replace(feature, thresholds=thresholds, n_values=len(thresholds) + 1)
    return tuple(features) if changed else None


def _used_thresholds(root: Node, features: Sequence[Feature]) -> dict[int, set[float]]:
    """The thresholds at which a tree cuts, by feature."""
    used: dict[int, set[float]] = {}
    nodes = [root]
    while nodes:
        for condition, child in nodes.pop().branches:
            nodes.append(child)
            feature = features[condition.feature]
            codes = [code for code in condition.codes if code < feature.n_values]
            if feature.thresholds is not None and codes:
                edges = {min(codes) - 1, max(codes)} & set(range(len(feature.thresholds)))
                used.setdefault(condition.feature, set()).update(feature.thresholds[list(edges)].tolist())
    return used


def _splittable(root: Node, problem: Problem, training: Training) -> Iterator[npt.NDArray[np.intp]]:
    """The samples of every node that may have children."""
    table = problem.table
    weight = table.weight
    open_nodes = [(root, np.ones(table.n_rows, dtype=bool), 0)]
    while open_nodes:
        node, inside, depth = open_nodes.pop()
        if depth == problem.max_depth or weight[inside].sum() < 2 * problem.min_support:
            continue
        # The last entry stands for samples of weight zero, whose row is -1.
        yield np.flatnonzero(np.append(inside, False)[table.row_of])
        for condition, child in node.branches:
            allowed = np.zeros(256, dtype=bool)
            allowed[list(condition.codes)] = True
            open_nodes.append((child, inside & allowed[table.codes[condition.feature]], depth + 1))


def _node_cuts(
    scale: _Scale, nodes: Sequence[npt.NDArray[np.intp]], training: Training, problem: Problem
) -> list[float]:
    """The thresholds that split a node best, by information and by loss in turns, the largest gain first."""

    n_bins = len(scale.thresholds) + 1
    measures = _measures(training, problem)
    gains: list[list[tuple[float, float]]] = [[] for _ in measures]
    for rows in nodes:
        # The last bin is that of missing cells.
        sums = _by_bin(training, scale.codes[rows], rows, n_bins + 1)[:-1]
        below = np.concatenate([np.zeros((1, sums.shape[1])), np.cumsum(sums, axis=0)])
        for measure, found in zip(measures, gains, strict=True):
            found += [
                (-gain, float(scale.thresholds[place - 1]))
                for place, gain in _best_cuts(below, measure, problem.min_support)
            ]
    ranked = ([cut for _, cut in sorted(found)] for found in gains)
    in_turns = (cut for pair in itertools.zip_longest(*ranked) for cut in pair if cut is not None)
    return list(dict.fromkeys(in_turns))


def _by_bin(training: Training, codes: CodeArray, rows: npt.NDArray[np.intp], n_bins: int) -> FloatArray:
    """What the samples in each bin add up to: their weight, then what `_measures` look at."""
    target, weight = training.target, training.weight[rows]
    if target.is_number:
        y = target.values[rows] - target.values.mean()
        moments = (weight, weight, weight * y, weight * y**2)
        return np.stack([np.bincount(codes, weights=moment, minlength=n_bins) for moment in moments], axis=1)
    n_classes = len(target.classes)
    cell = codes * np.int64(n_classes) + target.labels[rows]
    mass = np.bincount(cell, weights=weight, minlength=n_bins * n_classes)
    mass = mass.reshape(n_bins, n_classes).astype(np.float64)
    return np.concatenate([mass.sum(axis=1, keepdims=True), mass], axis=1)


def _measures(training: Training, problem: Problem) -> tuple[Impurity, ...]:
    """By what cuts are compared: impurity, and the loss itself where the weights of the classes decide it."""
    if training.target.is_number:
        return (squared_error,)
    if not isinstance(problem.loss, LinearLoss) or problem.class_of_stratum is not None:
        return (entropy,)
    costs = problem.costs
    return entropy, lambda mass: np.asarray((mass @ costs).min(axis=-1))


def _best_cuts(below: FloatArray, measure: Impurity, min_support: float) -> Iterator[tuple[int, float]]:
    """The best cut of a run of bins, and that of each part: an interval in the middle needs two cuts to show."""
    first, gain = _best_cut(below, measure, min_support)
    if first:
        yield first, gain
        for low, high in ((0, first), (first, len(below) - 1)):
            cut, gain = _best_cut(below[low : high + 1], measure, min_support)
            if cut:
                yield low + cut, gain


def _best_cut(below: FloatArray, measure: Impurity, min_support: float) -> tuple[int, float]:
    """After how many bins to cut a run of them, and what that gains; 0 where no cut is allowed or gains anything.

    ``below[i] - below[0]`` is what the first ``i`` bins add up to, their weight first.
    """
    left, right, whole = below[1:-1] - below[0], below[-1] - below[1:-1], below[-1] - below[0]
    allowed = np.flatnonzero(np.minimum(left[:, 0], right[:, 0]) >= min_support)
    if len(allowed) == 0:
        return 0, 0.0
    before = float(measure(whole[1:]))
    gain = before - measure(left[allowed, 1:]) - measure(right[allowed, 1:])
    best = int(gain.argmax())
    return (int(allowed[best]) + 1, float(gain[best])) if gain[best] > 1e-9 * before else (0, 0.0)
