"""The best tree that begins like a given one, by trying all of them; shares nothing with the package."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

Rows = frozenset[int]


def tiny(seed: int, n: int = 24) -> tuple[pd.DataFrame, np.ndarray]:
    """A number, a nominal column and a flag, with a class that depends on all of them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"x": rng.integers(0, 4, n) / 1.0, "c": rng.choice(["p", "q", "r"], n), "f": rng.integers(0, 2, n) / 1.0}
    )
    score = X.x + 2 * (X.c == "q") + X.f
    return X, np.where(rng.random(n) < 0.25, rng.integers(0, 2, n), score > 2.5).astype(int)


def splits(
    X: pd.DataFrame, rows: Rows, name: str, most: float, cuts: dict[str, list[float]] | None = None
) -> Iterator[list[tuple[frozenset[Any], Rows]]]:
    """Every way to split a column among some rows: the values of each child, and its rows; numbers at `cuts` alone."""
    values = sorted({X[name].iloc[row] for row in rows})
    if name == "c":
        ways = [
            [frozenset(v for v, g in zip(values, groups, strict=True) if g == i) for i in range(max(groups) + 1)]
            for groups in itertools.product(range(len(values)), repeat=len(values))
            if all(g <= max(groups[:i], default=-1) + 1 for i, g in enumerate(groups))
        ]
    else:
        ways = []
        allowed = [cuts is None or any(a < cut <= b for cut in cuts[name]) for a, b in itertools.pairwise(values)]
        for places in itertools.product([False, True], repeat=max(0, len(values) - 1)):
            if any(cut and not may for cut, may in zip(places, allowed, strict=True)):
                continue
            parts = [[values[0]]]
            for cut, value in zip(places, values[1:], strict=True):
                if cut:
                    parts.append([])
                parts[-1].append(value)
            ways.append([frozenset(part) for part in parts])
    for way in ways:
        if 2 <= len(way) <= most:
            yield [(part, frozenset(r for r in rows if X[name].iloc[r] in part)) for part in way]


def cheapest(
    X: pd.DataFrame,
    y: np.ndarray,
    spec: dict[str, Any],
    rows: Rows,
    depth: int,
    leaves: int,
    *,
    binary: bool,
    cuts: dict[str, list[float]] | None = None,
    banned: frozenset[str] = frozenset(),
) -> list[float]:
    """Fewest errors of a tree that begins like the spec, with at most 0, 1, ... leaves; from the definitions alone."""
    ones = sum(int(y[row]) for row in rows)
    by_answer = {0: ones, 1: len(rows) - ones}
    best = [math.inf] * (leaves + 1)
    banned = banned | set(spec.get("without", ()))
    if "split" not in spec:
        alone = by_answer[spec["answer"]] if "answer" in spec else min(by_answer.values())
        best = [math.inf] + [math.inf if spec.get("leaf") is False else float(alone)] * leaves
    if depth == 0 or spec.get("leaf") or "answer" in spec:
        return best
    for name in [spec["split"]] if "split" in spec else list(X.columns):
        if name in banned:
            continue
        for way in splits(X, rows, name, 2 if binary else math.inf, cuts):
            below: list[dict[str, Any]] = [{} for _ in way]
            if "at" in spec or "groups" in spec:
                if "at" in spec:
                    side = {v: int(np.searchsorted(spec["at"], v, side="right")) for v in X[name].unique()}
                    n_parts = len(spec["at"]) + 1
                else:
                    named = {v: i for i, group in enumerate(spec["groups"]) for v in group}
                    side = {v: named.get(v, len(spec["groups"])) for v in X[name].unique()}
                    n_parts = len(set(side.values()))
                owners = [{side[v] for v in part} for part, _ in way]
                if any(len(owner) > 1 for owner in owners) or not len(set().union(*owners)) == len(way) == n_parts:
                    continue
                given = [*spec.get("below", ()), *({} for _ in range(n_parts))]
                below = [given[next(iter(owner))] for owner in owners]
            total = [0.0] + [math.inf] * leaves
            for (_, inside), child in zip(way, below, strict=True):
                found = cheapest(X, y, child, inside, depth - 1, leaves, binary=binary, cuts=cuts, banned=banned)
                total = [min(total[i] + found[m - i] for i in range(m + 1)) for m in range(leaves + 1)]
            best = [min(a, b) for a, b in zip(best, total, strict=True)]
    return best
