"""From declared constraints to what the engines understand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.constraints.answers import RuleFacts
from omtree.constraints.budget import Budget
from omtree.constraints.constraint import Constraint, Setting, Shape
from omtree.constraints.demands import CurvedLimit, RuleDemands, RuleSum
from omtree.constraints.samples import Samples, Strata
from omtree.data.table import Feature, FloatArray, Table
from omtree.problem.limits import PathShape, Predicate, RuleLimits
from omtree.problem.problem import ModelLimit

#: Conditions as (feature, codes), the numbers of the merged rows, and the label: the number of a rule.
RuleNumber = Callable[[Sequence[tuple[int, tuple[int, ...]]], npt.NDArray[np.uint32], int], float]


@dataclass(frozen=True, eq=False)
class BoundSum:
    """``sum over the rules of number(rule) >= at_least``, over the rows of one table."""

    name: str
    constraint: Constraint
    number: RuleNumber
    at_least: float


@dataclass(frozen=True, eq=False)
class Compiled:
    """What constraints demand, in the terms of the engines.

    Attributes
    ----------
    setting : Setting
    samples : Samples
    strata : Strata
        The table's statistics have to count these strata, where there are rows.
    shape : Shape
        By feature name, all constraints in one.
    demands : RuleDemands
    model_limits : tuple of ModelLimit
        Linear in the strata; exact.
    curved : tuple of CurvedLimit
        Demands on the whole model that are linear in no finite way; their rows are implied, not enough.
    rule_sums : tuple of RuleSum
    """

    setting: Setting
    samples: Samples
    strata: Strata
    shape: Shape
    demands: RuleDemands
    model_limits: tuple[ModelLimit, ...]
    curved: tuple[CurvedLimit, ...]
    rule_sums: tuple[RuleSum, ...]

    @property
    def monotone(self) -> tuple[tuple[str, int], ...]:
        """Features along which predictions may only rise (1) or fall (-1)."""
        return self.shape.monotone

    @property
    def min_support(self) -> float:
        """Least weight of a rule in the engine's table; a demand of its own, because engines prune by it."""
        return self.demands.min_support

    def limits(self, table: Table) -> RuleLimits:
        """The limits on every rule of a table that was made from the samples."""
        demands = self.demands
        budgets = sorted(demands.budgets, key=lambda budget: -budget.weight)
        predicates = [*map(_within, budgets[1:]), *demands.predicates]
        return RuleLimits(
            _merge(demands.measures, table) if demands.measures else None,
            demands.linear,
            demands.ratios,
            budgets[0].compile(table.features) if budgets else None,
            path_shape(self.shape, table.features),
            self._predicate(predicates, table) if predicates else None,
            () if self.shape.force is None else self.shape.force.nodes(table.features, self.setting.classes),
        )

    def sums(self, table: Table) -> tuple[BoundSum, ...]:
        """The sums over rules, as functions of the rows of a table that was made from the samples."""
        if not self.rule_sums:
            return ()
        facts = self._facts(table)
        return tuple(BoundSum(s.name, s.constraint, _number(s.number, facts), s.at_least) for s in self.rule_sums)

    def _predicate(self, predicates: Sequence[Callable[[RuleFacts], bool]], table: Table) -> Predicate:
        facts = self._facts(table)

        def allowed(
            conditions: Sequence[tuple[int, tuple[int, ...]]], rows: npt.NDArray[np.uint32], label: int
        ) -> bool:
            rule = facts(conditions, rows, label)
            return all(allows(rule) for allows in predicates)

        return allowed

    def _facts(self, table: Table) -> Callable[..., RuleFacts]:
        """From conditions, rows and a label to the facts of the rule."""
        samples, strata = self.samples, self.strata
        weights = _merge([samples.weight * (strata.of_sample == s) for s in range(len(strata))], table)
        moments = None
        if samples.target is not None:
            moments = _merge([samples.weight * samples.target**power for power in range(3)], table)
        classes = self.setting.classes

        def facts(
            conditions: Sequence[tuple[int, Sequence[int]]], rows: npt.NDArray[np.uint32], label: int
        ) -> RuleFacts:
            sums = None if moments is None else moments[rows].sum(axis=0)
            return RuleFacts(conditions, table.features, weights[rows].sum(axis=0), strata, classes, label, sums)

        return facts


def compile_constraints(
    constraints: Iterable[Constraint], setting: Setting, samples: Samples, strata: Strata | None = None
) -> Compiled:
    """What constraints demand of models of these samples.

    Parameters
    ----------
    constraints : iterable of Constraint
        Checked already, with `check_constraints`.
    setting : Setting
    samples : Samples
    strata : Strata, optional
        Those of the samples by default; for a part of the samples, the part of the strata of all of them.

    Returns
    -------
    Compiled

    Examples
    --------
    >>> from omtree.constraints import Recall
    >>> setting = Setting(("x0",), ("numeric",), classes=("no", "yes"))
    >>> samples = Samples(np.array([0, 1, 1, 1]), np.ones(4))
    >>> (row,) = compile_constraints([Recall("yes", at_least=0.5)], setting, samples).model_limits
    >>> row.coefficient.tolist(), row.at_least
    ([[0.0, 0.0], [0.0, 1.0]], 1.5)
    """
    constraints = tuple(constraints)
    strata = samples.strata() if strata is None else strata
    demands = RuleDemands(samples, setting)
    for constraint in constraints:
        constraint.on_rule(demands)
    shape = join_shapes(constraint.shape(setting) for constraint in constraints)
    found = [part for constraint in constraints for part in constraint.on_model(strata, setting)]
    scale = _stratum_scale(strata, samples)
    return Compiled(
        setting,
        samples,
        strata,
        shape,
        demands,
        tuple(_scaled(row, scale) for row in found if isinstance(row, ModelLimit)),
        tuple(_scaled_curve(part, scale) for part in found if isinstance(part, CurvedLimit)),
        tuple(part for part in found if isinstance(part, RuleSum)),
    )


def join_shapes(shapes: Iterable[Shape]) -> Shape:
    """All demands on paths in one."""
    whole = Shape()
    for shape in shapes:
        # Features that one order names keep it; a later order adds to the end.
        order = tuple(dict.fromkeys([*whole.order, *shape.order]))
        if whole.force is not None and shape.force is not None:
            raise ValueError(f"{whole.force.title} and {shape.force.title} both say how the tree begins; use one.")
        whole = Shape(
            whole.at_most + shape.at_most,
            whole.needs + shape.needs,
            whole.above + shape.above,
            whole.root if shape.root is None else shape.root,
            order,
            whole.exclude | shape.exclude,
            tuple(dict.fromkeys(whole.monotone + shape.monotone)),
            shape.force or whole.force,
        )
    return whole


def path_shape(shape: Shape, features: Sequence[Feature]) -> PathShape:
    """The shape by position of the features.

    A feature that the table does not have, because its column does not vary, can't be tested: what needs it can't be
    tested either.
    """
    position = {feature.name: i for i, feature in enumerate(features)}
    at_most = [(frozenset(position[name] for name in names if name in position), n) for names, n in shape.at_most]
    needs = []
    for name, others, first in shape.needs:
        if name not in position:
            continue
        if others <= position.keys():
            needs.append((position[name], frozenset(position[other] for other in others), first))
        else:
            at_most.append((frozenset([position[name]]), 0))
    if shape.root is not None and shape.root not in position:
        raise ValueError(f"The root is to test {shape.root!r}, which does not vary; remove Root({shape.root!r}).")
    return PathShape(
        tuple((names, n) for names, n in at_most if len(names) > n),
        tuple(needs),
        tuple((position[a], position[b]) for a, b in shape.above if a in position and b in position),
        None if shape.root is None else position[shape.root],
    )


def restrict_features(
    constraints: Iterable[Constraint], features: Iterable[Feature], setting: Setting
) -> tuple[Feature, ...]:
    """The features that rules may test, with the values that they may tell apart.

    To be called after binning; features that are left with a single value are dropped.
    """
    constraints = tuple(constraints)
    if not constraints:
        return tuple(feature for feature in features if feature.n_codes > 1)
    excluded = join_shapes(constraint.shape(setting) for constraint in constraints).exclude
    kept = []
    for feature in features:
        for constraint in constraints:
            feature = constraint.restrict(feature)
        if feature.name not in excluded and feature.n_codes > 1:
            kept.append(feature)
    return tuple(kept)


def group_columns(constraints: Iterable[Constraint]) -> tuple[str, ...]:
    """The group columns that constraints need, for `read_groups`."""
    return tuple(dict.fromkeys(name for constraint in constraints for name in constraint.group_columns))


def _merge(measures: Sequence[FloatArray], table: Table) -> FloatArray:
    """Sums of the samples' numbers over the merged rows, shape (n_rows, n_measures)."""
    kept = table.row_of >= 0
    rows = table.row_of[kept]
    sums = [np.bincount(rows, weights=measure[kept], minlength=table.n_rows) for measure in measures]
    return np.stack(sums, axis=1).astype(np.float64)


def _within(budget: Budget) -> Callable[[RuleFacts], bool]:
    return lambda facts: budget.affords(facts.features)


def _number(number: Callable[[RuleFacts], float], facts: Callable[..., RuleFacts]) -> RuleNumber:
    return lambda conditions, rows, label: number(facts(conditions, rows, label))


def _stratum_scale(strata: Strata, samples: Samples) -> FloatArray | None:
    """What the weights of each stratum are multiplied by in the table; None where they are as they are."""
    if samples.class_scale is None:
        return None
    scale = samples.class_scale[strata.label]
    return np.where(scale > 0, scale, 1.0)[:, None]


def _scaled(row: ModelLimit, scale: FloatArray | None) -> Any:
    return row if scale is None else replace(row, coefficient=row.coefficient / scale)


def _scaled_curve(part: CurvedLimit, scale: FloatArray | None) -> CurvedLimit:
    if scale is None:
        return part
    return replace(
        part,
        hits=part.hits / scale,
        called=part.called / scale,
        within=lambda low, high: tuple(_scaled(row, scale) for row in part.within(low, high)),
    )
