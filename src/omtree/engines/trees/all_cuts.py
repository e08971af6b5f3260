"""The best tree over all cuts: every threshold between two distinct values of a column.

The kernel knows columns in an order each and calls them views; it sorts the rows along every one of them, so that the
number of distinct values does not matter.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.model.certificate import Status

#: Most leaves of a multiway tree here.
MAX_WIDE_LEAVES = 8

_NONE = np.empty(0)
_NO_LABELS = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class CutNode:
    """A node of a tree over views.

    Attributes
    ----------
    label : int
        The class it would predict as a leaf.
    view : int
        The view that it cuts; -1 in a leaf.
    cuts : tuple of (float, float)
        The values of its rows next to each cut; any threshold between them does the same to the rows.
    children : tuple of CutNode
        One more than there are cuts.
    """

    label: int
    view: int = -1
    cuts: tuple[tuple[float, float], ...] = ()
    children: tuple[CutNode, ...] = ()


@dataclass(frozen=True, eq=False)
class CutSolution:
    """The answer of the search.

    Attributes
    ----------
    tree : CutNode or None
        The best tree; None where even a single leaf lacks the support, or where none is better than the one known.
    value : float
        Its loss.
    bound : float
        No tree over any cuts has a lower loss.
    status : {"optimal", "time_limit", "stopped", "interrupted", "infeasible"}
    seconds : float
    sweeps : int
        How often the rows were walked along all views.
    """

    tree: CutNode | None
    value: float
    bound: float
    status: Status
    seconds: float
    sweeps: int


def solve_cuts(
    views: FloatArray,
    *,
    labels: npt.NDArray[np.integer] | None = None,
    targets: FloatArray | None = None,
    weights: FloatArray | None = None,
    masses: FloatArray | None = None,
    max_depth: int,
    max_leaves: int | None = None,
    min_support: float = 1.0,
    multiway: bool = False,
    known: float = math.inf,
    work: float = math.inf,
    deadline: Deadline | None = None,
) -> CutSolution:
    """Find the best tree over all cuts.

    Parameters
    ----------
    views : array of float, shape (n_views, n_rows)
        The columns, without missing cells.
    labels : array of int, shape (n_rows,), optional
        The class of each row, ``0, 1, ...``; wrong rows are counted.
    targets : array of float, shape (n_rows,), optional
        The number of each row, instead of labels; squared distances from the means of the leaves are added up.
    weights : array of float, optional
        What a row costs, above zero; by default one.
    masses : array of float, optional
        What a row counts towards the support, above zero; by default one.
    max_depth : int
    max_leaves : int, optional
        By default ``2**max_depth``.
    min_support : float
        Least mass of a leaf.
    multiway : bool
        Whether a node may have more than two children. Then there are labels, weights are whole numbers, at most
        `MAX_WIDE_LEAVES` leaves, and no support: trees whose leaves lack it are a bound for those that have it.
    known : float
        Multiway trees: the loss of a tree that is known, if any; only a better one is looked for.
    work : float
        Most rows to walk along a view, some hundred millions a second; the status is "stopped" where that ends it.
    deadline : Deadline, optional

    Examples
    --------
    >>> x = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    >>> found = solve_cuts(x, labels=np.array([0, 0, 1, 1, 1, 0]), max_depth=1)
    >>> found.value, found.status, found.tree.cuts
    (1.0, 'optimal', ((2.0, 3.0),))
    """
    if (labels is None) == (targets is None):
        raise ValueError("The search over all cuts needs either labels or targets; give one of them.")
    started = time.monotonic()
    centred = _NONE
    if targets is not None:
        # Distances are from means, and digits would be lost far from zero.
        centred = np.ascontiguousarray(targets - np.average(targets, weights=weights), dtype=np.float64)
    value, bound, finished, interrupted, packed, sweeps = _native.search_cuts(
        np.ascontiguousarray(views, dtype=np.float64),
        labels=_NO_LABELS if labels is None else np.ascontiguousarray(labels, dtype=np.int32),
        n_classes=1 if labels is None else int(np.max(labels)) + 1,
        targets=centred,
        weights=_NONE if weights is None else np.ascontiguousarray(weights, dtype=np.float64),
        masses=_NONE if masses is None else np.ascontiguousarray(masses, dtype=np.float64),
        max_depth=max_depth,
        max_leaves=2 ** min(max_depth, 30) if max_leaves is None else max_leaves,
        min_support=float(min_support),
        multiway=multiway,
        known=known,
        most_work=work,
        seconds=math.inf if deadline is None else deadline.remaining,
    )
    seconds = time.monotonic() - started
    late = deadline is not None and deadline.expired
    status: Status = "optimal" if finished else "interrupted" if interrupted else "time_limit"
    if status == "time_limit" and work < math.inf and not late:
        status = "stopped"
    if not packed and multiway:
        return CutSolution(None, value, bound, status, seconds, sweeps)
    if not packed:
        return CutSolution(None, math.inf, math.inf, "infeasible", seconds, sweeps)

    def node(position: int) -> CutNode:
        label, view, below, above, children = packed[position]
        return CutNode(label, view, tuple(zip(below, above, strict=True)), tuple(map(node, children)))

    return CutSolution(node(0), value, bound, status, seconds, sweeps)


def leaf_rows(tree: CutNode, views: FloatArray) -> list[npt.NDArray[np.intp]]:
    """The rows of every leaf of a tree over these views."""

    def below(node: CutNode, rows: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
        if not node.children:
            return [rows]
        part = np.searchsorted([low for low, _ in node.cuts], views[node.view, rows])
        return [leaf for i, child in enumerate(node.children) for leaf in below(child, rows[part == i])]

    return below(tree, np.arange(views.shape[1]))
