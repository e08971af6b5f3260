"""Trees whose leaves have a price: the best one, and those for all higher prices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from omtree.deadline import Deadline
from omtree.engines.answers import TreeAnswer
from omtree.engines.trees import TreeSolution
from omtree.engines.trees.neighbourhoods import weighed
from omtree.model.sizes import SizedTrees
from omtree.problem.problem import Node, Problem, Solution, leaves_of

#: Trees whose values differ by less than this share are equally good.
_EQUAL = 1e-9

Search = Callable[[Problem, Deadline], TreeSolution]


def best_for_price(
    problem: Problem,
    deadline: Deadline,
    of_any_depth: Callable[..., TreeSolution | None],
    of_every_size: Search,
    in_common_terms: Callable[[TreeSolution, float, float], Solution],
) -> TreeAnswer:
    """The tree of least loss and price of its leaves.

    Parameters
    ----------
    problem : Problem
        With a `leaf_price` above zero.
    deadline : Deadline
    of_any_depth : callable
        Searches where neither depth nor leaves are limited; None where the problem is not one for it.
    of_every_size : callable
        Searches for the best tree of every size within the limits.
    in_common_terms : callable
        What a search came to, with its value and bound.

    Raises
    ------
    ValueError
        Where there are no limits and the search without them is not for the problem.
    """
    if problem.any_size and problem.graph.levels:

        def solve(price: float, limit: Deadline) -> TreeSolution | None:
            return of_any_depth(replace(problem, leaf_price=price), deadline=limit)

        free = solve(problem.leaf_price, deadline)
        if free is not None:
            if free.tree is None:
                return _infeasible()
            path = partial(_path_of_problem, problem, solve, free.tree, deadline)
            solution = in_common_terms(free, free.value, free.bound)
            return TreeAnswer(solution, free.tree, len(leaves_of(free.tree)), path)
        if not problem.limited:
            raise ValueError(
                "Trees of any depth with a leaf_price are for errors, costs, squared and Poisson loss and "
                "impurities, groups of nominal values, no constraints and some thousand cuts at most; give "
                "max_depth a number."
            )
    found = of_every_size(problem, deadline)
    if found.tree is None:
        return _infeasible()
    values = found.losses + problem.leaf_price * np.arange(1, len(found.losses) + 1)
    leaves = int(np.argmin(values)) + 1
    value = float(values[leaves - 1])
    bound = value if found.status == "optimal" else min(value, found.bound + problem.leaf_price)
    sizes = SizedTrees(found.trees, found.losses.tolist(), found.status == "optimal")
    return TreeAnswer(in_common_terms(found, value, bound), found.trees[leaves - 1], len(found.trees), lambda: sizes)


def _infeasible() -> TreeAnswer:
    return TreeAnswer(Solution((), "infeasible", math.inf, math.inf), None)


def _path_of_problem(
    problem: Problem, solve: Callable[[float, Deadline], TreeSolution | None], root: Node, deadline: Deadline
) -> SizedTrees:
    """The best trees for all higher prices, in the time of the fit once more."""
    limit = deadline.again()

    def solve_again(price: float) -> TreeSolution:
        found = solve(price, limit)
        assert found is not None, "a price does not decide whether the search is for a problem"
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    def loss(tree: Node) -> float:
        return weighed(problem, tree)[1]

    single, _ = weighed(problem, Node(0))
    return price_path(solve_again, loss, single, root, limit)


@dataclass(frozen=True)
class _Point:
    """A tree that is the best one for some price: its leaves and its loss without their price."""

    leaves: int
    loss: float
    root: Node


def price_path(
    solve: Callable[[float], TreeSolution], loss: Callable[[Node], float], single: Node, root: Node, deadline: Deadline
) -> SizedTrees:
    """The best trees for all prices from that of a fit on, and what they say about every number of leaves.

    Parameters
    ----------
    solve : callable
        The best tree for a price.
    loss : callable
        The loss of a tree, without the price of its leaves.
    single : Node
        The tree of one leaf.
    root : Node
        The best tree for the least price.
    deadline : Deadline
        Where it ends the search, sizes whose tree is not known yet have that of a smaller one.

    Returns
    -------
    SizedTrees
        A size that is the best for no price has the tree of the next smaller one that is. Its bound is on the line
        between the two sizes around it, as no tree is below that.
    """

    def point(tree: Node) -> _Point:
        return _Point(len(leaves_of(tree)), loss(tree), tree)

    points = [point(single), point(root)] if root.branches else [point(single)]
    place, proven = 0, True
    while place + 1 < len(points):
        left, right = points[place], points[place + 1]
        line = (left.loss - right.loss) / (right.leaves - left.leaves)
        if right.leaves - left.leaves == 1 or line <= 0.0:
            place += 1
            continue
        if deadline.expired:
            proven = False
            break
        found = solve(line)
        proven = proven and found.status == "optimal"
        if found.value < (left.loss + line * left.leaves) * (1.0 - _EQUAL):
            assert found.tree is not None
            points.insert(place + 1, point(found.tree))
        else:
            place += 1
    return _by_size(points, proven)


def _by_size(points: Sequence[_Point], proven: bool) -> SizedTrees:
    roots, losses, bounds = [points[0].root], [points[0].loss], [points[0].loss]
    for left, right in pairwise(points):
        slope = (left.loss - right.loss) / (right.leaves - left.leaves)
        for leaves in range(left.leaves + 1, right.leaves):
            roots.append(left.root)
            losses.append(left.loss)
            bounds.append(left.loss - slope * (leaves - left.leaves))
        roots.append(right.root)
        losses.append(right.loss)
        bounds.append(right.loss)
    every = proven and losses == bounds
    return SizedTrees(roots, losses, every, None if every or not proven else tuple(bounds))
