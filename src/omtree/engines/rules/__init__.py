"""Column generation over paths: the best set of disjoint rules."""

from omtree.engines.rules.column_generation import solve
from omtree.engines.rules.listed_rules import solve_listed
from omtree.engines.rules.options import Options

__all__ = ["Options", "solve", "solve_listed"]
