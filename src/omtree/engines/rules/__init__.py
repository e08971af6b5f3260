"""Column generation over paths: the best set of disjoint rules."""

from omtree.engines.rules.listed_rules import solve_listed
from omtree.engines.rules.options import Options
from omtree.engines.rules.preset import Paper
from omtree.engines.rules.solve import solve

__all__ = ["Options", "Paper", "solve", "solve_listed"]
