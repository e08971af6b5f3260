"""Exact search over multiway trees."""

from omtree.search.solve import TreeSolution, solve

__all__ = ["TreeSolution", "solve"]
