"""omtree itself: trees, rules, and rules by the paper's method."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

import omtree
from benchmarks.coding import has_numbers
from benchmarks.rivals.base import Fitted, Limits, stopwatch

#: The paper chose the number of bins from these.
BINS = (8, 5, 4, 3)
#: The paper's method with the exact pricer at the end, and with its heuristic alone.
PRESETS = {"paper": omtree.Paper(), "paper-ksp": omtree.Paper(exact_last=False)}


class Ours:
    """`OptimalTreeClassifier` by one method; validation chooses bins and, but for the paper's method, leaves."""

    def __init__(self, method: Literal["tree", "rules", "paper", "paper-ksp"]) -> None:
        self.name = method
        self.structure = "tree" if method == "tree" else "rules"
        self.preset = PRESETS.get(method)

    def version(self) -> str:
        """Version of the package."""
        return omtree.__version__

    def grid(self, X: pd.DataFrame, depth: int) -> list[dict[str, Any]]:
        """Bins where there are numbers; leaves too for rules, whose smaller models need a fit of their own."""
        bins: list[dict[str, Any]] = [{"n_bins": n} for n in BINS] if has_numbers(X) else [{}]
        if self.structure == "tree" or self.preset is not None:
            return bins
        if len(bins) > 1:
            return [{}]
        return [{"max_leaves": 2**power} for power in range(depth, max(0, depth - 3), -1)]

    def fit(self, X: pd.DataFrame, y: np.ndarray, depth: int, limits: Limits, **options: Any) -> Fitted:
        """A fit with default settings but for the limits and what is in the options."""
        if "max_leaves" in options:
            options["max_leaves"] = min(options["max_leaves"], len(X))  # a split of a small set may have fewer rows
        model = omtree.OptimalTreeClassifier(
            max_depth=depth,
            structure=self.structure,
            preset=self.preset,
            min_samples_leaf=limits.support,
            time_limit=limits.seconds,
            n_jobs=limits.threads,
            **options,
        )
        with stopwatch() as seconds, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # columns that are constant in a small split
            model.fit(X, y)
            spent = seconds()
        return _describe(model, spent)


def _describe(model: Any, seconds: float) -> Fitted:
    certificate = model.certificate_
    found = Fitted(
        model.predict,
        round(certificate.value),
        certificate.status == "optimal",
        seconds,
        certificate.leaves,
        more={
            "bound": certificate.bound,
            "gap": certificate.gap,
            "lp_gap": certificate.lp_gap,
            "ended": certificate.ended,
            "phases": {phase: round(value, 4) for phase, value in certificate.seconds.items()},
        },
    )
    if certificate.structure != "tree":
        return found
    losses = model.loss_by_leaves_
    # Only sizes that are better than every smaller one.
    sizes = tuple(size for size in range(1, len(losses) + 1) if size == 1 or losses[size - 1] < losses[size - 2])
    return replace(
        found,
        sizes=sizes,
        smaller=lambda size: _describe(model.with_leaves(min(size, len(losses))), seconds),
    )
