"""How a fitted model reads and answers rows: nothing here needs the machinery of a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.column import Column, Columns
from omtree.data.parsing.reading import ColumnReading
from omtree.data.parsing.understand import read_again
from omtree.data.table import UNKNOWN, CodeArray, Feature
from omtree.data.wording import show_level
from omtree.errors import warn
from omtree.model.line import line_answers, line_columns
from omtree.model.rules import RuleSet
from omtree.model.tree import Tree

#: Rows from which on it is no chance that not one of them has a value of the training rows.
MANY_ROWS = 10


class Answering:
    """Rules or a tree, and how the columns they ask about are read.

    Whoever inherits from it says whether columns are found by name (`_by_name`).
    """

    rules_: RuleSet
    tree_: Tree | None
    reading_: tuple[ColumnReading, ...]

    @property
    def _walks(self) -> bool:
        """Whether rows are answered by walking down a tree."""
        raise NotImplementedError

    def _by_name(self, X: Any, wanted: list[str]) -> bool:
        """Whether the columns of these rows are found by name; complains where one is not there."""
        raise NotImplementedError

    def _owners(self, X: Any) -> npt.NDArray[np.intp]:
        """The rule that answers for each row."""
        codes = self._encode(X)
        return self.tree_.apply(codes) if self.tree_ is not None and self._walks else self.rules_.assign(codes)

    def _encode(self, X: Any) -> CodeArray:
        """The codes of every row in the features that the model asks about; the others are left blank."""
        columns = self._read(X, self._asked_columns())
        codes = np.full((len(self.rules_.features), columns.n_samples), UNKNOWN, dtype=np.uint8)
        for position in asked_features(self.rules_, self.tree_):
            feature = self.rules_.features[position]
            feature.encode(columns[feature.column], out=codes[position])
            _warn_if_all_are_new(feature, columns[feature.column], codes[position])
        return codes

    def _asked_columns(self) -> set[int]:
        """The positions, among the columns of the training table, of those that the model asks about."""
        of_column = [place for place, reading in enumerate(self.reading_) for _ in reading.names]
        features = self.rules_.features
        tested = {of_column[features[position].column] for position in asked_features(self.rules_, self.tree_)}
        return tested | {of_column[column] for column in line_columns([rule.prediction for rule in self.rules_])}

    def _numbers(self, X: Any) -> npt.NDArray[np.float64]:
        """The number that is predicted for each row."""
        owner = self._owners(X)
        return answered_numbers(self.rules_, owner, lambda: self._read(X, self._asked_columns()))

    def _read(self, X: Any, wanted: set[int]) -> Columns:
        """Some columns of new rows, read as those of the training rows were."""
        by_name = self._by_name(X, [self.reading_[place].name for place in sorted(wanted)])
        return read_again(X, self.reading_, wanted, by_name=by_name)


def _warn_if_all_are_new(feature: Feature, column: Column, codes: CodeArray) -> None:
    """Other words for the same values look like values that training never saw, and would be answered as such."""
    if feature.levels is None or len(codes) < MANY_ROWS or (codes != UNKNOWN).any():
        return
    present = column.values[~np.isnan(column.values) if column.levels is None else column.values >= 0]
    if len(present) >= MANY_ROWS:
        value = present[0] if column.levels is None else column.levels[int(present[0])]
        warn(
            f"No row has a value of column {feature.name!r} that training had: {show_level(value)} in place of "
            f"{show_level(feature.levels[0])} and the like; write them as in training."
        )


def asked_features(rules: RuleSet, tree: Tree | None) -> list[int]:
    """The positions of the features that occur in a condition, or in a node."""
    nodes = () if tree is None else tree.nodes
    tested = {node.feature for node in nodes if node.feature is not None}
    return sorted(tested | {condition.feature for rule in rules for condition in rule.conditions})


def check_there(labels: Iterable[Any], wanted: Iterable[str]) -> None:
    """Complain about a column that is asked about and not there."""
    names = set(map(str, labels))
    absent = [name for name in wanted if name not in names]
    if absent:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        raise ValueError(f"X lacks the column {absent[0]!r}{more}, which the model asks about.")


def as_sorted(classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The classes of rules in the order of scikit-learn, wherever a positive or a declared order puts them inside."""
    return classes[np.argsort(classes, kind="stable")]


def class_order(classes: npt.NDArray[Any], rules: RuleSet) -> npt.NDArray[np.intp]:
    """The position among sorted classes of each class as the rules have them."""
    known = classes.tolist()
    return np.array([known.index(label) for label in rules.classes], dtype=np.intp)


def answered_classes(classes: npt.NDArray[Any], rules: RuleSet, owner: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """The class that each rule says."""
    return np.asarray(classes[class_order(classes, rules)[[rule.label for rule in rules]][owner]])


def answered_numbers(
    rules: RuleSet, owner: npt.NDArray[np.intp], columns: Callable[[], Columns]
) -> npt.NDArray[np.float64]:
    """The number that each row's rule says; `columns` gives those of the rows, which lines go along."""
    said = [rule.prediction for rule in rules]
    return line_answers(said, owner, columns()) if rules.are_lines else np.asarray(np.array(said, np.float64)[owner])
