"""What an engine is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray, Table
from omtree.model.certificate import Status
from omtree.problem.graph import Condition, FeatureGraph
from omtree.problem.limits import RuleLimits
from omtree.problem.losses import LinearLoss, Loss

if TYPE_CHECKING:
    from omtree.constraints.compile import BoundSum
    from omtree.constraints.demands import CurvedLimit
    from omtree.sources.counts import Counts


@dataclass(frozen=True, eq=False)
class ModelLimit:
    """A linear constraint over the whole model: ``sum of coefficient[stratum, predicted label] >= at_least``.

    Attributes
    ----------
    name : str
    coefficient : array of float, shape (n_strata, n_labels)
        What a unit of weight of a stratum (a statistic of the table) adds when its rule predicts the label.
    at_least : float
    """

    name: str
    coefficient: FloatArray
    at_least: float


@dataclass(frozen=True, eq=False)
class Problem:
    """A table, its graph, and what is optimised over it.

    Attributes
    ----------
    table : Table
    graph : FeatureGraph
    loss : Loss
        What a rule costs.
    max_depth : int
        Most conditions in one rule.
    max_leaves : int
        Most rules in the model.
    min_support : float
        Least sample weight in one rule.
    model_limits : tuple of ModelLimit
        Constraints over the whole model.
    limits : RuleLimits
        Constraints on every rule.
    class_of_stratum : array of int or None
        The class that each statistic is the weight of, where the classes are divided; None: one statistic per class.
    conflict : callable or None
        Whether two rules may not be in one model.
    curved : tuple of CurvedLimit
        Constraints over the whole model that are linear in no finite way.
    sums : tuple of BoundSum
        Constraints on sums over the rules of any number of each.
    counts : Counts or None
        Where the rows are counted, if not in `table`; the table has their totals then.
    leaf_price : float
        What every leaf of a tree adds to its loss.
    limited : bool
        Whether the depth or the leaves are limited by who asks, and not only by how many rows there are.
    """

    table: Table
    graph: FeatureGraph
    loss: Loss
    max_depth: int
    max_leaves: int
    min_support: float
    model_limits: tuple[ModelLimit, ...] = ()
    limits: RuleLimits = field(default_factory=RuleLimits)
    class_of_stratum: npt.NDArray[np.intp] | None = None
    conflict: Callable[[Path, Path], bool] | None = None
    curved: tuple[CurvedLimit, ...] = ()
    sums: tuple[BoundSum, ...] = ()
    counts: Counts | None = None
    leaf_price: float = 0.0
    limited: bool = True

    @property
    def any_size(self) -> bool:
        """Whether no limit on depth or leaves leaves any tree out: none has more of either than there are rows."""
        return min(self.max_depth + 1, self.max_leaves) >= self.table.n_rows

    @property
    def plain(self) -> bool:
        """Whether a rule costs the sum of what its rows cost, under no limits but its support.

        Where the statistics are not the weights, what adds up to the costs does not add up to the support.
        """
        return isinstance(self.loss, LinearLoss) and self.limits.empty and self.table.row_weight is None

    @property
    def additive(self) -> bool:
        """Whether sums over the rows of a rule decide what it costs, under no limits but its support."""
        return self.loss.additive and self.limits.empty

    @property
    def free_labels(self) -> bool:
        """Whether a rule may be worth having with another label than its cheapest: what couples rules sees labels."""
        return self.loss.n_labels > 1 and (len(self.model_limits) > 0 or self.conditions_matter)

    @property
    def coupled(self) -> bool:
        """Whether something is demanded of the rules together: such a problem is solved as several simpler ones."""
        return self.conditions_matter or len(self.model_limits) > 0 or len(self.curved) > 0

    @property
    def conditions_matter(self) -> bool:
        """Whether rules for the same rows may differ to the model as a whole: what couples rules sees conditions."""
        return self.conflict is not None or len(self.sums) > 0

    @property
    def at_least(self) -> FloatArray:
        """Limits of the constraints over the whole model: those of `model_limits`, then those of `sums`."""
        limits = [row.at_least for row in self.model_limits] + [part.at_least for part in self.sums]
        return np.array(limits, dtype=np.float64)

    @property
    def costs(self) -> FloatArray:
        """What a unit of each stratum costs under each label, shape (n_strata, n_labels)."""
        if not isinstance(self.loss, LinearLoss):
            raise TypeError(f"A {type(self.loss).__name__} has no costs by label.")
        return self.loss.costs

    def row_costs(self) -> FloatArray:
        """Loss of every merged row under every prediction, shape (n_rows, n_labels)."""
        return np.asarray(self.table.statistics @ self.costs)

    def path_sum(self, path: Path, coefficient: FloatArray) -> float:
        """What a rule adds to a sum with these coefficients by stratum and label."""
        inside = path.covers(self.table.codes)
        return float(self.table.statistics[inside].sum(axis=0) @ coefficient[:, path.label])

    def path_loss(self, path: Path) -> float:
        """What a rule costs, where costs are by label; the price of its tests included."""
        loss = self.path_sum(path, self.costs)
        prices = self.limits.prices
        if prices is not None and prices.weight:
            weight = float(self.table.weight[path.covers(self.table.codes)].sum())
            loss += prices.weight * weight * prices.price(condition.feature for condition in path.conditions)
        return loss

    def class_weights(self) -> FloatArray:
        """Sample weight of each class in each merged row, shape (n_rows, n_classes)."""
        strata = self.table.statistics
        if self.class_of_stratum is None:
            return strata
        weights = np.zeros((len(strata), int(self.class_of_stratum.max()) + 1))
        np.add.at(weights.T, self.class_of_stratum, strata.T)
        return weights


@dataclass(frozen=True)
class Path:
    """A rule as an engine knows it: conditions on different features, and the index of the predicted class."""

    conditions: tuple[Condition, ...]
    label: int

    def covers(self, codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        """Which columns of `codes` (features x rows) satisfy every condition."""
        inside = np.ones(codes.shape[1], dtype=bool)
        for condition in self.conditions:
            inside &= meeting(codes[condition.feature], condition.codes)
        return inside


def meeting(codes: npt.NDArray[np.uint8], allowed: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Which of the codes are among those allowed."""
    if len(allowed) == 1:
        return np.asarray(codes == allowed[0])
    table = np.zeros(256, dtype=bool)
    table[list(allowed)] = True
    return table.take(codes)


@dataclass(frozen=True)
class Solution:
    """What an engine returns: the rules of its best model and what it knows about how good they are.

    `value` and `bound` are in the units of the problem's costs. `paths` is empty exactly when the problem is
    infeasible; `reason` then says why. `ended` says why an engine that looks at a part of the rules looked at no more.
    With `all_cuts` the bound holds wherever numbers are cut, not at the thresholds of the table alone; without it
    `floor` is what holds there, if anything is known.
    """

    paths: tuple[Path, ...]
    status: Status
    value: float
    bound: float
    lp_value: float | None = None
    exact_pricing: bool | None = None
    columns: int = 0
    rows: int = 0
    iterations: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    ended: str = ""
    all_cuts: bool = False
    floor: float | None = None

    def times(self, unit: float) -> Solution:
        """The same with losses in other units, of which one is so many of those."""
        lp_value = None if self.lp_value is None else self.lp_value * unit
        floor = None if self.floor is None else self.floor * unit
        return replace(self, value=self.value * unit, bound=self.bound * unit, lp_value=lp_value, floor=floor)


@dataclass(frozen=True)
class Node:
    """A node of a tree as an engine knows it.

    A leaf has no branches. An inner node splits one feature: the conditions of its branches are pairwise disjoint and
    cover every code the node's rows have. `label` is the class the node would predict as a leaf. `default` is the
    position of the branch that takes all other codes; None is the heaviest one.
    """

    label: int
    branches: tuple[tuple[Condition, Node], ...] = ()
    default: int | None = None


def leaves_of(node: Node, above: tuple[Condition, ...] = ()) -> list[Path]:
    """The leaves below a node as rules, with the conditions above it."""
    if not node.branches:
        return [Path(above, node.label)]
    return [path for condition, child in node.branches for path in leaves_of(child, (*above, condition))]


def with_labels(node: Node, labels: Iterator[int]) -> Node:
    """The tree with these labels at its leaves, in their order."""
    if not node.branches:
        return Node(next(labels))
    return replace(node, branches=tuple((condition, with_labels(child, labels)) for condition, child in node.branches))
