"""Prices between those of the last LP and the best ones known, which jump less from round to round."""

from __future__ import annotations

from omtree.engines.rules.pool import Duals

#: Most of the way from the LP's duals to the best ones known; how the share grows while the bound rises, and falls.
MOST, MORE, LESS = 0.8, 0.1, 0.3


class Smoothing:
    """How far to go from the duals of the LP towards those of the best bound; learns from what came of it."""

    def __init__(self) -> None:
        self.share = 0.0

    def between(self, duals: Duals, best: Duals | None) -> Duals:
        """The duals to price at; those of the LP themselves where nothing better is known."""
        return duals if best is None or self.share == 0.0 else duals.mix(best, self.share)

    def adapt(self, improved: bool) -> None:
        """Goes further while the bound rises."""
        self.share = min(MOST, self.share + MORE) if improved else max(0.0, self.share - LESS)

    def stop(self) -> None:
        """Nothing is left to find there: the LP's own duals are next."""
        self.share = 0.0
