"""Squared error of leaves that answer by a line along a column, or by a plane over a few, with a price on slopes."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.model.line import Line, Slope
from omtree.objectives.objective import Objective, RuleStatistics
from omtree.problem.losses import LinesLoss, Loss
from omtree.sources.target import Target


class Lines(Objective):
    """The sum of squared distances from the lines of the rules, and of what their slopes cost.

    Every unit of weight pays the ridge times the squared slopes, in units of the columns' deviations: so a rule never
    costs less than two rules that share its rows. It has no name among the objectives: it comes with
    ``leaves="linear"``.
    """

    unit = "squared error with ridge"
    tasks = ()
    refines = True

    def loss(self, rule: RuleStatistics) -> float:
        """Of the best line."""
        slopes, _, residuals = _fitted(rule)
        assert rule.leaf_columns is not None
        price = rule.leaf_columns.ridge * float(rule.weights.sum()) * float((slopes**2).sum())
        return float((rule.weights * residuals**2).sum()) + price

    def predict(self, rule: RuleStatistics) -> Line:
        """The best line, in the units of the columns."""
        known = rule.leaf_columns
        assert known is not None
        slopes, centre, residuals = _fitted(rule)
        # The root of the mean square, of residuals whose squares might be no numbers.
        largest = float(np.abs(residuals).max(initial=0.0)) or 1.0
        deviation = largest * float(np.sqrt(np.average((residuals / largest) ** 2, weights=rule.weights)))
        parts = tuple(
            Slope(column, name, float(slopes[j] / scale), middle + float(centre[j]) * scale, middle)
            for j, (column, name, middle, scale) in enumerate(
                zip(known.columns, known.names, known.centres, known.scales, strict=True)
            )
            if slopes[j] != 0.0
        )
        return Line(rule.mean, deviation, parts)

    def sums(self, target: Target, weights: FloatArray) -> FloatArray:
        """Weight, target and its square, and what the columns add; from the means, or digits would be lost."""
        known, regressors = target.leaf_columns, target.regressors
        assert known is not None
        assert regressors is not None
        from_first, mean = RuleStatistics(targets=target.values, weights=weights).deviations
        centred = from_first - mean
        parts = [np.ones(len(weights)), centred]
        if known.together:
            parts += [*regressors.T, *(regressors * centred[:, None]).T]
            for i in range(len(known.columns)):
                for j in range(i, len(known.columns)):
                    parts.append(regressors[:, i] * regressors[:, j] + known.ridge * (i == j))
        else:
            for column in regressors.T:
                parts += [column, column**2 + known.ridge, column * centred]
        return np.asarray(weights[:, None] * np.column_stack([*parts, centred**2]))

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """From the sums."""
        assert target.leaf_columns is not None
        return LinesLoss(len(target.leaf_columns.columns), target.leaf_columns.together, target.leaf_columns.words)


def _fitted(rule: RuleStatistics) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The slopes, the means of the columns, both in units of their deviations, and the distances from the line."""
    known, columns = rule.leaf_columns, rule.regressors
    assert known is not None
    assert columns is not None
    weights = rule.weights
    total = float(weights.sum())
    from_first, mean = rule.deviations
    away = from_first - mean
    centre = (weights / total) @ columns
    inside = columns - centre
    products = (inside * (weights / total)[:, None]).T
    with_target = products @ away
    squares = products @ inside + known.ridge * np.eye(len(known.columns))
    slopes: FloatArray = np.zeros(len(known.columns))
    if known.together:
        slopes = np.asarray(np.linalg.solve(squares, with_target), dtype=np.float64)
    else:
        best = int(np.argmax(np.abs(with_target) / np.sqrt(np.diag(squares))))
        slopes[best] = with_target[best] / squares[best, best]
    return slopes, centre, away - inside @ slopes


objective = Lines
