"""What a rule is known by: the object that a user's own functions are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.constraints.samples import Strata
from omtree.data.table import Feature, FloatArray
from omtree.problem.graph import Condition


class RuleFacts:
    """Conditions and statistics of one rule.

    Attributes
    ----------
    support : float
        Sample weight in the rule.
    share : float
        Its part of all the weight.
    prediction : object
        The predicted class; None where the target is a number.
    mean, deviation : float
        Of the target, where it is a number; NaN otherwise.
    """

    def __init__(
        self,
        raw: Sequence[tuple[int, Sequence[int]]],
        features: Sequence[Feature],
        weights: FloatArray,
        strata: Strata,
        classes: Sequence[Any],
        label: int,
        moments: Sequence[float] | npt.NDArray[np.floating] | None = None,
    ) -> None:
        self._raw, self._features = raw, features
        self._weights, self._strata, self._classes = weights, strata, classes
        self.support = float(weights.sum())
        total = float(strata.totals.sum())
        self.share = self.support / total if total > 0 else 0.0
        self.label = label
        self.prediction = classes[label] if classes else None
        self.mean = self.deviation = math.nan
        if moments is not None and moments[0] > 0:
            self.mean = float(moments[1] / moments[0])
            self.deviation = math.sqrt(max(0.0, float(moments[2] / moments[0]) - self.mean**2))

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that the rule tests."""
        return tuple(self._features[feature].name for feature, _ in self._raw)

    def reaches(self, feature: str, codes: Callable[[Feature], frozenset[int]]) -> bool:
        """Whether a row with one of these codes of a feature can meet the rule."""
        for place, inside in self._raw:
            if self._features[place].name == feature:
                return not codes(self._features[place]).isdisjoint(inside)
        return True

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions; ``str()`` of one is in words."""
        return tuple(
            Condition(feature, tuple(codes), self._features[feature].describe(codes)) for feature, codes in self._raw
        )

    @cached_property
    def class_weights(self) -> Mapping[Any, float]:
        """Sample weight of each class."""
        sums = np.bincount(self._strata.label, weights=self._weights, minlength=len(self._classes))
        return dict(zip(self._classes, sums.tolist(), strict=True)) if self._classes else {}

    @property
    def confidence(self) -> float:
        """Share of the predicted class in the rule; NaN where the target is a number."""
        if not self._classes or self.support <= 0:
            return math.nan
        return float(self._weights[self._strata.label == self.label].sum()) / self.support

    def weight(self, class_: Any = None, **groups: Any) -> float:
        """Sample weight of a class and of groups within the rule, such as ``weight("yes", sex="F")``.

        Group columns are known where the constraint names them.
        """
        chosen = np.ones(len(self._strata), dtype=bool)
        if class_ is not None:
            chosen &= self._strata.label == self._position(class_)
        for name, level in groups.items():
            if name not in self._strata.groups:
                raise ValueError(f"The group column {name!r} is not known here; name it in the constraint's groups.")
            # A group that the samples do not have weighs nothing.
            places = [i for i, known in enumerate(self._strata.levels[name]) if known == level]
            chosen &= np.isin(self._strata.groups[name], places)
        return float(self._weights[chosen].sum())

    def _position(self, class_: Any) -> int:
        for position, known in enumerate(self._classes):
            if known == class_:
                return position
        raise ValueError(f"The class {class_!r} is not known; y has {', '.join(map(repr, self._classes))}.")

    def group_sums(self, column: str, label: int | None = None) -> FloatArray:
        """Sample weight of each group of a column within the rule, of one class where given."""
        weights = self._weights if label is None else self._weights * (self._strata.label == label)
        groups = self._strata.groups[column]
        return np.bincount(groups, weights, len(self._strata.levels[column])).astype(np.float64)

    def __repr__(self) -> str:
        text = " and ".join(map(str, self.conditions)) or "always"
        return f"<RuleFacts: {text}, support {self.support:g}, prediction {self.prediction!r}>"
