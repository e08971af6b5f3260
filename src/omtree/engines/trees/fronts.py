"""All values that trees near the optimum attain in several sums over the model at once."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.trees.splits import Splits, unpack
from omtree.engines.trees.task import problem_task
from omtree.problem.judge import make_judge
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Node, Problem

Sense = Literal["min", "max", "equal"]

#: Most forms and demands together.
MAX_NUMBERS = 16


@dataclass(frozen=True, eq=False)
class Fronts:
    """Vectors of sums that trees attain, none of which is better than another.

    Attributes
    ----------
    vectors : array of float, shape (n, n_forms)
    values : array of float, shape (n,)
        Their sums weighted with the prices, increasing.
    leaves : array of int, shape (n,)
        Number of leaves of the tree that attains each.
    best : float
        Least weighted sum of any tree, or the bound on it that was given; infinite where there is no allowed tree, or
        none was found in time.
    complete : bool
        Whether every vector within the budget is here or is no better than one that is. Without it nothing is proven.
    overflow : bool
        Whether vectors were dropped for their number.
    interrupted : bool
        Whether the user pressed Ctrl-C.
    seconds : float
    """

    vectors: FloatArray
    values: FloatArray
    leaves: npt.NDArray[np.int32]
    best: float
    complete: bool
    overflow: bool
    interrupted: bool
    seconds: float
    _packed: Sequence[Any] = field(repr=False)
    _problem: Problem = field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def tree(self, i: int) -> Node:
        """A tree that attains the `i`-th vector; its leaves have the labels that do so."""
        columns = [level.position for level in self._problem.graph.levels]
        tree = unpack(self._packed[i], columns, self._problem.table.features, self._problem.graph.categories)
        assert tree is not None
        return tree


def attainable(
    problem: Problem,
    forms: FloatArray,
    prices: FloatArray,
    budget: float,
    *,
    least: float | None = None,
    sense: Sequence[Sense] | None = None,
    demands: Sequence[tuple[FloatArray, float]] = (),
    splits: Splits = "multiway",
    max_children: int | None = None,
    max_vectors: int = 100_000,
    cache_mb: float = 512,
    deadline: Deadline | None = None,
    use_bounds: bool = True,
    use_cache: bool = True,
) -> Fronts:
    """Find the vectors of form values of all trees whose price-weighted sum is within a budget of the least.

    The value of a form is the sum, over the leaves and the strata, of the stratum's weight in the leaf times the
    form's number for the stratum and the leaf's label. Labels are free: a leaf may have any that the limits allow.

    Parameters
    ----------
    problem : Problem
        With a `LinearLoss`, whose strata and labels the forms share; its own costs do not matter here. Its limits hold
        for every leaf, its ``rows`` must be empty.
    forms : array of float, shape (n_forms, n_strata, n_labels)
        Form 0 is the loss: where tests have a price with a weight, it is added there.
    prices : array of float, shape (n_forms,)
        What a unit of each form counts in the weighted sum. Not negative for forms of sense ``"min"``, not positive for
        ``"max"``, so that a better vector never has a larger sum.
    budget : float
        How much more than the least the weighted sum may be; may be infinite.
    least : float, optional
        What no tree's weighted sum is below, where that is known: the budget counts from here then.
    sense : sequence of {"min", "max", "equal"}, optional
        Which of two vectors is better; one that is at least as good in all forms, and equal in those of sense
        ``"equal"``, makes the other superfluous. By default ``"min"`` for form 0 and ``"equal"`` for the others.
    demands : sequence of (array of float, float)
        ``sum of coefficient * form >= at_least`` for the whole tree; only vectors that meet them are returned. A form's
        coefficient must not be negative where its sense is ``"max"``, nor positive where it is ``"min"``.
    splits, max_children, cache_mb, deadline, use_bounds, use_cache
        As in `omtree.engines.trees.general.solve_general`.
    max_vectors : int
        Most vectors kept for any part of the search.

    Examples
    --------
    Errors against the weight predicted as class 1, for all trees with at most one error more than the best:

    >>> import numpy as np
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> size = Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> table = Table((size,), np.array([[0, 1, 2]], np.uint8), np.array([[5.0, 0], [2, 3], [0, 4]]), np.arange(3))
    >>> problem = Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 1, 3, 1.0)
    >>> errors = 1.0 - np.eye(2)
    >>> ones = np.array([[0.0, 1.0], [0.0, 1.0]])
    >>> attainable(problem, np.array([errors, ones]), np.array([1.0, 0.0]), 1.0).vectors.tolist()
    [[2.0, 9.0], [3.0, 4.0]]
    """
    if not isinstance(problem.loss, LinearLoss):
        raise ValueError("The vectors that trees attain are known for linear losses only; use costs by label.")
    if problem.model_limits:
        raise ValueError("Give constraints over the whole model as demands; remove problem.model_limits.")
    forms = np.ascontiguousarray(forms, dtype=np.float64)
    prices = np.asarray(prices, dtype=np.float64)
    if forms.ndim != 3 or forms.shape[1:] != problem.costs.shape:
        raise ValueError(f"forms must have shape (n_forms, {problem.costs.shape[0]}, {problem.costs.shape[1]}).")
    senses: list[Sense] = list(sense) if sense is not None else ["min", *["equal"] * (len(forms) - 1)]  # type: ignore[list-item]
    _check(len(forms), prices, senses, demands, budget)
    test_weight = problem.limits.prices.weight if problem.limits.prices is not None else 0.0
    if test_weight > 0 and any(coefficient[0] > 0 for coefficient, _ in demands):
        raise ValueError("A demand must not reward what tests cost; its coefficient of form 0 must not be positive.")
    started = time.monotonic()
    # A constant per stratum changes no comparison of trees and makes the costs of the search not negative.
    costs = np.tensordot(prices, forms, axes=1)
    constant = costs.min(axis=1)
    shifted = np.ascontiguousarray(costs - constant[:, None])
    limits = problem.limits
    if limits.prices is not None:
        limits = replace(limits, prices=replace(limits.prices, weight=test_weight * float(prices[0])))
    offset = float(problem.table.statistics.sum(axis=0) @ constant)
    searched = replace(problem, loss=LinearLoss(shifted), limits=limits)
    task = problem_task(
        problem,
        splits=splits,
        max_children=max_children,
        cache_mb=cache_mb,
        deadline=deadline,
        use_bounds=use_bounds,
        use_cache=use_cache,
        forced=problem.limits.forced,
    )
    vectors, values, leaves, packed, best, finished, overflow, interrupted = _native.attainable_vectors(
        np.ascontiguousarray(problem.table.codes, dtype=np.uint8),
        make_judge(searched),
        shifted,
        forms,
        task,
        sense=senses,
        test_weight=test_weight,
        demands=np.array([a for a, _ in demands], dtype=np.float64).reshape(-1, len(forms)),
        at_least=np.array([b for _, b in demands], dtype=np.float64),
        budget=float(budget),
        least=math.nan if least is None else least - offset,
        most_vectors=max_vectors,
    )
    return Fronts(
        vectors.reshape(-1, len(forms)),
        values + offset,
        leaves,
        best + offset,
        finished and not overflow,
        overflow,
        interrupted,
        time.monotonic() - started,
        packed,
        problem,
    )


def _check(
    n_forms: int,
    prices: FloatArray,
    sense: Sequence[Sense],
    demands: Sequence[tuple[FloatArray, float]],
    budget: float,
) -> None:
    if len(prices) != n_forms or len(sense) != n_forms:
        raise ValueError(f"prices and sense must have one entry for each of the {n_forms} forms.")
    if n_forms + len(demands) > MAX_NUMBERS:
        raise ValueError(f"There may be at most {MAX_NUMBERS} forms and demands together.")
    if not budget >= 0:
        raise ValueError(f"budget must be a number that is not negative, not {budget}.")
    for form, name in enumerate(sense):
        if name not in ("min", "max", "equal"):
            raise ValueError(f'sense must be "min", "max" or "equal", not {name!r}.')
        wrong = -1 if name == "min" else 1 if name == "max" else 0
        if wrong * prices[form] > 0:
            raise ValueError(f'prices[{form}] has the wrong sign for a form of sense "{name}".')
        for coefficient, _ in demands:
            if len(coefficient) != n_forms:
                raise ValueError(f"A demand must have a coefficient for each of the {n_forms} forms.")
            if wrong * coefficient[form] < 0:
                raise ValueError(f'A demand has the wrong sign for form {form} of sense "{name}"; use "equal".')
