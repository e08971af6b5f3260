"""The four programs as adapters."""

from __future__ import annotations

import time
from typing import Any, Protocol

import numpy as np
import pandas as pd

from benchmarks.coding import Numbers, ZeroOne, has_numbers
from benchmarks.rivals.base import Fitted, Limits, fitted, package_version
from benchmarks.rivals.mip.binoct import BinOct
from benchmarks.rivals.mip.flowoct import FlowOct
from benchmarks.rivals.mip.model import Answer
from benchmarks.rivals.mip.oct import Oct
from benchmarks.rivals.mip.s1o import S1O

#: The paper's weights of complexity for OCT and FlowOCT.
PENALTIES = (0.0, 0.01, 0.1)


class _Tree(Protocol):
    def predict(self, matrix: np.ndarray) -> np.ndarray: ...


class Program:
    """One of the programs; the greedy tree is where each starts, so that there always is an answer."""

    def __init__(self, name: str) -> None:
        self.name = name

    def version(self) -> str:
        """That of the solver: the model is part of this package."""
        return f"HiGHS {package_version('highspy')}"

    def grid(self, X: pd.DataFrame, depth: int) -> list[dict[str, Any]]:
        """Weights of complexity where the method has one."""
        return [{"penalty": penalty} for penalty in PENALTIES] if self.name in ("oct", "flowoct") else [{}]

    def fit(self, X: pd.DataFrame, y: np.ndarray, depth: int, limits: Limits, **options: Any) -> Fitted:
        """Build and solve; the limit holds for both together."""
        started = time.perf_counter()
        until = started + limits.seconds
        classes, labels = np.unique(y, return_inverse=True)
        code = ZeroOne(X, 5 if has_numbers(X) else 8) if self.name == "flowoct" else Numbers(X)
        tree, answer = self._solve(code(X), labels, depth, until, limits.threads, options.get("penalty", 0.0))
        spent = time.perf_counter() - started
        return fitted(
            lambda new: classes[tree.predict(code(new))],
            X,
            y,
            proven=answer.proven,
            seconds=spent,
            objective=answer.value,
            bound=answer.bound if np.isfinite(answer.bound) else None,
        )

    def _solve(
        self, matrix: np.ndarray, labels: np.ndarray, depth: int, until: float, threads: int, penalty: float
    ) -> tuple[_Tree, Answer]:
        match self.name:
            case "oct":
                return Oct(matrix, labels, depth, penalty).solve(until, threads)
            case "binoct":
                return BinOct(matrix, labels, depth).solve(until, threads)
            case "flowoct":
                return FlowOct(matrix, labels, depth, penalty).solve(until, threads)
            case "s1o":
                return S1O(matrix, labels, depth).solve(until, threads)
        raise ValueError(f"there is no program {self.name!r}.")
