"""Column generation over paths: the best set of disjoint rules."""

from omtree.columns.engine import solve
from omtree.columns.listed import solve_listed
from omtree.columns.options import Options

__all__ = ["Options", "solve", "solve_listed"]
