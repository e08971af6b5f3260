"""What an adapter is: one way to fit a small model to a frame, whoever wrote the method."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd

Predict = Callable[[pd.DataFrame], np.ndarray]


class Absent(Exception):
    """The method is not installed or has no licence here; the message says which."""


@dataclass(frozen=True)
class Limits:
    """What a fit may use: seconds, threads, and the least share of the rows in a leaf."""

    seconds: float = 60.0
    threads: int = 1
    support: float = 0.01

    def least_rows(self, n: int) -> int:
        """The support as a number of rows."""
        return max(1, int(np.ceil(self.support * n - 1e-9)))


@dataclass(eq=False)
class Fitted:
    """A fitted model: how it predicts, its errors in training, whether they are proven to be the fewest, its seconds.

    Attributes
    ----------
    sizes : sequence of int
        Numbers of leaves for which `smaller` gives a model without a new fit.
    more : dict
        Whatever else the method tells, for the results file.
    """

    predict: Predict
    errors: int
    proven: bool
    seconds: float
    leaves: int | None = None
    sizes: tuple[int, ...] = ()
    smaller: Callable[[int], Fitted] | None = None
    more: dict[str, Any] = field(default_factory=dict)


class Rival(Protocol):
    """An adapter."""

    name: str

    def version(self) -> str:
        """Version of the method; raises `Absent` where it cannot run."""
        ...

    def grid(self, X: pd.DataFrame, depth: int) -> list[dict[str, Any]]:
        """The options among which validation chooses, in the order of the size of their models."""
        ...

    def fit(self, X: pd.DataFrame, y: np.ndarray, depth: int, limits: Limits, **options: Any) -> Fitted:
        """The best model of at most this depth that the method finds within the limits."""
        ...


def fitted(
    predict: Predict,
    X: pd.DataFrame,
    y: np.ndarray,
    *,
    proven: bool,
    seconds: float,
    leaves: int | None = None,
    **more: Any,
) -> Fitted:
    """A model whose errors are counted on the training rows, by its own predictions."""
    return Fitted(predict, int((predict(X) != y).sum()), proven, seconds, leaves, more=more)


def package_version(package: str) -> str:
    """Version of an installed package; raises `Absent` where there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        raise Absent(f"{package} is not installed") from None


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Seconds since the block began."""
    started = time.perf_counter()
    yield lambda: time.perf_counter() - started
