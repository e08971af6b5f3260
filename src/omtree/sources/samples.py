"""The samples of a fit: columns, target and weights, read once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.constraints.samples import GroupColumn, Samples, Strata, read_groups
from omtree.data.binning import Binning
from omtree.data.build import encode_rows, make_features, make_number_table, make_table
from omtree.data.column import Columns
from omtree.data.parsing.reading import Reading
from omtree.data.parsing.understand import understand
from omtree.data.table import CodeArray, Feature, FloatArray, Table
from omtree.deadline import Deadline
from omtree.sources.target import Target, check_weights, weigh_classes


@dataclass(frozen=True, eq=False)
class Training:
    """What a model is fitted to.

    Attributes
    ----------
    columns : Columns
    target : Target
    row_weight : array of float or None
        Weight of the samples as given, which bins follow; None when all weigh the same.
    weight : array of float
        Weight of the samples in the loss and in the support of a rule: `row_weight` times what the class is worth.
    total : float
        Weight of all samples.
    groups : mapping of str to GroupColumn
        The group columns that constraints name.
    class_scale : array of float or None
        What the weights of each class were multiplied by.
    """

    columns: Columns
    target: Target
    row_weight: FloatArray | None
    weight: FloatArray
    total: float
    groups: Mapping[str, GroupColumn] = field(default_factory=dict)
    class_scale: FloatArray | None = None

    @classmethod
    def of_classes(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        feature_kinds: Mapping[str, str] | None = None,
        reading: Reading | None = None,
        positive: Any = None,
        costs: Any = None,
        class_order: Sequence[Any] | None = None,
    ) -> Training:
        """Read and check what was given to the `fit` of a classifier."""
        read = Target.of_classes(y, positive, costs, class_order)
        columns, target, weight = _read(X, read, sample_weight, feature_kinds, reading)
        totals = np.bincount(target.labels, weights=weight, minlength=len(target.classes)).astype(np.float64)
        scale, total = weigh_classes(class_weight, target.classes, totals)
        row_weight = None if sample_weight is None else weight
        if scale is not None:
            weight = weight * scale[target.labels]
        return cls(columns, target, row_weight, weight, total, class_scale=scale)

    @classmethod
    def of_numbers(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        feature_kinds: Mapping[str, str] | None = None,
        reading: Reading | None = None,
    ) -> Training:
        """Read and check what was given to the `fit` of a regressor."""
        columns, target, weight = _read(X, Target.of_numbers(y), sample_weight, feature_kinds, reading)
        return cls(columns, target, None if sample_weight is None else weight, weight, float(weight.sum()))

    @classmethod
    def of_target(
        cls,
        X: Any,
        target: Target,
        sample_weight: Any = None,
        feature_kinds: Mapping[str, str] | None = None,
        reading: Reading | None = None,
    ) -> Training:
        """Read and check what was given to a `fit`, once the target is known: rewards, or times to an event."""
        columns, target, weight = _read(X, target, sample_weight, feature_kinds, reading)
        return cls(columns, target, None if sample_weight is None else weight, weight, float(weight.sum()))

    def __len__(self) -> int:
        return len(self.target)

    def close(self) -> None:
        """Give back what the samples hold besides memory; those on disk have files."""

    def with_groups(self, names: Iterable[str], groups: Any) -> Training:
        """The samples with the group columns that constraints name, from what was given as `groups` or from ``X``."""
        return replace(self, groups=read_groups(names, groups, self.columns))

    def coded(self, features: tuple[Feature, ...]) -> Training:
        """The samples as an engine gets them, once the features are chosen: these, unless they are on disk."""
        return self

    def whole(self) -> Training:
        """All samples with the values of their columns in memory."""
        return self

    @property
    def cache_mb(self) -> float:
        """Memory that a search may use to remember subproblems, in megabytes."""
        return math.inf

    def many_valued(self, feature: Feature, n_bins: int) -> bool:
        """Whether a numeric feature has more distinct values than this."""
        if feature.pair is not None:
            return n_bins < 2
        weights = np.empty(0) if self.row_weight is None else self.row_weight
        return len(_native.few_distinct(self.columns[feature.column].values, weights, n_bins)) > n_bins

    def features(
        self, n_bins: int, binning: Binning, group_levels: bool = True, deadline: Deadline | None = None
    ) -> tuple[tuple[Feature, ...], list[tuple[str, str]]]:
        """The columns that vary as features, and name and reason for each that was dropped."""
        target = self.target
        guide = target.values if target.is_number else target.labels
        return make_features(
            self.columns,
            guide,
            len(target.classes),
            self.row_weight,
            n_bins,
            binning,
            group_levels,
            deadline=deadline,
        )

    def charged_table(self, features: tuple[Feature, ...], strata: Strata | None = None) -> Table:
        """The coded table, with what the answers cost, and then the weights of strata of the samples."""
        charges = self.target.charges
        assert charges is not None
        kinds = np.empty((len(self), 0)) if strata is None else np.eye(len(strata))[strata.of_sample]
        return self.number_table(features, self.weight[:, None] * np.concatenate([charges, kinds], axis=1))

    def table(self, features: tuple[Feature, ...], strata: Strata | None = None) -> Table:
        """The coded table, with the weights of the classes, or of strata of the samples."""
        if strata is not None:
            return make_table(self.columns, features, strata.of_sample, len(strata), self.weight)
        return make_table(self.columns, features, self.target.labels, len(self.target.classes), self.weight)

    def samples(self) -> Samples:
        """The samples as constraints see them: as given, without what the classes are worth."""
        weight = np.ones(len(self)) if self.row_weight is None else self.row_weight
        if self.target.is_number:
            return Samples(np.zeros(len(self), dtype=np.intp), weight, self.groups, self.target.seen)
        return Samples(self.target.labels, weight, self.groups, class_scale=self.class_scale)

    def number_table(self, features: tuple[Feature, ...], statistics: FloatArray | None) -> Table:
        """The coded table, with statistics of the samples that add up; by default their weight."""
        statistics = self.weight[:, None] if statistics is None else statistics
        return make_number_table(self.columns, features, statistics, self.weight)

    def table_and_means(self, features: tuple[Feature, ...]) -> tuple[Table, FloatArray | None]:
        """The coded table, and the mean target of its rows where that is a number."""
        if not self.target.is_number:
            return self.table(features), None
        table = self.number_table(features, (self.weight * self.target.values)[:, None])
        return table, table.statistics[:, 0] / table.weight

    def codes(self, features: tuple[Feature, ...], used: set[int]) -> CodeArray:
        """Codes of all samples, of the features at the positions `used`; the others are left blank."""
        codes = np.empty((len(features), len(self)), dtype=np.uint8)
        positions = sorted(used)
        codes[positions] = encode_rows(self.columns, tuple(features[f] for f in positions))
        return codes

    def sample(self, size: int, seed: int) -> Training:
        """A part of the samples, drawn without replacement, in their order."""
        return self.part(np.sort(np.random.default_rng(seed).choice(len(self), size, replace=False)))

    def part(self, rows: npt.NDArray[np.intp]) -> Training:
        """The samples at these positions."""
        columns = tuple(replace(column, values=column.values[rows]) for column in self.columns)
        weight = self.weight[rows]
        return Training(
            Columns(columns, len(rows)),
            self.target.take(rows),
            None if self.row_weight is None else self.row_weight[rows],
            weight,
            float(weight.sum()),
            {name: column.part(rows) for name, column in self.groups.items()},
            self.class_scale,
        )


def _read(
    X: Any, target: Target, sample_weight: Any, feature_kinds: Mapping[str, str] | None, reading: Reading | None
) -> tuple[Columns, Target, FloatArray]:
    columns = understand(X, feature_kinds, reading)
    if len(target) != columns.n_samples:
        what = "targets" if target.is_number else "labels"
        raise ValueError(
            f"X has {columns.n_samples} rows and y has {len(target)} {what}; give one {what[:-1]} per row."
        )
    return columns, target, check_weights(sample_weight, len(target))
