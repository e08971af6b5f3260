"""Why a model says what it says of a row, and what would have to be different for another answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omtree.data.column import Column
from omtree.data.table import UNKNOWN, CodeArray, Feature
from omtree.data.wording import amount, answer, counts_rows, number, show_level, show_value
from omtree.export.logic import predicts_as_tree
from omtree.model.notebook_html import steps
from omtree.problem.graph import Condition

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase

#: Most rows that are tried in the search for a smaller change.
_MOST_TRIALS = 400_000


@dataclass(frozen=True)
class Step:
    """One question on the way to the answer.

    Attributes
    ----------
    name, cell : str
        The column and what the row has there, in words.
    condition : str
        What was asked of it.
    holds : bool
        Whether the cell meets the condition.
    """

    name: str
    cell: str
    condition: str
    holds: bool

    def __str__(self) -> str:
        if self.holds:
            return f"{self.name} is {self.cell}: {self.condition}"
        return f"{self.name} is {self.cell}, never seen here: taken as {self.condition}"


@dataclass(frozen=True)
class Change:
    """A smallest set of changes that gives another answer.

    Attributes
    ----------
    conditions : tuple of Condition
        What the row would have to be like; any of a condition's values will do.
    cells : tuple of str
        What it has in those columns now.
    prediction : object
        The answer it would get.
    """

    conditions: tuple[Condition, ...]
    cells: tuple[str, ...]
    prediction: Any

    def __str__(self) -> str:
        parts = [f"{condition} (now {cell})" for condition, cell in zip(self.conditions, self.cells, strict=True)]
        return f"it would be {answer(self.prediction)} with {' and '.join(parts)}"


@dataclass(frozen=True)
class Explanation:
    """The answer for one row and how it came about.

    Attributes
    ----------
    prediction : object
    rule : int
        Position in ``rules_`` of the rule that answers.
    steps : tuple of Step
        The path through the tree, or the conditions of the rule.
    matches : int or None
        How many rules the row meets; None in a tree, where it is always one leaf.
    support : str
        What the training rows of the rule were like, in words.
    change : Change or None
        None where no change of the columns gives another answer, or none was found.
    """

    prediction: Any
    rule: int
    steps: tuple[Step, ...]
    matches: int | None
    support: str
    change: Change | None

    def _repr_html_(self) -> str:
        after = str(self.change) if self.change is not None else ""
        return steps(f"{answer(self.prediction)} ({self.support})", map(str, self.steps), after)

    def __str__(self) -> str:
        lines = [f"prediction: {answer(self.prediction)}  ({self.support})"]
        if self.matches is None or self.matches == 1:
            lines += [f"  {step}" for step in self.steps]
        else:
            lines.append(
                "  the row meets no rule; this is the nearest one:"
                if self.matches == 0
                else f"  the row meets {self.matches} rules; this is the heaviest one:"
            )
            lines += [
                f"  {step.name} is {step.cell}: {step.condition}{'' if step.holds else ' does not hold'}"
                for step in self.steps
            ]
        if not self.steps:
            lines.append("  the model says so of every row")
        elif self.change is not None:
            lines.append(f"  {self.change}")
        else:
            lines.append("  no other answer was found by changing its columns")
        return "\n".join(lines)


class Explanations(list[Explanation]):
    """The explanations of some rows; printed, and in a notebook, they are in words."""

    def _repr_html_(self) -> str:
        return "".join(each._repr_html_() for each in self)

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def explain(model: OptimalTreeBase, X: Any, fixed: Sequence[str] = ()) -> Explanations:
    """Explain the answer for every row.

    The smallest change is one of as few columns as possible; among those the one that moves numbers and ordered values
    across the fewest values; among those the one that leads to the heaviest rule. Making a cell missing does not count
    as a change.

    Parameters
    ----------
    model : fitted model
    X : array or data frame, shape (n_samples, n_features)
    fixed : sequence of str
        Columns that cannot be changed, such as an age.

    Returns
    -------
    Explanations
        A list of Explanation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from omtree import OptimalTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = OptimalTreeClassifier(max_depth=1, max_leaves=2).fit(X[["petal width (cm)"]], y)
    >>> explanation = model.explain(X[["petal width (cm)"]].iloc[:1])[0]
    >>> explanation.steps[0].name, explanation.steps[0].holds
    ('petal width (cm)', True)
    """
    rules = model.rules_
    codes = model._encode(X)
    columns = model._read(X, model._asked_columns())
    used = sorted({condition.feature for rule in rules for condition in rule.conditions})
    answers = _apply(model, codes)
    matched = None if predicts_as_tree(model) else np.asarray(rules.matches(codes).sum(axis=1))
    known = {reading.name for reading in model.reading_} | {feature.name for feature in rules.features}
    unknown = [name for name in fixed if name not in known]
    if unknown:
        raise ValueError(f"fixed names the column {unknown[0]!r}, which the model does not know.")
    may_change = [feature for feature in used if rules.features[feature].name not in set(fixed)]
    groups = {feature: _groups(model, feature) for feature in may_change}
    found = Explanations()
    for row, rule in enumerate(answers.tolist()):
        own = codes[:, row]
        cells = {f: cell_words(columns[rules.features[f].column], row) for f in used}
        found.append(
            Explanation(
                rules[rule].prediction,
                rule,
                tuple(_steps(model, own, rule, cells)),
                None if matched is None else int(matched[row]),
                _support(model, rule),
                _smallest_change(model, own, rule, groups, cells),
            )
        )
    return found


def _apply(model: OptimalTreeBase, codes: CodeArray) -> npt.NDArray[np.intp]:
    if predicts_as_tree(model) and model.tree_ is not None:
        return model.tree_.apply(codes)
    return model.rules_.assign(codes)


def _steps(model: OptimalTreeBase, codes: CodeArray, rule: int, cells: dict[int, str]) -> Iterator[Step]:
    features = model.rules_.features
    if predicts_as_tree(model) and model.tree_ is not None:
        nodes = model.tree_.nodes
        node = next(node for node in nodes if node.rule == rule)
        path = [node]
        while path[0].parent is not None:
            path.insert(0, nodes[path[0].parent])
        conditions = [node.condition for node in path if node.condition is not None]
    else:
        conditions = list(model.rules_[rule].conditions)
    for condition in conditions:
        holds = int(codes[condition.feature]) in condition.codes
        yield Step(features[condition.feature].name, cells[condition.feature], str(condition), holds)


def _groups(model: OptimalTreeBase, feature: int) -> list[tuple[int, ...]]:
    """The codes of a feature in groups that the model treats alike; of ordered features, consecutive codes."""
    asked = _asked(model, feature)
    described = model.rules_.features[feature]
    signature = {code: tuple(code in codes for codes in asked) for code in range(described.n_values)}
    if described.ordered:
        runs = itertools.groupby(range(described.n_values), key=signature.__getitem__)
        return [tuple(run) for _, run in runs]
    groups: dict[tuple[bool, ...], list[int]] = {}
    for code in range(described.n_values):
        groups.setdefault(signature[code], []).append(code)
    return [tuple(group) for group in groups.values()]


def _asked(model: OptimalTreeBase, feature: int) -> list[frozenset[int]]:
    """Every set of codes that the model asks about in a feature, in its rules and on the branches of its tree."""
    conditions = [condition for rule in model.rules_ for condition in rule.conditions]
    if model.tree_ is not None:
        conditions += [node.condition for node in model.tree_.nodes if node.condition is not None]
    return list({frozenset(condition.codes): None for condition in conditions if condition.feature == feature})


def _smallest_change(
    model: OptimalTreeBase,
    codes: CodeArray,
    rule: int,
    groups: dict[int, list[tuple[int, ...]]],
    cells: dict[int, str],
) -> Change | None:
    rules = model.rules_
    others = {f: [group for group in groups[f] if int(codes[f]) not in group] for f in groups}
    tried = 0
    for size in range(1, len(groups) + 1):
        trials = [
            tuple(zip(chosen, picked, strict=True))
            for chosen in itertools.combinations(groups, size)
            for picked in itertools.product(*(others[f] for f in chosen))
        ]
        tried += len(trials)
        if not trials or tried > _MOST_TRIALS:
            return None
        changed = np.repeat(codes[:, None], len(trials), axis=1)
        for column, trial in enumerate(trials):
            for feature, group in trial:
                changed[feature, column] = _nearest(rules.features[feature], int(codes[feature]), group)
        answers = _apply(model, changed)
        flips = [t for t, answer in enumerate(answers.tolist()) if rules[answer].prediction != rules[rule].prediction]
        if flips:
            best = min(
                flips,
                key=lambda t: (
                    round(sum(_distance(rules.features[f], int(codes[f]), group) for f, group in trials[t]), 9),
                    -rules[int(answers[t])].support,
                ),
            )
            return Change(
                tuple(Condition(f, group, rules.features[f].describe(group)) for f, group in trials[best]),
                tuple(cells[f] for f, _ in trials[best]),
                rules[int(answers[best])].prediction,
            )
    return None


def _nearest(feature: Feature, code: int, group: Sequence[int]) -> int:
    return min(group, key=lambda other: abs(other - code)) if feature.ordered and code < feature.n_values else group[0]


def _distance(feature: Feature, code: int, group: Sequence[int]) -> float:
    """One for another category; for ordered values the part of all values that lies between."""
    if not feature.ordered or code >= feature.n_values or code == UNKNOWN:
        return 1.0
    return abs(_nearest(feature, code, group) - code) / feature.n_values


#: A cell without a value, in words.
MISSING = "missing"


def cell_words(column: Column, row: int) -> str:
    """What a row has in a column, in words."""
    if column.levels is None:
        value = float(column.values[row])
        return MISSING if value != value else show_value(column.unit, value)
    position = int(column.values[row])
    return MISSING if position < 0 else show_level(column.levels[position])


def _support(model: OptimalTreeBase, position: int) -> str:
    rule, rules = model.rules_[position], model.rules_
    rows = amount(rule.support, counts_rows([each.support for each in rules]))
    rows = f"{rows} of training" if rows.startswith("weight") else rows.replace(" row", " training row")
    if rule.class_weights:
        share = 100 * rule.class_weights[rule.label] / sum(rule.class_weights)
        return f"{share:.1f} % of {rows}"
    if rule.targets is not None:
        low, high = rule.targets.quantiles[1], rule.targets.quantiles[3]
        return f"{rows}, half of it between {number(low)} and {number(high)}"
    return rows
