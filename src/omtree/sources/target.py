"""Labels and weights: what `y`, `sample_weight` and `class_weight` become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from omtree.data.columns import one_column
from omtree.data.table import FloatArray, Table
from omtree.sources.class_order import ClassOrder
from omtree.sources.lifetimes import Lifetimes

if TYPE_CHECKING:
    from omtree.sources.leaf_columns import LeafColumns

#: Integer labels within a range of this size are coded by a table instead of a sort.
_SMALL_RANGE = 1 << 16
#: Most classes that a search counts.
MAX_CLASSES = 256
#: Most different values of a numeric target whose rows stay where they are: labels of coded rows have two bytes.
MAX_TARGETS = 1 << 16


@dataclass(frozen=True, eq=False)
class Target:
    """What a model predicts: one of some classes, or a number.

    Attributes
    ----------
    classes : array
        The classes: in the order that was declared, else sorted but for a positive one that comes last; empty where
        the target is a number.
    labels : array of int
        The position in `classes` of every sample's class; empty where the target is a number.
    values : array of float
        The number of every sample; empty where the target is a class.
    charges : array of float, shape (n_samples, n_classes), or None
        What each answer would cost each sample, where its class does not tell.
    rewards : array of float, shape (n_samples, n_classes), or None
        What each action would bring each sample, where the classes are actions; `charges` are what is lost against the
        best one then, and `labels` the actions that were taken, or the best ones where that is not known.
    lifetimes : Lifetimes or None
        Times to an event; `values` are then how much more happened to a sample than to be expected.
    outputs : array of float, shape (n_samples, n_targets), or None
        Several numbers at once; `values` are then where a sample lies in the direction in which they differ most.
    output_weights : array of float, shape (n_targets,), or None
        What the squared distances of each of them are multiplied by.
    regressors : array of float, shape (n_samples, n_columns), or None
        Columns that the lines of leaves may go along, in units of their own.
    leaf_columns : LeafColumns or None
        What these are.
    ordered : bool
        Whether more than two classes go from low to high.
    """

    classes: npt.NDArray[Any]
    labels: npt.NDArray[np.intp]
    values: FloatArray
    charges: FloatArray | None = None
    rewards: FloatArray | None = None
    lifetimes: Lifetimes | None = None
    outputs: FloatArray | None = None
    output_weights: FloatArray | None = None
    regressors: FloatArray | None = None
    leaf_columns: LeafColumns | None = None
    ordered: bool = False

    @classmethod
    def of_classes(
        cls, y: Any, positive: Any = None, costs: Any = None, class_order: Sequence[Any] | None = None
    ) -> Target:
        """Read and check labels; the positive class, where one is named, becomes the second of the two.

        `costs` are what the answers cost each sample, in the order of the sorted classes.
        """
        classes, labels = encode_labels(y)
        check_n_classes(len(classes))
        charges = None if costs is None else check_charges(costs, len(labels), classes.tolist())
        order = ClassOrder.of(classes, y, positive, class_order)
        charges = None if charges is None else np.ascontiguousarray(charges[:, order.places])
        return cls(classes[order.places], order.inside(labels), np.empty(0), charges, ordered=order.ordered)

    @classmethod
    def of_numbers(cls, y: Any) -> Target:
        """Read and check numbers."""
        return cls(np.empty(0), np.empty(0, dtype=np.intp), check_numbers(y))

    @classmethod
    def of_lifetimes(cls, lifetimes: Lifetimes) -> Target:
        """Times to an event."""
        return cls(np.empty(0), np.empty(0, dtype=np.intp), lifetimes.above, lifetimes=lifetimes)

    @classmethod
    def of_outputs(cls, outputs: FloatArray, weights: FloatArray) -> Target:
        """Several numbers at once."""
        scaled = (outputs - outputs.mean(axis=0)) * np.sqrt(weights)
        direction = np.linalg.eigh(scaled.T @ scaled)[1][:, -1]
        direction = direction * np.sign(direction[np.abs(direction).argmax()])
        nothing = np.empty(0, dtype=np.intp)
        return cls(np.empty(0), nothing, scaled @ direction, outputs=outputs, output_weights=weights)

    @classmethod
    def of_actions(
        cls, actions: npt.NDArray[Any], rewards: FloatArray, taken: npt.NDArray[np.intp] | None = None
    ) -> Target:
        """What each of some actions would bring each sample, and which one was taken where that is known."""
        best = rewards.max(axis=1, keepdims=True)
        labels = rewards.argmax(axis=1) if taken is None else taken
        return cls(actions, labels, np.empty(0), np.ascontiguousarray(best - rewards), rewards)

    @property
    def is_number(self) -> bool:
        """Whether the target is a number."""
        return len(self.classes) == 0

    @property
    def seen(self) -> FloatArray:
        """The numbers as constraints see them: of times to an event, whether it was seen."""
        return self.values if self.lifetimes is None else self.lifetimes.events.astype(np.float64)

    def __len__(self) -> int:
        return len(self.values) if self.is_number else len(self.labels)

    def take(self, samples: npt.NDArray[np.intp]) -> Target:
        """The target of some of the samples."""
        if self.is_number:
            lifetimes = None if self.lifetimes is None else self.lifetimes.take(samples)
            outputs = None if self.outputs is None else self.outputs[samples]
            regressors = None if self.regressors is None else self.regressors[samples]
            return replace(
                self, values=self.values[samples], lifetimes=lifetimes, outputs=outputs, regressors=regressors
            )
        charges = None if self.charges is None else self.charges[samples]
        rewards = None if self.rewards is None else self.rewards[samples]
        return replace(self, labels=self.labels[samples], charges=charges, rewards=rewards)


def check_numbers(y: Any) -> FloatArray:
    """A numeric target as floats.

    Examples
    --------
    >>> check_numbers([1, 2.5]).tolist()
    [1.0, 2.5]
    """
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    plain = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "iuf"
    values = y if plain else one_column(y)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported as a target; give real numbers.")
    try:
        numbers = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("y has targets that are not numbers; a regressor needs numbers.") from None
    if not np.isfinite(numbers).all():
        raise no_number()
    return numbers


def no_number() -> ValueError:
    """What is said of numeric targets that are missing or infinite."""
    return ValueError("y contains NaN or infinite targets; drop those rows or give them a number.")


def check_n_classes(n_classes: int) -> None:
    """Complain about more classes than a search counts."""
    if n_classes > MAX_CLASSES:
        raise ValueError(
            f"y has {n_classes:,} classes, and at most {MAX_CLASSES} are possible; merge the rare ones, or use "
            "OptimalTreeRegressor if they are numbers of a quantity."
        )


def check_charges(costs: Any, n_samples: int, answers: Sequence[Any]) -> FloatArray:
    """What each answer costs each sample, as floats.

    Examples
    --------
    >>> check_charges([[0, 2], [1, 0]], 2, ["no", "yes"]).tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    """
    try:
        charges = np.ascontiguousarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("costs has entries that are not numbers; give one number per row and class.") from None
    if charges.shape != (n_samples, len(answers)):
        raise ValueError(
            f"costs has shape {charges.shape}; give a row for each of the {n_samples} rows of X and a column for each "
            f"of the {len(answers)} classes, in the order {answers}."
        )
    if not np.isfinite(charges).all() or charges.min(initial=0.0) < 0:
        raise ValueError("costs has negative, missing or infinite entries; an answer may cost zero or more.")
    return charges


def check_rewards(rewards: Any, n_samples: int, actions: Sequence[Any]) -> FloatArray:
    """What each action brings each sample, as floats; of a data frame, by the names of its columns.

    Examples
    --------
    >>> check_rewards([[1, 2], [0, 3]], 2, ["wait", "treat"]).tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    labels = getattr(rewards, "columns", None)
    if labels is not None and set(labels) == set(actions):
        rewards = np.column_stack([np.asarray(rewards[action]) for action in actions])
    try:
        found = np.ascontiguousarray(rewards, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("rewards has entries that are not numbers; give one number per row and action.") from None
    if found.shape != (n_samples, len(actions)):
        raise ValueError(
            f"rewards has shape {found.shape}; give a row for each of the {n_samples} rows of X and a column for each "
            f"of the {len(actions)} actions."
        )
    if not np.isfinite(found).all():
        raise ValueError("rewards has missing or infinite entries; give what each action would bring each row.")
    return found


def samples_by_row(
    table: Table, target: Target, weight: FloatArray
) -> tuple[npt.NDArray[np.int64], FloatArray, FloatArray]:
    """The samples of each merged row: where they start, their targets and their weights."""
    order = np.argsort(table.row_of, kind="stable")
    # Samples of weight zero have no row and come first.
    order = order[np.searchsorted(table.row_of[order], 0) :]
    start = np.searchsorted(table.row_of[order], np.arange(table.n_rows + 1)).astype(np.int64)
    return start, target.values[order], weight[order]


def encode_labels(y: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """The classes, sorted, and the position of each label among them.

    Examples
    --------
    >>> classes, codes = encode_labels(["no", "yes", "no"])
    >>> classes.tolist(), codes.tolist()
    (['no', 'yes'], [0, 1, 0])
    """
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    plain = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "biufUO"
    labels = y if plain else one_column(y)
    if labels.dtype.kind == "O":
        cells = labels.tolist()
        texts = set(cells) if set(map(type, cells)) == {str} else None
        if texts is not None:
            # Text needs none of the checks below, and no sort of all samples.
            names = sorted(texts)
            position = {name: i for i, name in enumerate(names)}
            codes = np.fromiter(map(position.__getitem__, cells), dtype=np.intp, count=len(cells))
            return np.array(names, dtype=object), codes
        missing = [value is None or value != value for value in cells]
        if any(missing):
            raise ValueError(f"y has {sum(missing)} missing labels; drop those rows or give them a label.")
    elif labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y has missing or infinite labels; drop those rows or give them a label.")
    if labels.dtype.kind in "biu" and len(labels):
        low, high = int(labels.min()), int(labels.max())
        if high - low < _SMALL_RANGE:
            offsets = labels.astype(np.intp) - low
            present = np.bincount(offsets) > 0
            classes = (np.flatnonzero(present) + low).astype(labels.dtype)
            return classes, (np.cumsum(present) - 1)[offsets]
    try:
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(labels)
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise ValueError("y mixes labels that cannot be sorted, such as text and numbers; use one type.") from None
    return classes, codes


def check_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    """The weight of every sample, ones by default."""
    if sample_weight is None:
        return np.ones(n_samples)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight has entries that are not numbers; give one number per row.") from None
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weight.shape}; give one weight for each of the {n_samples} rows.")
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight has missing or infinite weights; give every row a finite weight.")
    if weight.min(initial=0.0) < 0:
        raise ValueError("sample_weight has negative weights; weights must be zero or positive.")
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise ValueError("sample_weight adds up to more than numbers can be; divide it by a number.")
    if not weight.any():
        raise ValueError("sample_weight is zero for every row; at least one row needs a positive weight.")
    return weight


def weigh_classes(
    class_weight: Mapping[Any, float] | Literal["balanced"] | None, classes: npt.NDArray[Any], totals: FloatArray
) -> tuple[FloatArray | None, float]:
    """What the sample weights of each class are multiplied by, None for nothing, and the weight of all samples then."""
    scale = class_scale(class_weight, classes, totals)
    if np.count_nonzero(totals * scale) < 2:
        raise ValueError("y has only one class (of positive weight); a classifier needs at least two classes.")
    return None if class_weight is None else scale, float((totals * scale).sum())


def class_scale(
    class_weight: Mapping[Any, float] | Literal["balanced"] | None, classes: npt.NDArray[Any], totals: FloatArray
) -> FloatArray:
    """What the sample weights of each class are multiplied by.

    Parameters
    ----------
    class_weight : mapping, "balanced" or None
        Classes that a mapping does not name have weight 1; "balanced" gives every class the same total.
    classes : array
    totals : array of float
        Sample weight of each class.

    Examples
    --------
    >>> class_scale("balanced", np.array(["no", "yes"]), np.array([6.0, 2.0])).tolist()
    [0.6666666666666666, 2.0]
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        present = totals > 0
        return np.where(present, totals.sum() / (len(classes) * np.where(present, totals, 1.0)), 1.0)
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight={class_weight!r} is not known; use None, 'balanced' or a dict.")
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ValueError(f"class_weight names the class {unknown[0]!r}, which y does not have; y has {known}.")
    scale = np.array([float(class_weight.get(label, 1.0)) for label in known])
    if not np.isfinite(scale).all() or scale.min() < 0:
        raise ValueError(f"class_weight={class_weight!r} has negative or infinite weights; use positive ones.")
    return scale
