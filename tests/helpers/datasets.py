"""Data for tests, all generated: known small benchmarks in full, and tiny random tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from omtree.data.table import Feature, Kind, Table

#: Binary A, B, C: five disjoint rules that cover each of the 8 cells once, with no feature in all of them.
NOT_A_TREE = [
    [(0, {0}), (1, {1})],
    [(1, {0}), (2, {1})],
    [(0, {1}), (2, {0})],
    [(0, {0}), (1, {0}), (2, {0})],
    [(0, {1}), (1, {1}), (2, {1})],
]


@dataclass(frozen=True, eq=False)
class Data:
    """Samples in their original values; all features of one kind, without missing cells."""

    X: np.ndarray
    y: np.ndarray
    names: tuple[str, ...]
    kind: Kind

    def table(self) -> Table:
        """The data coded and merged; classes and values are numbered in sorted order."""
        classes, labels = np.unique(self.y, return_inverse=True)
        features, columns = [], []
        for column, name in enumerate(self.names):
            levels, codes = np.unique(self.X[:, column], return_inverse=True)
            columns.append(codes)
            order = _along_target(codes, labels, np.ones(len(labels)), len(levels)) if self.kind == "nominal" else None
            features.append(
                Feature(name, column, self.kind, len(levels), False, levels=tuple(levels.tolist()), target_order=order)
            )
        merged, row_of = np.unique(np.array(columns), axis=1, return_inverse=True)
        counts = np.zeros((merged.shape[1], len(classes)))
        np.add.at(counts, (row_of.ravel(), labels), 1.0)
        return Table(tuple(features), merged.astype(np.uint8), counts, row_of.ravel().astype(np.int64))


def tic_tac_toe() -> Data:
    """The 958 boards on which a game can end when x begins; the class says whether x has won (626 boards)."""
    boards = sorted(set(_final_boards("b" * 9, "x")))
    y = np.array(["positive" if _wins(board, "x") else "negative" for board in boards])
    names = tuple(f"{row}-{column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right"))
    return Data(np.array([list(board) for board in boards]), y, names, "nominal")


def _final_boards(board: str, player: str) -> Iterator[str]:
    if _wins(board, "x") or _wins(board, "o") or "b" not in board:
        yield board
        return
    for cell in range(9):
        if board[cell] == "b":
            yield from _final_boards(board[:cell] + player + board[cell + 1 :], "o" if player == "x" else "x")


def _wins(board: str, player: str) -> bool:
    lines = (board[0:3], board[3:6], board[6:9], board[0::3], board[1::3], board[2::3], board[0::4], board[2:7:2])
    return player * 3 in lines


def balance_scale() -> Data:
    """The 625 settings of a balance: it tips to the left (L), to the right (R), or stays (B)."""
    X = np.array(list(itertools.product(range(1, 6), repeat=4)))
    torque = X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]
    names = ("left-weight", "left-distance", "right-weight", "right-distance")
    return Data(X, np.array(["R", "B", "L"])[np.sign(torque) + 1], names, "ordinal")


def monks(problem: int) -> Data:
    """One of the three MONK's problems: all 432 robots, without noise."""
    X = np.array(list(itertools.product((1, 2, 3), (1, 2, 3), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2))))
    head, body, _, holding, jacket, _ = X.T
    if problem == 1:
        y = (head == body) | (jacket == 1)
    elif problem == 2:
        y = (X == 1).sum(axis=1) == 2
    elif problem == 3:
        y = ((jacket == 3) & (holding == 1)) | ((jacket != 4) & (body != 3))
    else:
        raise ValueError("problem must be 1, 2 or 3.")
    names = ("head_shape", "body_shape", "is_smiling", "holding", "jacket_color", "has_tie")
    return Data(X, y.astype(int), names, "nominal")


def random_table(
    rng: np.random.Generator,
    n_features: int | None = None,
    n_rows: int | None = None,
    n_classes: int | None = None,
    kinds: tuple[Kind, ...] = ("numeric", "ordinal", "nominal"),
    weights: str | None = None,
    missing: float = 0.3,
    max_values: int = 5,
) -> Table:
    """A tiny table: 1-4 features of 2-5 values, 3-14 merged rows, 2-3 classes.

    Parameters
    ----------
    rng : numpy.random.Generator
    n_features, n_rows, n_classes : int, optional
        Drawn when not given; `n_rows` is an upper limit, as few features may have fewer distinct rows.
    kinds : tuple of str
        Kinds to draw from.
    weights : {"unit", "integer", "fractional"}, optional
        Weights of samples; fractions are multiples of 1/4, so that their sums are exact. Drawn when not given.
    missing : float
        Chance that a feature has missing cells.
    max_values : int
        Most values of a feature, "missing" not counted.

    Notes
    -----
    Every code occurs in some row, except that ordinal features may have levels that no row has. Each class that a
    row has is one sample in `row_of`, row by row, as `samples` lists them.
    """
    while True:
        k = n_features or int(rng.integers(1, 5))
        chosen: list[Kind] = [kinds[int(rng.integers(len(kinds)))] for _ in range(k)]
        values = rng.integers(2, max_values + 1, size=k)
        with_missing = rng.random(k) < missing
        shape = tuple((values + with_missing).tolist())
        size = min(n_rows or int(rng.integers(3, 15)), int(np.prod(shape)))
        codes = np.array(np.unravel_index(rng.choice(int(np.prod(shape)), size, replace=False), shape))
        classes = n_classes or int(rng.integers(2, 4))
        counts = _random_counts(rng, size, classes, weights or str(rng.choice(["unit", "integer", "fractional"])))
        if all(len(np.unique(row)) > 1 for row in codes) and (counts.sum(axis=0) > 0).all():
            break
    features = []
    for position, kind in enumerate(chosen):
        row = codes[position]
        is_missing = row == values[position] if with_missing[position] else np.zeros(size, dtype=bool)
        n_values = int(values[position])
        if kind != "ordinal" or rng.random() < 0.5:
            present, row[~is_missing] = np.unique(row[~is_missing], return_inverse=True)
            n_values = len(present)
        row[is_missing] = n_values
        has_missing = bool(is_missing.any())
        features.append(_feature(position, kind, n_values, has_missing, row, counts))
    return Table(tuple(features), codes.astype(np.uint8), counts, np.nonzero(counts)[0].astype(np.int64))


def samples(table: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes (features x samples), labels and weights of samples that merge into the table, in the order of a
    random table's `row_of`.
    """
    rows, labels = np.nonzero(table.statistics)
    return table.codes[:, rows], labels, table.statistics[rows, labels]


def _random_counts(rng: np.random.Generator, n_rows: int, n_classes: int, weights: str) -> np.ndarray:
    counts = np.zeros((n_rows, n_classes))
    for row in range(n_rows):
        for _ in range(int(rng.integers(1, 4)) if rng.random() < 0.4 else 1):
            weight = {"unit": 1.0, "integer": int(rng.integers(1, 6)), "fractional": int(rng.integers(1, 13)) / 4}
            counts[row, rng.integers(n_classes)] += weight[weights]
    return counts


def _feature(
    position: int, kind: Kind, n_values: int, has_missing: bool, codes: np.ndarray, counts: np.ndarray
) -> Feature:
    name = f"{kind}_{position}"
    if kind == "numeric":
        return Feature(name, position, kind, n_values, has_missing, thresholds=np.arange(1, n_values) - 0.5)
    levels = tuple("abcdefghij"[:n_values])
    if kind == "ordinal":
        return Feature(name, position, kind, n_values, has_missing, levels=levels)
    rows, labels = np.nonzero(counts)
    order = _along_target(codes[rows], labels, counts[rows, labels], n_values + has_missing)
    return Feature(name, position, kind, n_values, has_missing, levels=levels, target_order=order)


def _along_target(codes: np.ndarray, labels: np.ndarray, weights: np.ndarray, n_codes: int) -> tuple[int, ...]:
    """Codes by the mean class index of their samples."""
    total = np.bincount(codes, weights, n_codes)
    mean = np.bincount(codes, weights * labels, n_codes) / np.maximum(total, 1e-12)
    return tuple(np.argsort(mean, kind="stable").tolist())
