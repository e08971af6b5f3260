"""Exact search over multiway trees."""

from omtree.engines.trees.any_depth import solve_any_depth
from omtree.engines.trees.general import solve_general
from omtree.engines.trees.search import solve, solve_counts, solve_priced
from omtree.engines.trees.solution import TreeSolution
from omtree.engines.trees.sums import solve_sums

__all__ = [
    "TreeSolution",
    "solve",
    "solve_any_depth",
    "solve_counts",
    "solve_general",
    "solve_priced",
    "solve_sums",
]
