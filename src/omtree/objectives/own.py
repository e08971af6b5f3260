"""An objective that is a function of a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from omtree.objectives.objective import Objective, RuleStatistics


@dataclass(frozen=True)
class Own(Objective):
    """Wraps ``loss(rule_statistics) -> float``; nothing is assumed about the function."""

    function: Callable[[RuleStatistics], float]

    def loss(self, rule: RuleStatistics) -> float:
        """What the function says."""
        return float(self.function(rule))
