"""The samples of a fit: columns, labels and weights, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from omtree.data.binning import Binning
from omtree.data.build import encode_rows, make_features, make_table
from omtree.data.columns import Columns, read_columns
from omtree.data.table import CodeArray, Feature, FloatArray, Table
from omtree.targets import check_weights, class_scale, encode_labels


@dataclass(frozen=True, eq=False)
class Training:
    """What a model is fitted to.

    Attributes
    ----------
    columns : Columns
    classes : array
    labels : array of int
        The position in `classes` of every sample's class.
    row_weight : array of float or None
        Weight of the samples as given, which bins follow; None when all weigh the same.
    weight : array of float
        Weight of the samples in the loss and in the support of a rule: `row_weight` times what the class is worth.
    total : float
        Weight of all samples.
    """

    columns: Columns
    classes: npt.NDArray[Any]
    labels: npt.NDArray[np.intp]
    row_weight: FloatArray | None
    weight: FloatArray
    total: float

    @classmethod
    def read(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        feature_kinds: Mapping[str, str] | None = None,
    ) -> Training:
        """Read and check what was given to `fit`."""
        columns = read_columns(X, feature_kinds)
        classes, labels = encode_labels(y)
        if len(labels) != columns.n_samples:
            raise ValueError(f"X has {columns.n_samples} rows and y has {len(labels)} labels; give one label per row.")
        weight = check_weights(sample_weight, len(labels))
        totals = np.bincount(labels, weights=weight, minlength=len(classes)).astype(np.float64, copy=False)
        scale = class_scale(class_weight, classes, totals)
        if np.count_nonzero(totals * scale) < 2:
            raise ValueError("y has only one class (of positive weight); a classifier needs at least two classes.")
        row_weight = None if sample_weight is None else weight
        if class_weight is not None:
            weight = weight * scale[labels]
        return cls(columns, classes, labels, row_weight, weight, float((totals * scale).sum()))

    def __len__(self) -> int:
        return len(self.labels)

    def features(self, n_bins: int, binning: Binning) -> tuple[tuple[Feature, ...], list[tuple[str, str]]]:
        """The columns that vary as features, and name and reason for each that was dropped."""
        return make_features(self.columns, self.labels, len(self.classes), self.row_weight, n_bins, binning)

    def table(self, features: tuple[Feature, ...]) -> Table:
        """The coded table."""
        return make_table(self.columns, features, self.labels, len(self.classes), self.weight)

    def codes(self, features: tuple[Feature, ...], used: set[int]) -> CodeArray:
        """Codes of all samples, of the features at the positions `used`; the others are left blank."""
        codes = np.empty((len(features), len(self)), dtype=np.uint8)
        positions = sorted(used)
        codes[positions] = encode_rows(self.columns, tuple(features[f] for f in positions))
        return codes

    def sample(self, size: int, seed: int) -> Training:
        """A part of the samples, drawn without replacement, in their order."""
        rows = np.sort(np.random.default_rng(seed).choice(len(self), size, replace=False))
        columns = tuple(replace(column, values=column.values[rows]) for column in self.columns)
        weight = self.weight[rows]
        return Training(
            Columns(columns, size),
            self.classes,
            self.labels[rows],
            None if self.row_weight is None else self.row_weight[rows],
            weight,
            float(weight.sum()),
        )
