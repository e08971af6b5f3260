"""What a set of good trees tells: which columns they test, and how far they differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from omtree.constraints.parity import Parity
from omtree.data.table import Feature, FloatArray
from omtree.problem.problem import Node

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase


@dataclass(frozen=True)
class ImportanceRange:
    """The losses of the good trees that test a column, and of those that do not; not a number where there are none.

    Attributes
    ----------
    least_with, most_with, least_without, most_without : float
    """

    least_with: float
    most_with: float
    least_without: float
    most_without: float


class TreeSet(Sequence["OptimalTreeBase"]):
    """Trees over the same columns, in the order of their loss."""

    @property
    def losses(self) -> FloatArray:
        """The loss of each, in order."""
        raise NotImplementedError

    @property
    def ranks(self) -> list[int]:
        """Places by loss, from 1; trees of equal loss share one."""
        raise NotImplementedError

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns that they may test."""
        raise NotImplementedError

    def root(self, place: int) -> Node:
        """The tree at a place as a search knows it, without the cost of a model."""
        raise NotImplementedError

    def _tested(self) -> list[frozenset[str]]:
        """The columns that each tree tests."""
        features = self.features
        return [frozenset(features[f].name for f in _features_of(self.root(place))) for place in range(len(self))]

    def roots(self) -> dict[str, float]:
        """The share of the trees that test each column first, the most frequent first."""
        features = self.features
        first = [self.root(place).branches for place in range(len(self))]
        counted = Counter(features[branches[0][0].feature].name for branches in first if branches)
        return {name: times / len(self) for name, times in counted.most_common()}

    def importance_range(self) -> dict[str, ImportanceRange]:
        """For each column the least and the most loss of the trees that test it, and of those that do not."""
        tested, losses = self._tested(), self.losses
        found = {}
        for feature in self.features:
            uses = np.array([feature.name in names for names in tested], dtype=bool)
            found[feature.name] = ImportanceRange(*_range(losses[uses]), *_range(losses[~uses]))
        return found

    def disagreement(self, X: Any) -> FloatArray:
        """For each row the share of the trees that answer otherwise than most do; of numbers, how they are spread.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of float, shape (n_samples,)
            For numbers the standard deviation of the answers.
        """
        answers = np.stack([model.predict(X) for model in self])
        if not self[0].rules_.classes:
            return np.asarray(answers.std(axis=0))
        _, places = np.unique(answers, return_inverse=True)
        places = places.reshape(answers.shape)
        most = np.max([(places == place).sum(axis=0) for place in range(places.max() + 1)], axis=0)
        return np.asarray(1.0 - most / len(self))

    def gaps(self, X: Any, group: Any) -> FloatArray:
        """For each tree the largest difference between groups in how often they get a class, of all classes.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
        group : array, shape (n_samples,)
            The group of every row.

        Returns
        -------
        array of float, shape (n_trees,)
        """
        of_row = np.asarray(group, dtype=object)
        # What is missing is no group, and is not equal to itself.
        inside = [of_row == one for one in dict.fromkeys(of_row.tolist()) if one is not None and one == one]
        found = []
        for model in self:
            given = [model.predict(X) == label for label in model.rules_.classes]
            found.append(max(float(np.ptp([rows[among].mean() for among in inside])) for rows in given))
        return np.array(found)

    def facts(self) -> list[dict[str, Any]]:
        """What there is to compare of each tree.

        Place, rank, loss, leaves, depth, columns, cost of tests, and the largest gap between groups that a constraint
        of the fit is about, None where there is none.
        """
        lines = []
        for place, (model, rank) in enumerate(zip(self, self.ranks, strict=True), start=1):
            tree = model.tree_
            assert tree is not None
            features = model.rules_.features
            lines.append(
                {
                    "place": place,
                    "rank": rank,
                    "loss": model.certificate_.value,
                    "leaves": tree.n_leaves,
                    "depth": tree.depth,
                    "columns": sorted({features[n.feature].name for n in tree.nodes if n.feature is not None}),
                    "cost": sum(rule.cost * rule.support for rule in model.rules_) / model.rules_.support,
                    "gap": _gap(model),
                }
            )
        return lines


def _gap(model: OptimalTreeBase) -> float | None:
    titles = tuple(constraint.title for constraint in model._constraints if isinstance(constraint, Parity))
    checks = [check.value for check in model.certificate_.constraints if titles and check.name.startswith(titles)]
    return max(checks, default=None)


def _features_of(node: Node) -> set[int]:
    found = {condition.feature for condition, _ in node.branches}
    return found.union(*(_features_of(child) for _, child in node.branches))


def _range(losses: FloatArray) -> tuple[float, float]:
    return (float(losses.min()), float(losses.max())) if len(losses) else (math.nan, math.nan)
