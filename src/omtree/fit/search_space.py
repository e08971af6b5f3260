"""The models an engine chooses from, in words."""

from __future__ import annotations

import re
from typing import Literal

from omtree.problem.problem import Problem


def search_space(
    problem: Problem,
    structure: Literal["rules", "tree"],
    splits: Literal["multiway", "binary"],
    cuts: str,
    *,
    all_cuts: bool = False,
) -> str:
    """The models an engine chooses from, in a sentence.

    Parameters
    ----------
    problem : Problem
    structure : {"rules", "tree"}
    splits : {"multiway", "binary"}
    cuts : str
        Where numbers are cut, in words.
    all_cuts : bool
        Whether that is anywhere, so that the conditions on the table's thresholds are not all there are.
    """
    features = problem.table.features
    if structure == "tree":
        kind = f"all {splits} trees of depth at most {problem.max_depth} and {_leaf_limit(problem.max_leaves)}"
    else:
        kind = (
            f"all sets of at most {problem.max_leaves:,} disjoint rules "
            f"of at most {problem.max_depth} {'condition' if problem.max_depth == 1 else 'conditions'}"
        )
    conditions = "all" if all_cuts else f"{problem.graph.n_conditions:,}"
    text = f"{kind} over {conditions} conditions on {len(features)} features"
    if any(feature.kind == "numeric" for feature in features):
        text += f" (numbers cut {cuts})"
    return text


def smaller_space(space: str, leaves: int) -> str:
    """The sentence of `search_space` on trees, for another limit on their leaves.

    >>> smaller_space("all binary trees of depth at most 3 and at most 8 leaves over 9 conditions", 1)
    'all binary trees of depth at most 3 and at most 1 leaf over 9 conditions'
    """
    return re.sub(r"at most [\d,]+ lea(f|ves)\b", _leaf_limit(leaves), space, count=1)


def _leaf_limit(leaves: int) -> str:
    return f"at most {leaves:,} {'leaf' if leaves == 1 else 'leaves'}"
