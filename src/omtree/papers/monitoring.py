"""Monitoring: what new rows say about a model in use, against its training rows or older ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from omtree.constraints import ConstraintCheck
from omtree.data.column import Column
from omtree.data.columns import check_labels
from omtree.data.table import FloatArray
from omtree.data.wording import answer, counts_rows, number
from omtree.model.expectation import Expectation
from omtree.model.intervals import wilson
from omtree.papers.column_bins import bin_names, counts_of, hides_levels, shift_by_values
from omtree.papers.shift import Shift, shift_of

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase

#: Standard errors beyond which the mean of a leaf has moved: one in a thousand by chance.
_FAR = 3.29


@dataclass(frozen=True)
class LeafNow:
    """How a leaf does on new rows.

    Attributes
    ----------
    number : int
        As in the picture, from 1.
    answer : str
    rows : int
    share_before, share_now : float
        Of all rows; NaN where the share before is not known.
    before, now : float or None
        The share of its rows with the right answer, or their mean; None where there are no rows or targets.
    low, high : float or None
        A 95 % interval around what it is now.
    alarming : bool
    """

    number: int
    answer: str
    rows: int
    share_before: float
    share_now: float
    before: float | None
    now: float | None
    low: float | None
    high: float | None
    alarming: bool


@dataclass(frozen=True)
class Monitoring:
    """What new rows say about a model.

    Attributes
    ----------
    rows : int
    columns : tuple of Shift
        The most shifted first.
    leaves : Shift or None
        How the rows are spread over the leaves.
    by_leaf : tuple of LeafNow
    expectation : Expectation or None
        How good the answers are now; None without targets.
    constraints : tuple of ConstraintCheck
        The constraints on these rows.
    alarms : tuple of str
        What asks for attention, each in a sentence.
    notes : tuple of str
        What could not be compared, and why.
    """

    rows: int
    columns: tuple[Shift, ...]
    leaves: Shift | None
    by_leaf: tuple[LeafNow, ...]
    expectation: Expectation | None
    constraints: tuple[ConstraintCheck, ...]
    alarms: tuple[str, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; what is not a number is None."""
        plain: dict[str, Any] = _finite(asdict(self))
        return plain


def monitor(
    model: OptimalTreeBase,
    X: Any,
    y: Any = None,
    *,
    X_before: Any = None,
    y_before: Any = None,
    groups: Any = None,
) -> Monitoring:
    """Compare new rows with the training rows of a model, or with older ones.

    Without older rows, columns that the model asks about and leaves are compared with what the model keeps of its
    training rows, unless those had weights.

    Parameters
    ----------
    model : fitted model
    X, y : array or data frame, and array, optional
        New rows and, where they are known, their true answers.
    X_before, y_before : array or data frame, and array, optional
        Older rows to compare with.
    groups : array, series or data frame, optional
        The group columns of constraints, as in `audit`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from omtree import OptimalTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    >>> monitor(model, X, y).alarms
    ()
    >>> print(monitor(model, X[:50]).alarms[-1])
    The spread over the leaves has shifted: index 2.85, leaf 1 from 33 to 100 % of the rows.
    """
    if y is not None and "actions_" in vars(model):
        raise ValueError("A policy has no true answers to be compared with; leave y out, and judge it by its evaluate.")
    owner = model.apply(X)
    notes: list[str] = []
    weighted = X_before is None and not counts_rows([rule.support for rule in model.rules_])
    if weighted:
        notes.append(
            "the model was fitted to weighted rows, whose spread new rows are not compared with; give older rows to "
            "compare with"
        )
    columns, unread = _columns(model, X, X_before, weighted, notes)
    n_leaves = len(model.rules_)
    before = None if weighted else _leaves_before(model, X_before)
    leaves = None
    if before is not None:
        names = [f"leaf {place + 1}" for place in range(n_leaves)]
        leaves = shift_of("leaves", names, before, np.bincount(owner, minlength=n_leaves).astype(float))
    by_leaf = _by_leaf(model, owner, y, before, _past(model, X_before, y_before, weighted))
    expectation = None if y is None else model.expect(X, y)
    checks: tuple[ConstraintCheck, ...] = ()
    if y is not None and model._constraints:
        missing = _missing_groups(model, X, groups)
        if missing:
            notes.append(f"constraints are not checked: there is no column {missing[0]!r}")
        else:
            checks = model.audit(X, y, groups=groups)
    found = tuple(sorted(columns, key=lambda each: -each.index))
    alarms = [*unread, *(_shift_sentence(each) for each in (*found, *([leaves] if leaves else [])) if each.alarming)]
    alarms += [_leaf_sentence(each, classes=bool(model.rules_.classes)) for each in by_leaf if each.alarming]
    alarms += [
        f"{check.name} is {number(check.value)} now, and was to be {check.sense} {number(check.limit)}."
        for check in checks
        if not check.met
    ]
    return Monitoring(len(owner), found, leaves, by_leaf, expectation, checks, tuple(alarms), tuple(notes))


def _columns(
    model: OptimalTreeBase, X: Any, X_before: Any, weighted: bool, notes: list[str]
) -> tuple[list[Shift], list[str]]:
    """The shifts of the columns, and a sentence for each that can no longer be read."""
    features = model.rules_.features
    if X_before is None:
        if weighted:
            return [], []
        known: Mapping[int, tuple[float, ...]] = vars(model).get("_code_shares", {})
        asked = model._asked_columns()
        columns = model._read(X, asked)
        total = model.rules_.support
        found = []
        for place, shares in known.items():
            feature = features[place]
            if len(columns[feature.column].values) < columns.n_samples or hides_levels(feature):
                continue
            before = np.append(np.array(shares) * total, 0.0)
            found.append(
                shift_of(feature.name, bin_names(feature), before, counts_of(feature, columns[feature.column]))
            )
        if len(known) < len(features):
            more = "only columns that the model asks about are compared" if known else "columns are not compared"
            notes.append(f"{more}; give older rows to compare all")
        return [each for each in found if each is not None], []
    return _all_columns(model, X, X_before)


def _all_columns(model: OptimalTreeBase, X: Any, X_before: Any) -> tuple[list[Shift], list[str]]:
    features, asked = model.rules_.features, model._asked_columns()
    of_column = [place for place, reading in enumerate(model.reading_) for _ in reading.names]
    shifts, unread = [], []
    for feature in features:
        wanted = {of_column[feature.column]}
        name = model.reading_[of_column[feature.column]].name
        pair: list[Column] = []
        for rows, what in ((X_before, "older"), (X, "new")):
            if hasattr(rows, "columns") and name not in set(map(str, check_labels(rows))):
                break
            try:
                pair.append(model._read(rows, wanted)[feature.column])
            except ValueError as fault:
                if wanted <= asked:
                    raise
                unread.append(f"The {what} rows cannot be read as those of the training were: {fault}")
                break
        if len(pair) < 2:
            continue
        if hides_levels(feature):
            shifts.append(shift_by_values(feature, *pair))
        else:
            shifts.append(shift_of(feature.name, bin_names(feature), *(counts_of(feature, each) for each in pair)))
    return [each for each in shifts if each is not None], unread


def _leaves_before(model: OptimalTreeBase, X_before: Any) -> FloatArray:
    if X_before is None:
        return np.array([rule.support for rule in model.rules_])
    return np.bincount(model.apply(X_before), minlength=len(model.rules_)).astype(float)


def _past(model: OptimalTreeBase, X_before: Any, y_before: Any, weighted: bool) -> list[tuple[float, float] | None]:
    """Of each leaf how often it was right, or the mean, before, and of how many rows that is."""
    rules = model.rules_
    if X_before is not None and y_before is not None:
        owner, values = model.apply(X_before), _values(model, X_before, y_before)
        inside = [values[owner == place] for place in range(len(rules))]
        return [(float(each.mean()), float(len(each))) if len(each) else None for each in inside]
    if weighted or X_before is not None or "actions_" in vars(model):
        return [None] * len(rules)
    if rules.classes:
        return [(rule.class_weights[rule.label] / rule.support, rule.support) for rule in rules]
    return [None if rule.targets is None else (rule.targets.mean, rule.support) for rule in rules]


def _values(model: OptimalTreeBase, X: Any, y: Any) -> FloatArray:
    """Whether the answer is right, or the target."""
    if not model.rules_.classes:
        return np.asarray(y, dtype=np.float64)
    predicted: Any = model.predict(X)
    return np.asarray(predicted == np.asarray(y), dtype=np.float64)


def _by_leaf(
    model: OptimalTreeBase, owner: Any, y: Any, before: FloatArray | None, past: list[tuple[float, float] | None]
) -> tuple[LeafNow, ...]:
    rules = model.rules_
    found = []
    for place, rule in enumerate(rules):
        inside = owner == place
        rows = int(inside.sum())
        old = past[place]
        now = low = high = None
        alarming = False
        if y is not None and rows:
            targets = np.asarray(y)[inside]
            if rules.classes:
                now = float((targets == rule.prediction).mean())
                low, high = wilson(now, rows)
                # Two intervals that do not meet.
                alarming = old is not None and high < wilson(*old)[0]
            else:
                numbers = targets.astype(np.float64)
                now, spread = float(numbers.mean()), float(numbers.std())
                error = spread / math.sqrt(rows)
                low, high = now - 1.96 * error, now + 1.96 * error
                if old is not None and rule.targets is not None:
                    both = math.hypot(error, rule.targets.deviation / math.sqrt(old[1]))
                    alarming = abs(now - old[0]) > _FAR * both > 0
        found.append(
            LeafNow(
                place + 1,
                answer(rule.prediction, rules.classes),
                rows,
                math.nan if before is None else float(before[place] / before.sum()),
                rows / len(owner),
                None if old is None else old[0],
                now,
                low,
                high,
                alarming,
            )
        )
    return tuple(found)


def _missing_groups(model: OptimalTreeBase, X: Any, groups: Any) -> list[str]:
    there = {str(name) for table in (X, groups) if hasattr(table, "columns") for name in check_labels(table)}
    named = {name for constraint in model._constraints for name in constraint.group_columns}
    return sorted(named - there) if groups is None or hasattr(groups, "columns") else []


def _shift_sentence(shift: Shift) -> str:
    place = shift.most_changed
    what = "The spread over the leaves" if shift.name == "leaves" else f"Column {shift.name}"
    return (
        f"{what} has shifted: index {shift.index:.2f}, {shift.bins[place]} from {100 * shift.before[place]:.0f} to "
        f"{100 * shift.now[place]:.0f} % of the rows."
    )


def _leaf_sentence(leaf: LeafNow, *, classes: bool) -> str:
    assert leaf.before is not None
    assert leaf.now is not None
    if classes:
        return (
            f"Leaf {leaf.number} ({leaf.answer}) is right for {100 * leaf.now:.1f} % of {leaf.rows:,} rows, and was "
            f"for {100 * leaf.before:.1f} %."
        )
    return (
        f"Leaf {leaf.number} ({leaf.answer}) has a mean of {number(leaf.now)} in {leaf.rows:,} rows, and had one of "
        f"{number(leaf.before)}."
    )


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
