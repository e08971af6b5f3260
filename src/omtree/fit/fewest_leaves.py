"""Of several best trees the one with fewest leaves, also where another search than that over codes found the loss."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from omtree.deadline import Deadline
from omtree.engines.dispatch import TreeSolver
from omtree.engines.trees.neighbourhoods import weighed
from omtree.fit.threshold_rounds import Refined
from omtree.problem.problem import Node, leaves_of

#: Seconds, and share of the time so far, that smaller trees are looked for.
LEAST_SECONDS, MORE_SECONDS = 0.2, 0.5
#: Losses are equal up to this share.
ROUNDING = 1e-9


def with_fewest_leaves(refined: Refined, search: TreeSolver, deadline: Deadline) -> Refined:
    """The same loss with fewer leaves, as far as the cuts of the tree allow it and the time suffices.

    The search over codes prefers few leaves by itself; a quick tree that is proven because equal rows cost as much, and
    the search over all cuts, look at the loss alone.

    Parameters
    ----------
    refined : Refined
        What one of those found.
    search : TreeSolver
    deadline : Deadline
        Of the fit.
    """
    known, value = refined.answer, refined.answer.solution.value
    if known.solution.status != "optimal" or known.fewest or refined.problem.model_limits:
        return refined
    limit = deadline.at_most(LEAST_SECONDS + MORE_SECONDS * deadline.elapsed)
    root = known.root
    assert root is not None
    slack = ROUNDING * max(value, weighed(refined.problem, Node(root.label))[1])
    while (leaves := len(leaves_of(root))) > 2 and not limit.expired:
        depth = min(refined.problem.max_depth, leaves - 2)
        found = search(replace(refined.problem, max_leaves=leaves - 1, max_depth=depth), limit)
        if found.root is None or found.solution.value > value + slack:
            break
        root = found.root
    if root is known.root:
        return refined
    sizes = partial(search.sizes_on_grid, refined.problem, root, value, deadline)
    return replace(refined, answer=replace(known, root=root, n_sizes=refined.problem.max_leaves, sizes=sizes))
