"""Tiny data frames with a bit of everything, and their codes by the definitions alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from omtree.data.table import Feature

NUMBERS = (-1.5, 0.0, 2.0, 10.0)
SIZES = ("S", "M", "L", "XL")
COLOURS = ("blue", "green", "red", "white")


@dataclass(frozen=True, eq=False)
class Tiny:
    """A data set for one fit: columns, target, sample weights and, if there is one, the group of each sample."""

    X: pd.DataFrame
    y: np.ndarray
    weight: np.ndarray
    group: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Coded:
    """The columns as codes, equal rows merged; every value of a number is a code of its own."""

    features: tuple[Feature, ...]
    codes: np.ndarray
    row_of: np.ndarray


def random_regression(rng: np.random.Generator, counts: bool = False) -> Tiny:
    """A numeric target: a few halves around 0, or small counts (never all 0)."""
    X = random_columns(rng)
    y = rng.poisson(1.5, len(X)).astype(float) if counts else rng.integers(-6, 13, len(X)) / 2
    if counts and not y.any():
        y[0] = 1.0
    return Tiny(X, y, random_weights(rng, len(X)))


def random_grouped(rng: np.random.Generator, n_classes: int = 2) -> Tiny:
    """Classes 0, 1, ..., and a group "a" or "b" for every sample; each class and each group occurs."""
    X = random_columns(rng)
    y = rng.permutation(np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, len(X) - n_classes)]))
    group = rng.permutation(np.concatenate([["a", "b"], rng.choice(["a", "b"], len(X) - 2)]))
    return Tiny(X, y, random_weights(rng, len(X)), group)


def random_weights(rng: np.random.Generator, n: int) -> np.ndarray:
    """All one, whole, or multiples of 1/4 (so that sums are exact); none below a half."""
    kind = rng.integers(3)
    return np.ones(n) if kind == 0 else rng.integers(1, 5, n) / 1.0 if kind == 1 else rng.integers(2, 13, n) / 4


def random_columns(rng: np.random.Generator, n_rows: int = 10) -> pd.DataFrame:
    """Two or three columns of different kinds: 5 to `n_rows` distinct rows, some twice; each column varies."""
    while True:
        kinds = rng.permutation(["number", "size", "colour"])[: rng.integers(2, 4)]
        shape = tuple(rng.integers(2, 5, len(kinds)).tolist())
        size = int(rng.integers(5, n_rows + 1))
        if size > np.prod(shape):
            continue
        cells = rng.choice(int(np.prod(shape)), size, replace=False)
        cells = rng.permutation(np.concatenate([cells, rng.choice(cells, rng.integers(1, 5))]))
        picks = np.unravel_index(cells, shape)
        X = pd.DataFrame({kind: _column(kind, pick) for kind, pick in zip(kinds, picks, strict=True)})
        if rng.random() < 0.5:
            # A whole value goes missing: single cells would give more distinct rows.
            kind = str(rng.choice(kinds))
            X[kind] = X[kind].mask(X[kind] == X[kind].iloc[0])
        if all(X[kind].nunique(dropna=False) > 1 for kind in kinds):
            return X


def _column(kind: str, pick: np.ndarray) -> pd.Series:
    if kind == "number":
        return pd.Series(np.array(NUMBERS)[pick])
    if kind == "size":
        return pd.Series(pd.Categorical(np.array(SIZES)[pick], categories=SIZES, ordered=True))
    return pd.Series(np.array(COLOURS)[pick], dtype=object)


def code(X: pd.DataFrame) -> Coded:
    """Codes of a frame of numbers, ordered categories and text; levels that no sample has get none."""
    features, columns = [], []
    for position, name in enumerate(X.columns):
        column = X[name]
        missing = column.isna().to_numpy()
        ordinal = isinstance(column.dtype, pd.CategoricalDtype)
        present = set(column[~missing])
        values = [level for level in column.cat.categories if level in present] if ordinal else sorted(present)
        columns.append(
            [len(values) if gone else values.index(cell) for cell, gone in zip(column, missing, strict=True)]
        )
        kind = "ordinal" if ordinal else "numeric" if column.dtype.kind == "f" else "nominal"
        thresholds = (np.array(values[1:]) + np.array(values[:-1])) / 2 if kind == "numeric" else None
        levels = None if kind == "numeric" else tuple(values)
        features.append(
            Feature(name, position, kind, len(values), bool(missing.any()), thresholds=thresholds, levels=levels)
        )
    merged, row_of = np.unique(np.array(columns), axis=1, return_inverse=True)
    return Coded(tuple(features), merged, row_of.ravel())
