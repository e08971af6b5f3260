"""Exact search over multiway trees."""

from omtree.search.general import solve_general
from omtree.search.solve import TreeSolution, solve, solve_counts

__all__ = ["TreeSolution", "solve", "solve_counts", "solve_general"]
