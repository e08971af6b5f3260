"""Trees over numbers as scikit-learn's own, so that what is written for its trees works with ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE, TREE_LEAF, TREE_UNDEFINED, Tree

from omtree.export.logic import Logic, plain, predicts_as_tree

if TYPE_CHECKING:
    from omtree.data.table import Feature
    from omtree.estimators.base import OptimalTreeBase

FloatArray = npt.NDArray[np.float64]


def to_sklearn(model: OptimalTreeBase) -> DecisionTreeClassifier | DecisionTreeRegressor:
    """A fitted tree of scikit-learn that answers as the model does.

    Parameters
    ----------
    model : fitted model

    Raises
    ------
    ValueError
        Where such a tree cannot say the same: rules that are no tree, texts, dates, groups of numbers that are not
        next to each other, leaves that do not give their most frequent class.
    """
    if not predicts_as_tree(model):
        raise ValueError("to_sklearn needs a tree: fit with structure='tree'.")
    if model.rules_.are_actions:
        raise ValueError("to_sklearn needs classes or numbers; scikit-learn has no trees of actions.")
    nodes = _Nodes(model)
    nodes.add(0, {})
    classifier = bool(nodes.logic.classes)
    depth = nodes.depth()
    options = {"max_depth": max(depth, 1), "max_leaf_nodes": max(len(nodes.logic.predictions), 2)}
    found = DecisionTreeClassifier(**options) if classifier else DecisionTreeRegressor(**options)
    found.n_features_in_ = found.max_features_ = model.n_features_in_
    found.n_outputs_ = 1
    if "feature_names_in_" in vars(model):
        found.feature_names_in_ = model.feature_names_in_
    counts = 1
    if classifier:
        found.classes_ = np.array(model.classes_)
        found.n_classes_ = np.int64(len(found.classes_))
        counts = int(found.n_classes_)
    found.tree_ = Tree(model.n_features_in_, np.array([counts], dtype=np.intp), 1)
    found.tree_.__setstate__(
        {
            "max_depth": depth,
            "node_count": len(nodes.rows),
            "nodes": np.array(nodes.rows, dtype=NODE_DTYPE),
            "values": np.array(nodes.values, dtype=np.float64).reshape(-1, 1, counts),
        }
    )
    return found


@dataclass
class _Piece:
    """A stretch of a column's numbers that leads to one child: from `low` on, these codes."""

    child: int
    low: float
    codes: set[int]
    seen: bool


@dataclass
class _Nodes:
    """The nodes of the tree while it is built, as scikit-learn stores them: children after their parents."""

    model: OptimalTreeBase
    rows: list[Any] = field(default_factory=list)
    values: list[FloatArray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.logic = Logic.of_one_answer(self.model, "The tree of scikit-learn")
        assert self.model.tree_ is not None
        self.tree = self.model.tree_

    def add(self, index: int, reachable: Mapping[int, frozenset[int]], seen: bool = True) -> int:
        """The node of the model's tree with all that is below it; returns its position.

        Parameters
        ----------
        index : int
            The node of the model's tree.
        reachable : mapping
            The codes that the splits above leave to each feature.
        seen : bool
            Whether rows of training come here; values that a node never saw may lead to a second copy of a branch.
        """
        node = self.tree.nodes[index]
        if node.rule is not None:
            return self._append(_Mass.of(self.model, [index] if seen else []), self._answer(index), None)
        assert node.feature is not None
        assert node.default is not None
        feature = self.tree.rules.features[node.feature]
        self._check(feature)
        child_of: dict[int, int] = {}
        for child in node.children:
            condition = self.tree.nodes[child].condition
            assert condition is not None
            child_of.update(dict.fromkeys(condition.codes, child))
        order, cuts = _line(feature)
        here = reachable.get(node.feature, frozenset(range(feature.n_codes)))
        pieces: list[_Piece] = []
        for place, code in enumerate(order):
            if code not in here:
                continue
            child = child_of.get(code, node.default)
            if not pieces or pieces[-1].child != child:
                pieces.append(_Piece(child, float(cuts[place - 1]) if place else -np.inf, set(), False))
            pieces[-1].codes.add(code)
            pieces[-1].seen |= seen and code in child_of
        children = [piece.child for piece in pieces if piece.seen]
        if len(set(children)) < len(children):
            raise ValueError(
                f"to_sklearn cannot carry the groups of values of column {feature.name!r} that are not next to each "
                "other; fit it as a number or as ordinal."
            )
        missing = child_of.get(feature.n_values, node.default) if feature.has_missing else node.default
        if feature.n_values in here or not feature.has_missing:
            own = next((piece for piece in pieces if piece.child == missing), None)
            if own is None:  # no number is beyond this threshold: what goes to the right of it is missing
                own = _Piece(missing, np.inf, set(), seen)
                pieces.append(own)
            own.codes.add(feature.n_values)
        return self._split(node.feature, pieces, reachable)

    def depth(self) -> int:
        """The number of splits on the longest path."""
        below = np.zeros(len(self.rows), dtype=int)
        for position in range(len(self.rows) - 1, -1, -1):
            left, right = self.rows[position][:2]
            if left != TREE_LEAF:
                below[position] = 1 + max(below[left], below[right])
        return int(below[0])

    def _split(self, place: int, pieces: list[_Piece], reachable: Mapping[int, frozenset[int]]) -> int:
        feature = self.tree.rules.features[place]
        if len(pieces) == 1:
            return self.add(pieces[0].child, {**reachable, place: frozenset(pieces[0].codes)}, pieces[0].seen)
        half = len(pieces) - 1 if np.isinf(pieces[-1].low) else len(pieces) // 2
        low, high = pieces[:half], pieces[half:]
        mass = _Mass.of(self.model, [piece.child for piece in pieces if piece.seen])
        missing_left = any(feature.n_values in piece.codes for piece in low)
        position = self._append(mass, mass.value, (feature.column, high[0].low, missing_left))
        left, right = self._split(place, low, reachable), self._split(place, high, reachable)
        self.rows[position] = (left, right, *self.rows[position][2:])
        return position

    def _append(self, mass: _Mass, value: FloatArray, test: tuple[int, float, bool] | None) -> int:
        # Scikit-learn goes to the left where a cell is at most the threshold, we where it is below; the threshold for
        # missing cells alone stays infinite, as its own trees have it.
        column, threshold, left = (TREE_UNDEFINED, TREE_UNDEFINED, False) if test is None else test
        if test is not None and np.isfinite(threshold):
            threshold = float(np.nextafter(threshold, -np.inf))
        rows = round(mass.weight)
        self.rows.append((TREE_LEAF, TREE_LEAF, column, threshold, mass.impurity, rows, mass.weight, left))
        self.values.append(value)
        return len(self.rows) - 1

    def _answer(self, index: int) -> FloatArray:
        rule = self.tree.nodes[index].rule
        assert rule is not None
        said = self.logic.predictions[rule]
        if not self.logic.classes:
            return np.array([said], dtype=np.float64)
        shares = np.empty(len(self.logic.classes))
        shares[self.model._class_order] = self.logic.shares[rule]
        place = [plain(label) for label in self.model.classes_].index(said)
        if shares[place] < shares.max():
            raise ValueError(
                f"to_sklearn cannot carry costs or constraints that make a leaf answer {said!r} where another class is "
                "more frequent: scikit-learn's trees give the most frequent one."
            )
        if int(np.argmax(shares)) != place:  # among equals scikit-learn takes the first
            shares[place] = np.nextafter(shares[place], 2.0)
        return shares

    def _check(self, feature: Feature) -> None:
        reading, part = self.logic.sources.get(feature.name, (None, None))
        levels = feature.levels or ()
        numbers = all(isinstance(plain(level), bool | int | float) for level in levels)
        if not numbers or part is not None or feature.unit or (reading is not None and reading.moment is not None):
            raise ValueError(
                f"to_sklearn needs numbers, and column {feature.name!r} has texts or dates; turn it into 0/1 columns "
                "before the fit."
            )


@dataclass(frozen=True)
class _Mass:
    """What scikit-learn tells of the training rows in a node."""

    weight: float
    value: FloatArray
    impurity: float

    @classmethod
    def of(cls, model: OptimalTreeBase, indices: list[int]) -> _Mass:
        """Of all leaves below some nodes."""
        assert model.tree_ is not None
        nodes = model.tree_.nodes
        leaves, waiting = [], list(indices)
        while waiting:
            node = nodes[waiting.pop()]
            waiting.extend(node.children)
            if node.rule is not None:
                leaves.append(model.rules_[node.rule])
        n_values = len(model.rules_.classes) or 1
        if not leaves:
            return cls(0.0, np.full(n_values, 1 / n_values if model.rules_.classes else 0.0), 0.0)
        weights = np.array([leaf.support for leaf in leaves], dtype=np.float64)
        weight = float(weights.sum())
        if model.rules_.classes:
            shares = np.zeros(len(model.rules_.classes))
            shares[model._class_order] = np.sum([leaf.class_weights for leaf in leaves], axis=0) / weight
            return cls(weight, shares, float(1.0 - np.sum(shares**2)))
        targets = [leaf.targets for leaf in leaves]
        means = np.array([leaf.prediction if t is None else t.mean for leaf, t in zip(leaves, targets, strict=True)])
        spread = np.array([0.0 if t is None else t.deviation**2 for t in targets])
        mean = float(weights @ means / weight)
        return cls(weight, np.array([mean]), float(weights @ (spread + (means - mean) ** 2) / weight))


def _line(feature: Feature) -> tuple[list[int], FloatArray]:
    """The codes of a feature in the order of their numbers, and a cut between each and the next."""
    if feature.levels is None:
        assert feature.thresholds is not None
        return list(range(feature.n_values)), feature.thresholds
    levels = np.array([float(plain(level)) for level in feature.levels])
    order = np.argsort(levels)
    return order.tolist(), (levels[order][1:] + levels[order][:-1]) / 2
