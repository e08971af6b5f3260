"""What there is to know of partitions before their rows are coded, and how it adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray, are_whole
from omtree.sources.target import MAX_TARGETS

#: A column of numbers with at most so many different ones is known by them.
FEW_VALUES = 20_000
#: Whether a column has few values is mostly seen from so many times as many rows.
_GLANCES = 3
#: A column with more different texts than this is more likely a name or a key than a category.
MAX_LEVELS = 1_000_000


@dataclass(eq=False)
class Numbers:
    """A column of numbers.

    Attributes
    ----------
    low, high : float
        Smallest and largest number of positive weight; NaN where there are none.
    missing : float
        Weight of the missing cells.
    has_missing : bool
        Whether there are any, whatever their weight.
    infinite : bool
    values : pair of arrays, or None
        The different numbers of positive weight in order, and the weight of each; None where they are too many.
    """

    low: float
    high: float
    missing: float
    has_missing: bool
    infinite: bool
    values: tuple[FloatArray, FloatArray] | None


@dataclass(eq=False)
class Facts:
    """Some of the rows.

    Attributes
    ----------
    rows : list of int
        Number of rows of each partition.
    labels : mapping
        Weight of each label.
    no_label : int
        Rows without a label.
    least_weight, whole
        The smallest weight, and whether all are whole numbers; a weight that is no number is -1.
    targets : Numbers or None
        Of the labels, where these are numbers.
    numbers : mapping of str to Numbers
    cells : mapping of str to mapping
        Of every other column the weight of each pair of cell and label; a missing cell is None.
    """

    rows: list[int]
    labels: dict[Any, float]
    no_label: int = 0
    least_weight: float = 1.0
    whole: bool = True
    targets: Numbers | None = None
    numbers: dict[str, Numbers] = field(default_factory=dict)
    cells: dict[str, dict[tuple[Any, Any], float]] = field(default_factory=dict)


#: Where the target is a number, the weight of a cell and the weighted sum of its targets stand in place of labels.
WEIGHT, SUM = 0, 1


def facts_of(part: tuple[Any, Any, Any], numeric: Sequence[str], numbers: bool) -> Facts:
    """The facts of a partition: its frame, its labels and its weights.

    Parameters
    ----------
    part : tuple
        A pandas frame, a pandas series, and another one or None.
    numeric : sequence of str
        Names of the columns that hold numbers.
    numbers : bool
        Whether the target is a number.
    """
    import pandas as pd

    frame, labels, weights = part
    _same_rows(frame, labels, weights)
    weight = np.ones(len(frame)) if weights is None else _numbers(weights)
    facts = Facts([len(frame)], {})
    if weights is not None and len(frame):
        sound = bool(np.isfinite(weight).all())
        facts.least_weight = float(weight.min()) if sound else -1.0
        facts.whole = sound and are_whole(weight)
    sums: dict[int, FloatArray] = {}
    if numbers:
        targets = _numbers(labels)
        facts.no_label = int((~np.isfinite(targets)).sum())
        facts.labels = {WEIGHT: float(weight.sum())}
        sums = {WEIGHT: weight, SUM: weight * targets}
        facts.targets = _of_numbers(targets, weight, weight > 0, MAX_TARGETS)
    else:
        label = pd.Series(np.asarray(labels, dtype=object))
        facts.no_label = int(label.isna().sum())
        facts.labels = pd.Series(weight).groupby(label, sort=False).sum().to_dict()
    inside = weight > 0
    for name in frame.columns:
        if name in numeric:
            facts.numbers[name] = _of_numbers(_numbers(frame[name]), weight, inside)
        else:
            cells = pd.Series(np.asarray(frame[name], dtype=object))
            cells = cells.where(cells.notna(), None)
            if numbers:
                grouped = pd.DataFrame(sums).groupby(cells, sort=False, dropna=False).sum()
                facts.cells[name] = {
                    (_plain(cell), what): float(number)
                    for what in sums
                    for cell, number in zip(grouped.index, grouped[what], strict=True)
                }
                continue
            frame_of = pd.DataFrame({"cell": cells, "label": label, "weight": weight})
            grouped = frame_of.groupby(["cell", "label"], sort=False, dropna=False)["weight"].sum()
            facts.cells[name] = {(_plain(cell), own): float(sum_) for (cell, own), sum_ in grouped.items()}
    return facts


def add_facts(parts: Sequence[Facts]) -> Facts:
    """The facts of several partitions together, in their order."""
    total = Facts([], {})
    for part in parts:
        total.rows += part.rows
        total.no_label += part.no_label
        total.least_weight = min(total.least_weight, part.least_weight)
        total.whole = total.whole and part.whole
        _add(total.labels, part.labels)
        if part.targets is not None:
            total.targets = part.targets if total.targets is None else _join(total.targets, part.targets, MAX_TARGETS)
        for name, numbers in part.numbers.items():
            known = total.numbers.get(name)
            total.numbers[name] = numbers if known is None else _join(known, numbers)
        for name, cells in part.cells.items():
            _add(total.cells.setdefault(name, {}), cells)
            if len(total.cells[name]) > 2 * MAX_LEVELS:
                raise ValueError(
                    f"Column {name!r} has more than {MAX_LEVELS:,} different values, too many for categories; "
                    "leave it out, or make it numeric."
                )
    return total


def _add(to: dict[Any, float], more: dict[Any, float]) -> None:
    for key, weight in more.items():
        to[key] = to.get(key, 0.0) + weight


def _of_numbers(
    values: FloatArray, weight: FloatArray, inside: npt.NDArray[np.bool_], most: int = FEW_VALUES
) -> Numbers:
    absent = np.isnan(values)
    inside = inside & ~absent
    missing, infinite = float(weight[absent].sum()), bool(np.isinf(values).any())
    present, mass = values[inside], weight[inside]
    low, high = (present.min(), present.max()) if len(present) else (np.nan, np.nan)
    glance = _GLANCES * most
    few = add_values([(present[:glance], mass[:glance])])
    if len(few[0]) <= most and len(present) > glance:
        few = add_values([(present, mass)])
    known = few if len(few[0]) <= most else None
    return Numbers(float(low), float(high), missing, bool(absent.any()), infinite, known)


def _join(a: Numbers, b: Numbers, most: int = FEW_VALUES) -> Numbers:
    both = None
    if a.values is not None and b.values is not None:
        both = add_values([a.values, b.values])
        both = both if len(both[0]) <= most else None
    low, high = np.fmin(a.low, b.low), np.fmax(a.high, b.high)
    missing, has_missing = a.missing + b.missing, a.has_missing or b.has_missing
    return Numbers(float(low), float(high), missing, has_missing, a.infinite or b.infinite, both)


def add_values(parts: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Different values in order, and the weight of each.

    >>> values, weights = add_values([(np.array([3.0, 1.0]), np.ones(2)), (np.array([3.0]), np.ones(1))])
    >>> values.tolist(), weights.tolist()
    ([1.0, 3.0], [1.0, 2.0])
    """
    import pandas as pd

    place, values = pd.factorize(np.concatenate([values for values, _ in parts]))
    weights = np.concatenate([weights for _, weights in parts])
    sums = np.bincount(place, weights=weights, minlength=len(values)).astype(np.float64)
    order = np.argsort(values)
    return values[order], sums[order]


def _same_rows(frame: Any, labels: Any, weights: Any) -> None:
    for what, other in (("y", labels), ("sample_weight", weights)):
        if other is not None and len(other) != len(frame):
            raise ValueError(
                f"A partition of X has {len(frame)} rows and that of {what} has {len(other)}; "
                "make them from the same Dask frame, with the same partitions."
            )


def _numbers(series: Any) -> FloatArray:
    return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))


def _plain(cell: Any) -> Any:
    """A cell as a Python object, None where it is missing."""
    return None if cell is None or cell != cell else cell
