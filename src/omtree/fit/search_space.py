"""The models an engine chooses from, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from omtree.data.binning import Binning
from omtree.data.table import Feature
from omtree.problem.problem import Problem

_ANY_NUMBER = "any number of leaves"
#: Where numbers are cut that may be cut anywhere.
ANYWHERE = "between any two values"


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
        limits = f"depth at most {problem.max_depth} and {_leaf_limit(problem.max_leaves)}"
        if problem.leaf_price > 0 and problem.any_size:
            limits = f"any depth and {_ANY_NUMBER}"
        kind = f"all {splits} trees of {limits}"
    else:
        kind = (
            f"all sets of at most {problem.max_leaves:,} disjoint rules "
            f"of at most {problem.max_depth} {'condition' if problem.max_depth == 1 else 'conditions'}"
        )
    conditions = "all" if all_cuts else f"{problem.graph.n_conditions:,}"
    text = f"{kind} over {conditions} conditions on {len(features)} features"
    if any(feature.kind == "numeric" for feature in features):
        text += f" (numbers cut {cuts})"
    return f"{text}, with {problem.loss.words}" if problem.loss.words else text


def cuts_in_words(
    binning: Binning | Literal["adaptive"], n_bins: int, features: Sequence[Feature], rounds: int = 1
) -> str:
    """Where numbers are cut.

    >>> cuts_in_words("quantile", 8, [])
    'into at most 8 quantile bins'
    """
    if binning == "exact":
        return ANYWHERE
    if binning == "supervised":
        return f"into at most {n_bins} bins where the label changes"
    counts = [len(feature.thresholds) for feature in features if feature.thresholds is not None]
    # Cuts that were given, or those of another tree, may come to the bins.
    if rounds == 1 and max(counts, default=0) < n_bins:
        return f"into at most {n_bins} quantile bins"
    span = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return f"at the {span} thresholds per column" + (f" of refinement round {rounds}" if rounds > 1 else "")


def smaller_space(space: str, leaves: int, n_cuts: int = 0) -> str:
    """The sentence of `search_space` on trees, for another limit on their leaves, and over so many cuts where not all.

    >>> smaller_space("all binary trees of depth at most 3 and at most 8 leaves over 9 conditions", 1)
    'all binary trees of depth at most 3 and at most 1 leaf over 9 conditions'
    """
    space = re.sub(rf"at most [\d,]+ lea(f|ves)\b|{_ANY_NUMBER}", _leaf_limit(leaves), space, count=1)
    if n_cuts:
        space = space.replace("over all conditions", "over conditions", 1)
        space = space.replace(f"numbers cut {ANYWHERE}", f"numbers cut at {n_cuts:,} thresholds", 1)
    return space


def _leaf_limit(leaves: int) -> str:
    return f"at most {leaves:,} {'leaf' if leaves == 1 else 'leaves'}"
