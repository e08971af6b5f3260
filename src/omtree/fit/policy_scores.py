"""What each action would have brought each row, estimated from what was done and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from omtree.data.column import Columns
from omtree.data.table import FloatArray

Method = Literal["dr", "ipw", "dm"]
Positions = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PolicyScores:
    """Scores of every action for every row, whose mean over the rows a policy treats is what it would bring.

    Attributes
    ----------
    rewards : array of float, shape (n_samples, n_actions)
    least_propensity : float or None
        The smallest chance of the action that was taken, before clipping; None where no chances were needed.
    clipped : int
        Rows whose chance was lifted to the least that is allowed.
    """

    rewards: FloatArray
    least_propensity: float | None = None
    clipped: int = 0


@dataclass(frozen=True, eq=False)
class Scorer:
    """How the scores are made.

    Attributes
    ----------
    method : {"dr", "ipw", "dm"}
        Doubly robust, inverse propensity weighting, or the direct method.
    clip : float
        Least chance of an action; smaller ones are lifted to it.
    folds : int
        Models of chances and outcomes are fitted to all folds but the one whose rows they score.
    seed : int
    """

    method: Method
    clip: float
    folds: int
    seed: int

    def __call__(
        self,
        X: Any,
        columns: Columns,
        taken: Positions,
        outcome: FloatArray,
        weight: FloatArray,
        n_actions: int,
        propensity: Any = None,
        outcome_model: Any = None,
    ) -> PolicyScores:
        """The scores of all rows.

        Parameters
        ----------
        X : array or data frame
            What models that are given are fitted to.
        columns : Columns
            The same as read; default models see these.
        taken : array of int
            The action that was taken, by its position.
        outcome : array of float
        weight : array of float
        n_actions : int
        propensity : None, classifier, or array
            The chance of the action that was taken, or of each action; or what estimates it.
        outcome_model : None, estimator, or array of shape (n_samples, n_actions)
            What outcome to expect of each action; or what estimates it.
        """
        expected = np.zeros((len(taken), n_actions))
        if self.method != "ipw":
            expected = self._expected(X, columns, taken, outcome, weight, n_actions, outcome_model)
        if self.method == "dm":
            return PolicyScores(expected)
        chance = self._chances(X, columns, taken, weight, n_actions, propensity)
        every = np.arange(len(taken))
        rewards = expected.copy()
        rewards[every, taken] += (outcome - expected[every, taken]) / np.maximum(chance, self.clip)
        return PolicyScores(rewards, float(chance.min()), int((chance < self.clip).sum()))

    def _chances(
        self, X: Any, columns: Columns, taken: Positions, weight: FloatArray, n_actions: int, given: Any
    ) -> FloatArray:
        """The chance of the action that was taken."""
        if given is not None and not hasattr(given, "fit"):
            return _check_chances(given, taken, n_actions)
        model = given
        rows: Any = X
        if model is None:
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            rows = _numbers(columns)
        elif not hasattr(model, "predict_proba"):
            raise ValueError(
                "propensity has no predict_proba; give a classifier, or the chances themselves as an array."
            )
        chance = np.empty(len(taken))
        for train, test in self._split(taken, n_actions, "propensity"):
            fitted = clone(model).fit(_safe_indexing(rows, train), taken[train], **_weights(model, weight[train]))
            shares = fitted.predict_proba(_safe_indexing(rows, test))
            place = {int(label): i for i, label in enumerate(fitted.classes_)}
            chance[test] = [shares[i, place[int(label)]] for i, label in enumerate(taken[test])]
        return chance

    def _expected(
        self,
        X: Any,
        columns: Columns,
        taken: Positions,
        outcome: FloatArray,
        weight: FloatArray,
        n_actions: int,
        given: Any,
    ) -> FloatArray:
        """The outcome to expect of each action, from the rows of other folds that had it."""
        if given is not None and not hasattr(given, "fit"):
            return _check_expected(given, len(taken), n_actions)
        model = given
        rows: Any = X
        if model is None:
            model = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=8, random_state=self.seed)
            rows = _numbers(columns)
        expected = np.empty((len(taken), n_actions))
        for train, test in self._split(taken, n_actions, "outcome_model"):
            for action in range(n_actions):
                own = train[taken[train] == action]
                fitted = clone(model).fit(_safe_indexing(rows, own), outcome[own], **_weights(model, weight[own]))
                expected[test, action] = _said(fitted, _safe_indexing(rows, test))
        return expected

    def _split(self, taken: Positions, n_actions: int, what: str) -> list[tuple[Positions, Positions]]:
        counts = np.bincount(taken, minlength=n_actions)
        if counts.min() < self.folds:
            raise ValueError(
                f"One of the actions was taken in {counts.min()} rows only, fewer than the {self.folds} folds that "
                f"estimate {what}; give {what} as an array, lower score_folds, or leave those rows out."
            )
        folds = StratifiedKFold(self.folds, shuffle=True, random_state=self.seed)
        return list(folds.split(np.zeros(len(taken)), taken))


def _said(model: Any, rows: Any) -> FloatArray:
    """What a fitted model expects: of a classifier of 0 and 1, the chance of 1."""
    if is_classifier(model):
        shares = model.predict_proba(rows)
        return np.asarray(shares @ np.asarray(model.classes_, dtype=np.float64))
    return np.asarray(model.predict(rows), dtype=np.float64)


def _weights(model: Any, weight: FloatArray) -> dict[str, FloatArray]:
    """The weights of the rows as the fit of a model takes them; none where all are equal."""
    if np.ptp(weight) == 0:
        return {}
    steps = getattr(model, "steps", None)
    return {"sample_weight" if steps is None else f"{steps[-1][0]}__sample_weight": weight}


def _numbers(columns: Columns) -> FloatArray:
    """The columns as numbers without gaps: levels of nominal ones apart, missing cells at the mean and marked."""
    found = []
    for column in columns:
        if column.kind == "nominal" and column.levels is not None:
            places = np.asarray(column.values)
            counts = np.bincount(places[places >= 0], minlength=len(column.levels))
            # Levels of few rows tell models little, and there may be thousands.
            found += [(places == level).astype(np.float64) for level in np.argsort(-counts, kind="stable")[:20]]
            continue
        values = np.asarray(column.values, dtype=np.float64)
        missing = np.isnan(values) if column.levels is None else values < 0
        if missing.any():
            found.append(missing.astype(np.float64))
            values = np.where(missing, values[~missing].mean() if not missing.all() else 0.0, values)
        found.append(np.clip(values, -1e30, 1e30))
    return np.column_stack(found)


def _check_chances(given: Any, taken: Positions, n_actions: int) -> FloatArray:
    chances = _floats(given, "propensity", "chances between 0 and 1")
    if chances.shape == (len(taken), n_actions):
        chances = chances[np.arange(len(taken)), taken]
    if chances.shape != (len(taken),):
        raise ValueError(
            f"propensity has shape {chances.shape}; give the chance of the action that was taken for each of the "
            f"{len(taken)} rows, or one for each action."
        )
    if chances.min(initial=1.0) < 0 or chances.max(initial=0.0) > 1:
        raise ValueError("propensity has numbers below 0 or above 1; give chances.")
    return chances


def _check_expected(given: Any, n_samples: int, n_actions: int) -> FloatArray:
    expected = _floats(given, "outcome_model", "expected outcomes, or an estimator")
    if expected.shape != (n_samples, n_actions):
        raise ValueError(
            f"outcome_model has shape {expected.shape}; give an estimator, or the expected outcome of each of the "
            f"{n_samples} rows under each of the {n_actions} actions."
        )
    return expected


def _floats(given: Any, name: str, wanted: str) -> FloatArray:
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} has entries that are not numbers; give {wanted}.") from None
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} has missing or infinite entries; give {wanted}.")
    return numbers
