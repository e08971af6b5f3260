"""Thresholds made for the model: solve on coarse bins, cut finer where the best tree cuts, solve again.

Every round keeps the thresholds of the best tree so far, so that this tree stays among those the next round chooses
from, and spends the other cuts on two kinds of candidates: thresholds between the chosen ones and their neighbours,
and for every node of the tree those that would split its rows best. All of them are found from the weight of each
class at each value, so a row of weight 2 counts as two rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.binning import Binning, quantile_thresholds, refine_thresholds
from omtree.data.table import MAX_CODES, CodeArray, Feature, FloatArray
from omtree.deadline import Deadline
from omtree.posing import Pose
from omtree.problem import Node, Problem
from omtree.progress import Event, Progress
from omtree.solving import TreeAnswer
from omtree.training import Training

#: Most solves, the first one on coarse bins included.
MAX_ROUNDS = 5
#: With more samples than this, the thresholds are found on as many of them.
MAX_SAMPLES = 200_000
#: Share of the time left that may go into thresholds when a longer solve is still to come.
_TIME_SHARE = 0.25
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


class ThresholdSearch:
    """Finds thresholds and the best tree over them together.

    Parameters
    ----------
    training : Training
    pose : Pose
    n_bins : int or None
        About how many bins a feature has in every round; None leaves the thresholds as they are.
    seed : int
        For the sample of a large training set.
    progress : callable, optional
        Told before and after every round.
    """

    def __init__(
        self, training: Training, pose: Pose, n_bins: int | None, seed: int = 0, progress: Progress | None = None
    ) -> None:
        self._training = training
        self._pose = pose
        self._n_bins = n_bins
        self._seed = seed
        self._progress = progress

    def tree(self, problem: Problem, solve: Solve, deadline: Deadline) -> Refined:
        """The best tree, starting from the thresholds of a problem.

        Small training sets are solved on all samples in every round, and no round makes the tree worse. For a large one
        the thresholds are found on a sample, and the tree on all samples over those thresholds.

        Parameters
        ----------
        problem : Problem
        solve : callable
            The best tree for a problem, by a deadline.
        deadline : Deadline
            A round after the first begins only if it will probably end in time.
        """
        if len(self._training) <= MAX_SAMPLES or not self._coarse(problem):
            return self._refine(self._training, problem, solve, deadline, deadline)
        before = deadline.elapsed
        better, rounds = self.problem(problem, solve, deadline)
        spent = deadline.elapsed - before
        answer = self._run(better, solve, rounds + 1, deadline, deadline)
        seconds = {"thresholds": spent, **answer.solution.seconds}
        return Refined(better, replace(answer, solution=replace(answer.solution, seconds=seconds)), rounds)

    def problem(self, problem: Problem, solve: Solve, deadline: Deadline) -> tuple[Problem, int]:
        """The problem with better thresholds for another engine, found in a part of the time, and their round."""
        if not self._coarse(problem):
            return problem, 1
        limit = Deadline(None if math.isinf(deadline.remaining) else _TIME_SHARE * deadline.remaining)
        features = problem.table.features
        # Constraints over the whole model are not for the tree search; thresholds are good for the loss alone.
        pose = replace(self._pose, constraints=())
        if len(self._training) > MAX_SAMPLES:
            training = self._training.sample(MAX_SAMPLES, self._seed)
            start = pose(training, features)
        else:
            training, start = self._training, replace(problem, rows=())
        finder = ThresholdSearch(training, pose, self._n_bins, self._seed, self._progress)
        refined = finder._refine(training, start, solve, limit, deadline)
        if refined.answer.solution.status == "interrupted":
            raise KeyboardInterrupt
        if refined.rounds == 1:
            return problem, 1
        return self._pose(self._training, refined.problem.table.features), refined.rounds

    def _coarse(self, problem: Problem) -> list[int]:
        """Positions of the numeric features that have more distinct values than bins."""
        if self._n_bins is None:
            return []
        columns, given = self._training.columns, self._training.row_weight
        weights = np.empty(0) if given is None else given
        return [
            position
            for position, feature in enumerate(problem.table.features)
            if feature.kind == "numeric"
            and len(_native.few_distinct(columns[feature.column].values, weights, self._n_bins)) > self._n_bins
        ]

    def _run(self, problem: Problem, solve: Solve, number: int, limit: Deadline, clock: Deadline) -> TreeAnswer:
        if self._progress is not None:
            self._progress(Event(f"search {number}", clock.elapsed))
        answer = solve(problem, limit)
        if self._progress is not None:
            found = answer.solution
            self._progress(Event(f"solved {number}", clock.elapsed, found.value, found.bound))
        return answer

    def _refine(self, training: Training, problem: Problem, solve: Solve, limit: Deadline, clock: Deadline) -> Refined:
        """Solve, refine the thresholds around those of the best tree, and solve again while that gives a better one."""
        start = limit.elapsed
        answer = self._run(problem, solve, 1, limit, clock)
        best = Refined(problem, answer, 1)
        last = searched = limit.elapsed - start
        coarse = self._coarse(problem)
        scales: list[_Scale] = []
        for number in range(2, MAX_ROUNDS + 1 if coarse else 2):
            found = best.answer.solution
            if found.status != "optimal" or found.value <= 0.0 or 1.5 * last > limit.remaining:
                break
            scales = scales or [_Scale.of(training, problem.table.features[f], f) for f in coarse]
            features = _finer(training, best, scales, self._n_bins)
            if features is None:
                break
            problem = self._pose(training, features)
            before = limit.elapsed
            answer = self._run(problem, solve, number, limit, clock)
            last = limit.elapsed - before
            searched += last
            if answer.solution.value < found.value:
                best = Refined(problem, answer, number)
                continue
            if answer.solution.status == "interrupted":
                found = replace(found, status="interrupted")
                best = replace(best, answer=replace(best.answer, solution=found))
            break
        if not coarse:
            return best
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
    root = best.answer.roots[-1]
    features = list(best.problem.table.features)
    used = _used_thresholds(root, features)
    nodes = list(_splittable(root, best.problem, training))
    changed = False
    for scale in scales:
        feature = features[scale.position]
        current = feature.thresholds
        assert current is not None
        chosen = used.get(scale.position, set())
        room = MAX_CODES - 1 - feature.has_missing
        thresholds = sorted(chosen)
        around: list[float] = []
        if chosen:
            per_side = max(1, (n_bins - 1 - len(chosen)) // (2 * len(chosen)))
            around = refine_thresholds(scale.values, training.row_weight, current, chosen, per_side).tolist()
        local = _node_cuts(scale, nodes, training, best.problem)
        most = max(n_bins - 1, len(around) + 2)
        wanted = [*around, *local[: 2 if chosen else (n_bins - 1 + 1) // 2]]
        taken = dict.fromkeys(thresholds)
        for cut in wanted:
            if len(taken) < min(most, room):
                taken[cut] = None
        rest = min(most, room) - len(taken)
        if rest > 0:
            for cut in quantile_thresholds(scale.values, training.row_weight, rest + 1).tolist():
                if len(taken) < min(most, room):
                    taken[cut] = None
        new = np.array(sorted(taken))
        changed |= not set(taken) <= set(current.tolist())
        features[scale.position] = replace(feature, thresholds=new, n_values=len(new) + 1)
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
    """The thresholds that split some node best, by information and by loss in turns, the largest gain first."""
    n_classes = len(training.classes)
    by_information: list[tuple[float, float]] = []
    by_loss: list[tuple[float, float]] = []
    size = (len(scale.thresholds) + 2) * n_classes
    for rows in nodes:
        cell = scale.codes[rows] * np.int64(n_classes) + training.labels[rows]
        mass = np.bincount(cell, weights=training.weight[rows], minlength=size).reshape(-1, n_classes)[:-1]
        below = np.cumsum(mass, axis=0)
        total = below[-1]
        below = below[:-1]
        above = total - below
        least = problem.min_support
        allowed = np.flatnonzero((below.sum(axis=1) >= least) & (above.sum(axis=1) >= least))
        if len(allowed) == 0:
            continue
        below, above = below[allowed], above[allowed]
        for found, measure in ((by_information, _information), (by_loss, lambda m: (m @ problem.costs).min(axis=-1))):
            gain = measure(total) - measure(below) - measure(above)
            place = int(gain.argmax())
            if gain[place] > 1e-9 * total.sum():
                found.append((float(gain[place]), float(scale.thresholds[allowed[place]])))
    ranked = [[cut for _, cut in sorted(found, key=lambda g: (-g[0], g[1]))] for found in (by_information, by_loss)]
    cuts: list[float] = []
    for i in range(max(map(len, ranked))):
        cuts += [cuts_[i] for cuts_ in ranked if i < len(cuts_)]
    return list(dict.fromkeys(cuts))


def _information(mass: FloatArray) -> FloatArray:
    """Entropy of the classes times the weight, in nats."""
    total = mass.sum(axis=-1, keepdims=True)
    share = np.divide(mass, total, out=np.ones_like(mass), where=mass > 0)
    return np.asarray(-(mass * np.log(share)).sum(axis=-1))
