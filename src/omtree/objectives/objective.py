"""What an objective tells the engines."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray, Table, weighted_sum
from omtree.problem.losses import LinearLoss, Loss

if TYPE_CHECKING:
    from omtree.sources.leaf_columns import LeafColumns
    from omtree.sources.lifetimes import Lifetimes
    from omtree.sources.target import Target

Task = Literal["classification", "regression", "survival"]

IntArray = npt.NDArray[np.intp]
_NOTHING: FloatArray = np.empty(0)


@dataclass(frozen=True, eq=False)
class RuleStatistics:
    """What an objective sees of a rule's training rows.

    Attributes
    ----------
    class_weights : array of float
        Sample weight of each class; empty where the target is a number.
    classes : sequence
        The classes, in the same order.
    targets, weights : arrays of float
        The target and the weight of every sample, where the target is a number; empty otherwise.
    charges : array of float
        What all rows of the rule cost under each answer, where costs are given by row; empty otherwise.
    lifetimes : Lifetimes or None
        Times to an event, where the target is that.
    outputs, output_weights : arrays of float or None
        Where there are several numbers at once, these of every sample, and what each of them counts.
    regressors, leaf_columns : array of float or None, LeafColumns or None
        Where leaves answer by lines, the columns that these may go along.
    """

    class_weights: FloatArray = field(default_factory=lambda: _NOTHING)
    classes: Sequence[Any] = ()
    targets: FloatArray = field(default_factory=lambda: _NOTHING)
    weights: FloatArray = field(default_factory=lambda: _NOTHING)
    charges: FloatArray = field(default_factory=lambda: _NOTHING)
    lifetimes: Lifetimes | None = None
    outputs: FloatArray | None = None
    output_weights: FloatArray | None = None
    regressors: FloatArray | None = None
    leaf_columns: LeafColumns | None = None

    @classmethod
    def of_samples(cls, target: Target, weight: FloatArray, samples: Any) -> RuleStatistics:
        """Of some samples, positions or a mask, whose target is a number or a time to an event."""
        lifetimes = None if target.lifetimes is None else target.lifetimes.take(samples)
        found = cls(targets=target.values[samples], weights=weight[samples], lifetimes=lifetimes)
        if target.outputs is not None:
            found = replace(found, outputs=target.outputs[samples], output_weights=target.output_weights)
        if target.regressors is not None:
            found = replace(found, regressors=target.regressors[samples], leaf_columns=target.leaf_columns)
        return found

    @property
    def weight(self) -> float:
        """Sample weight of the rule."""
        return float(self.class_weights.sum() + self.weights.sum())

    @property
    def mean(self) -> float:
        """Weighted mean of the targets."""
        return float(self.targets[0] + self.deviations[1])

    @cached_property
    def deviations(self) -> tuple[FloatArray, float]:
        """The targets from the first of them, and the weighted mean of that; far from zero it keeps their digits."""
        from_first = self.targets - self.targets[0]
        return from_first, weighted_sum(self.weights, from_first) / float(self.weights.sum())


class Objective:
    """A loss that adds up over rules. Subclass it and define `loss`; the rest has defaults.

    The loss of a rule is the least over what the rule could predict, so a model's loss is the sum over its rules.

    Attributes
    ----------
    unit : str
        What the loss is, for people; in the plural where `counted`.
    counted : bool
        Whether the loss counts something, as errors do.
    tasks : tuple of {"classification", "regression"}
        What it is made for.
    refines : bool
        Whether a rule never costs less than two rules that share its rows. So it is for every least sum of losses of
        the rows, and then the engines can bound what they have not looked at; without it they look at everything.
    exact_sums : bool
        Whether the sums of targets that are whole numbers apart are whole, hence the same in any order of the rows.

    Examples
    --------
    Rules should be pure, and impure ones cost their whole weight:

    >>> class Impure(Objective):
    ...     unit, tasks, refines = "rows in impure rules", ("classification",), True
    ...     def loss(self, rule):
    ...         return 0.0 if rule.class_weights.max() > 0.9 * rule.weight else rule.weight
    >>> from omtree import OptimalTreeClassifier
    >>> model = OptimalTreeClassifier(max_depth=1, objective=Impure(), binning="exact")
    >>> model.fit([[1], [1], [2], [3]], ["a", "b", "b", "b"]).certificate_.value
    2.0
    """

    unit: str = "loss"
    counted: bool = False
    tasks: tuple[Task, ...] = ("classification", "regression")
    refines: bool = False
    exact_sums: bool = False

    def loss(self, rule: RuleStatistics) -> float:
        """What a rule with these rows costs."""
        raise NotImplementedError(f"{type(self).__name__} does not define loss(rule); an objective needs it.")

    def predict(self, rule: RuleStatistics) -> Any:
        """What the rule predicts: the position of a class, or a number."""
        return rule.mean if len(rule.class_weights) == 0 else int(rule.class_weights.argmax())

    def of_rules(
        self, target: Target, weights: FloatArray, order: IntArray, starts: IntArray
    ) -> list[tuple[float, Any]]:
        """Loss and prediction of many rules, where the target is a number.

        Parameters
        ----------
        target : Target
        weights : array of float
            Of the samples.
        order : array of int
            Positions of the samples, those of a rule side by side.
        starts : array of int, shape (n_rules + 1,)
            Where those of each rule begin in `order`, and the end of the last one; what is before the first is of none.
        """
        parts = [order[first:end] for first, end in itertools.pairwise(starts.tolist())]
        rules = [RuleStatistics.of_samples(target, weights, inside) for inside in parts]
        return [(float(self.loss(rule)), self.predict(rule)) for rule in rules]

    def check(self, target: Target) -> None:
        """Complain about a target that the objective is not made for, in one sentence."""

    def charges(self, labels: IntArray, class_weights: FloatArray) -> FloatArray:
        """What a new row of each class costs under each rule, by which sizes are compared on rows held out.

        Parameters
        ----------
        labels : array of int, shape (n_rules,)
            What the rules predict.
        class_weights : array of float, shape (n_rules, n_classes)
            Weight of the classes among the rows that the rules were fitted to.

        Returns
        -------
        array of float, shape (n_rules, n_classes)
            By default one for every class but the predicted one.
        """
        return np.asarray(1.0 - np.eye(class_weights.shape[1])[labels])

    def distances(self, targets: FloatArray, predicted: FloatArray) -> FloatArray:
        """What new rows with these numbers cost where others are predicted; by default the squares of the errors."""
        return np.asarray((targets - predicted) ** 2)

    def row_losses(self, target: Target, predicted: FloatArray) -> FloatArray:
        """What new rows cost where these numbers are predicted."""
        return self.distances(target.values, predicted)

    def sums(self, target: Target, weights: FloatArray) -> FloatArray | None:
        """What adds up over the samples of a target that is no class; by default `statistics` of its numbers."""
        return self.statistics(target.values, weights)

    def statistics(self, targets: FloatArray, weights: FloatArray) -> FloatArray | None:
        """What adds up over samples with numeric targets and suffices for the kernel's loss, a row per sample.

        None means that it is not used.
        """
        return None

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss | None:
        """The same loss in the terms of the kernel; None means that `loss` itself is called."""
        return None

    def of_counts(self, totals: FloatArray) -> Loss | None:
        """The same where the weights of the classes decide what a rule costs, given those of all rows; None elsewhere.

        Rows that are counted where they are, on disk or on a cluster, are for objectives that have it.
        """
        return None


class LabelCosts(Objective):
    """Objectives that charge every row by its class and by what its rule predicts."""

    tasks = ("classification",)
    refines = True

    def matrix(self, totals: FloatArray) -> FloatArray:
        """Costs ``[true, predicted]`` per unit of sample weight, given the weight of each class; zero or more."""
        raise NotImplementedError

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss | None:
        """Costs by class."""
        return self.of_counts(class_totals(target, weight))

    def of_counts(self, totals: FloatArray) -> Loss | None:
        """Costs by class."""
        return LinearLoss(self.matrix(totals))


class Score(Objective):
    """Scores of the whole model, from 0 to 1, such as F1; ``1 - score`` is minimised.

    They do not add up over rules, so `loss` is not defined; a rule may predict any class, not only its usual one.
    """

    tasks = ("classification",)
    name: ClassVar[str]
    #: The lowest score there is.
    least: ClassVar[float] = 0.0

    @property
    def unit(self) -> str:  # type: ignore[override]
        """One minus the score."""
        return f"1 - {self.name}"

    def check(self, target: Target) -> None:
        """Two classes are needed."""
        n_classes = len(target.classes)
        if n_classes != 2:
            raise ValueError(
                f"The {self.name} is about one class against another, and y has {n_classes} classes; make y one class "
                "against the rest, or use objective='error', which is the micro average."
            )

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """Plain errors, to begin with; the search for the best score chooses its own costs."""
        return LinearLoss(1.0 - np.eye(len(target.classes)))

    def score(self, confusion: FloatArray) -> float:
        """The score from the weights ``confusion[true, predicted]``; the second class is the positive one."""
        raise NotImplementedError

    def scores(self, confusions: FloatArray) -> FloatArray:
        """The scores of many confusions, shape (2, 2, n), at once."""
        return np.array([self.score(confusions[:, :, i]) for i in range(confusions.shape[2])])


def class_totals(target: Target, weight: FloatArray) -> FloatArray:
    """Sample weight of each class."""
    return np.bincount(target.labels, weights=weight, minlength=len(target.classes)).astype(np.float64)
