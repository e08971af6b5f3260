"""Real numbers, hundreds of rows: what a short limit says against what a long one proves, and the greedy tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import omtree

#: Seconds after which what is not proven is left alone.
LONG = 4.0
SHORT = (0.01, 0.05, 0.3)


@dataclass(frozen=True)
class Question:
    """A table of numbers, some of which repeat or are missing, and what is asked of it."""

    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray | None
    regression: bool
    parameters: dict[str, Any]

    def fit(self, limit: float) -> Any:
        """The model after so many seconds."""
        kind = omtree.OptimalTreeRegressor if self.regression else omtree.OptimalTreeClassifier
        return kind(**self.parameters, time_limit=limit).fit(self.X, self.y, sample_weight=self.weight)

    def loss(self, predicted: np.ndarray) -> float:
        """What predictions cost on the rows of the table."""
        weight = np.ones(len(self.y)) if self.weight is None else self.weight
        wrong = (self.y - predicted) ** 2 if self.regression else (self.y != predicted)
        return float(weight @ wrong)

    def greedy(self) -> float:
        """What the greedy tree of the same depth, leaves and support costs."""
        kind = DecisionTreeRegressor if self.regression else DecisionTreeClassifier
        limits = {"max_depth": self.parameters["max_depth"], "min_samples_leaf": self.parameters["min_samples_leaf"]}
        tree = kind(**limits, random_state=0).fit(self.X, self.y)
        return self.loss(tree.predict(self.X))


def some_question(rng: np.random.Generator) -> Question:
    """Columns of normal numbers, of few values and of a long tail; a target that some of them decide, with noise."""
    n, k = int(rng.integers(30, 500)), int(rng.integers(2, 7))
    X = rng.normal(size=(n, k))
    for column in range(k):
        shape = rng.integers(4)
        if shape == 1:
            X[:, column] = np.round(X[:, column] * rng.integers(1, 4))
        elif shape == 2:
            X[:, column] = np.where(rng.random(n) < 0.9, 0.0, np.exp(3 * X[:, column]))
    signal = X[:, 0] * np.sign(X[:, 1]) + 0.5 * np.abs(X[:, k - 1]) + rng.uniform(0, 1) * rng.normal(size=n)
    regression = bool(rng.random() < 0.4)
    cuts = np.quantile(signal, np.sort(rng.uniform(0.1, 0.9, int(rng.integers(1, 4)))))
    y = np.round(signal, 3) if regression else np.digitize(signal, cuts)
    if not regression and len(np.unique(y)) < 2:
        y[0] = 1 - y[0]
    if rng.random() < 0.2:
        X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(1, 4, n).astype(float) if rng.random() < 0.3 else None
    parameters: dict[str, Any] = {
        "max_depth": int(rng.integers(1, 6)),
        "min_samples_leaf": int(rng.choice([1, 1, 5])),
        "binning": str(rng.choice(["adaptive", "exact"])),
        "splits": str(rng.choice(["multiway", "binary"])),
    }
    return Question(pd.DataFrame(X, columns=[f"c{i}" for i in range(k)]), y, weight, regression, parameters)


def faults(question: Question) -> list[str]:
    """What does not hold: the bound is no bound, or a longer, an exact or a greedy look gives another picture."""
    found = []
    long = question.fit(LONG)
    certificate = long.certificate_
    scale = 1e-9 * max(1.0, question.loss(np.full(len(question.y), question.y.mean())))
    least = question.loss(long.predict(question.X))
    if abs(least - certificate.value) > 1e3 * scale:
        found.append(f"predictions cost {least}, the certificate says {certificate.value}")
    if question.weight is None and not question.X.isna().any(axis=None) and least > question.greedy() + scale:
        found.append(f"{least} after {LONG} s, the greedy tree {question.greedy()}")
    for limit in SHORT:
        short = question.fit(limit).certificate_
        if short.bound > short.value + scale:
            found.append(f"bound {short.bound} above value {short.value} after {limit} s")
        if question.parameters["binning"] == "exact":
            if short.bound > certificate.value + scale:
                found.append(f"bound {short.bound} after {limit} s above a tree of {certificate.value}")
            if certificate.status == "optimal" and short.value < certificate.value - scale:
                found.append(f"{short.value} after {limit} s, below the proven {certificate.value}")
    return found
