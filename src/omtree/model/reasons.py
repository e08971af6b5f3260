"""Reasons: the conditions that decided about a row, the weightiest first, as codes and sentences."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from omtree.data.wording import answer
from omtree.export.logic import predicts_as_tree
from omtree.model.attribution import leaf_shapley_values
from omtree.model.explain import MISSING, cell_words
from omtree.model.reason_codes import ReasonCode, ReasonCodes, kind_of, to_toml
from omtree.problem.graph import Condition

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase

#: Contributions closer to zero than this are rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Reason:
    """One condition that decided.

    Attributes
    ----------
    column : str
    condition : str
        What the model asked, in its words.
    cell : str
        What the row has there.
    code : str
        From the table of codes; empty where it has no line for the condition.
    sentence : str
        From the table, else the condition.
    mattered : float or None
        By how much it moved the answer away from the average one: the probability of the class, or the number. None in
        a set of rules, where all conditions of a rule decide together.
    assumed : bool
        Whether the row went this way because its cell is missing, which the condition does not speak of.
    """

    column: str
    condition: str
    cell: str
    code: str
    sentence: str
    mattered: float | None
    assumed: bool = False

    def __str__(self) -> str:
        text = f"{self.code}: {self.sentence}" if self.code else self.sentence
        return f"{text} ({self.column} is missing, and counts as this)" if self.assumed else text


@dataclass(frozen=True)
class LeafReason:
    """What of a reason does not depend on the row: its condition and how much it mattered."""

    condition: Condition
    mattered: float | None
    code: str
    sentence: str

    @property
    def short(self) -> str:
        """The code, or the sentence where there is none."""
        return self.code or self.sentence


def read_codes(codes: ReasonCodes | str | os.PathLike[str] | None) -> ReasonCodes:
    """A table of codes that was given as one, as a file, or not at all."""
    if codes is None:
        return ReasonCodes()
    return codes if isinstance(codes, ReasonCodes) else ReasonCodes.load(codes)


def leaf_reasons(
    model: OptimalTreeBase, n: int = 4, codes: ReasonCodes | str | os.PathLike[str] | None = None
) -> tuple[tuple[LeafReason, ...], ...]:
    """For every rule of a model at most n reasons, the weightiest first.

    In a tree they are ordered by Shapley values of the leaf's conditions, and those that spoke against the answer are
    left out, unless all did. In a set of rules they stand in the order of the rule.

    Parameters
    ----------
    model : fitted model
    n : int
    codes : ReasonCodes, path or None
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise ValueError(f"n={n!r} is not possible; use a whole number of at least 1.")
    table, rules = read_codes(codes), model.rules_
    table.check([feature.name for feature in rules.features])
    moved = _moved(model)
    found = []
    for place, rule in enumerate(rules):
        ordered: list[tuple[Condition, float | None]] = [(condition, None) for condition in rule.conditions]
        if moved is not None:
            weight = {condition: float(moved[place, condition.feature]) for condition in rule.conditions}
            spoke_for = [condition for condition in weight if weight[condition] > _ROUNDING]
            best_first = sorted(spoke_for or weight, key=lambda condition: -weight[condition])
            ordered = [(condition, weight[condition]) for condition in best_first]
        found.append(
            tuple(
                LeafReason(
                    condition,
                    mattered,
                    *table.find(condition, rules.features[condition.feature], rule.prediction, rules.classes),
                )
                for condition, mattered in ordered[:n]
            )
        )
    return tuple(found)


def _moved(model: OptimalTreeBase) -> Any:
    """By how much each feature moved the answer of each leaf away from the average answer; None without a tree."""
    tree, rules = model.tree_, model.rules_
    if tree is None or not predicts_as_tree(model):
        return None
    values, average = model._leaf_values(), model.expected_value_
    contributions = leaf_shapley_values(tree, values)
    leaves = np.arange(len(rules))
    if not rules.classes:
        sign = np.where(values[:, 0] >= average[0], 1.0, -1.0)
        return contributions[:, :, 0] * sign[:, None]
    known = vars(model)["actions_" if rules.are_actions else "classes_"].tolist()
    said = np.array([known.index(rule.prediction) for rule in rules])
    return contributions[leaves, :, said]


def reasons(
    model: OptimalTreeBase, X: Any, n: int = 4, codes: ReasonCodes | str | os.PathLike[str] | None = None
) -> list[tuple[Reason, ...]]:
    """The conditions that decided about each row, the weightiest first; see `leaf_reasons`.

    Parameters
    ----------
    model : fitted model
    X : array or data frame, shape (n_samples, n_features)
    n : int
        At most so many for a row.
    codes : ReasonCodes, path or None
        From conditions to codes and sentences.

    Examples
    --------
    >>> import pandas as pd
    >>> from omtree import OptimalTreeClassifier
    >>> X = pd.DataFrame({"income": [10, 12, 30, 35] * 10, "age": [20, 60, 30, 50] * 10})
    >>> y = ["lost", "lost", "paid", "paid"] * 10
    >>> model = OptimalTreeClassifier(max_depth=1).fit(X, y)
    >>> print(*model.reasons(X[:1])[0])
    income < 20
    """
    of_leaf = leaf_reasons(model, n, codes)
    columns = model._read(X, model._asked_columns())
    features = model.rules_.features

    def reason(each: LeafReason, row: int) -> Reason:
        feature = features[each.condition.feature]
        cell = cell_words(columns[feature.column], row)
        asked = feature.has_missing and feature.n_values in each.condition.codes
        assumed = cell == MISSING and not asked
        return Reason(feature.name, each.condition.text, cell, each.code, each.sentence, each.mattered, assumed)

    return [tuple(reason(each, row) for each in of_leaf[rule]) for row, rule in enumerate(model.apply(X).tolist())]


def table_to_fill(model: OptimalTreeBase) -> str:
    """A table of codes as TOML text with a line for every kind of condition and answer of a model, to be reworded."""
    rules = model.rules_
    lines: dict[tuple[str, str, str], ReasonCode] = {}
    for rule, found in zip(rules, leaf_reasons(model, max(1, rules.depth)), strict=True):
        said = answer(rule.prediction, rules.classes)
        for each in found:
            feature = rules.features[each.condition.feature]
            kind = kind_of(feature, each.condition.codes)
            # Certain values mean something else than other values of the column do.
            words = each.condition.text if kind in ("among", "between") else None
            key = (feature.name, words or kind, said if rules.classes else "")
            code = f"R{len(lines) + 1:02d}"
            lines.setdefault(
                key,
                ReasonCode(feature.name, each.condition.text, code, kind, words, said if rules.classes else None),
            )
    return to_toml(list(lines.values()))
