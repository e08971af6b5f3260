"""Trees near an old one: other answers than before have a price, and tests of other columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from omtree.constraints import Budget, Constraint
from omtree.data.table import FloatArray
from omtree.estimators.parameters import is_number
from omtree.sources.target import encode_labels


@dataclass(frozen=True)
class NearPrices:
    """What it costs to differ from an old model, in errors.

    Parameters
    ----------
    old : fitted classifier
    answer : float or None
        Of a row that gets another answer.
    column : float or None
        Of a row, for every column that its rule tests and the old model does not.
    """

    old: Any
    answer: float | None
    column: float | None

    @classmethod
    def of(cls, old: Any, change_price: Any, column_price: Any, constraints: Sequence[Constraint]) -> NearPrices | None:
        """The prices that `fit` was given, or None where it was given no old model."""
        given = {"change_price": change_price, "column_price": column_price}
        if old is None:
            for name, price in given.items():
                if price is not None:
                    raise ValueError(f"{name} goes with near, an old model; give one, or leave {name} out.")
            return None
        if not hasattr(old, "predict"):
            raise ValueError(f"near={old!r} is no fitted model; give one that predicts classes.")
        if change_price is None and column_price is None:
            raise ValueError("near has change_price=None and column_price=None; set one of them.")
        for name, price in given.items():
            if price is not None and (not is_number(price) or not 0 <= price < np.inf):
                raise ValueError(f"{name}={price!r} is not possible; use a number of at least 0, in errors.")
        if column_price is not None and not hasattr(old, "rules_"):
            raise ValueError("column_price needs an old model whose tests are known; give near a model of omtree.")
        if column_price and any(isinstance(each, Budget) and each.weight > 0 for each in constraints):
            raise ValueError("column_price does not go with a Budget that has a weight; set weight=0, or leave it out.")
        return cls(old, change_price, column_price)

    def of_answers(self, X: Any, y: Any) -> FloatArray | None:
        """What each answer costs for each row, by the sorted classes of `y`; None where it is plain errors."""
        if self.answer is None:
            return None
        classes, labels = encode_labels(y)
        before = np.asarray(self.old.predict(X))
        wrong = labels[:, None] != np.arange(len(classes))
        changed = before[:, None] != np.asarray(classes)[None, :]
        return np.asarray(wrong + float(self.answer) * changed, dtype=np.float64)

    def of_columns(self, names: Sequence[str]) -> tuple[Constraint, ...]:
        """The price of the columns among these that the old model does not test."""
        if not self.column:
            return ()
        rules = self.old.rules_
        tested = {rules.features[condition.feature].name for rule in rules for condition in rule.conditions}
        costs = {name: 1.0 for name in names if name not in tested}
        return (Budget(costs, weight=float(self.column)),) if costs else ()
