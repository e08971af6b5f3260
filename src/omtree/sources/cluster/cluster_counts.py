"""Joint counts of rows that lie, coded, on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from omtree.data.table import FloatArray
from omtree.sources.cluster.frames import Cluster, add_arrays
from omtree.sources.cluster.parts import count_part
from omtree.sources.counts import FeatureSets, Stopped


class DaskCounts:
    """Rows in the partitions of a cluster.

    Workers count their partitions, the tables are added in the form of a tree, and only their sum comes here.

    Parameters
    ----------
    cluster : Cluster
    parts : sequence
        A kept task for each partition, of which the result is a `CodedPart`.
    n_codes : sequence of int
        Of each feature.
    totals : array of float
        Weight of each label.
    whole : bool
        Whether all weights are whole numbers.
    numbers : array of float, shape (n_labels, n_sums), optional
        What a unit of weight of each label adds to sums, which are wanted in the place of the weights of the labels.
    """

    def __init__(
        self,
        cluster: Cluster,
        parts: Sequence[Any],
        n_codes: Sequence[int],
        totals: FloatArray,
        whole: bool,
        numbers: FloatArray | None = None,
    ) -> None:
        self.n_codes: Sequence[int] = tuple(n_codes)
        self.totals: FloatArray = totals if numbers is None else totals @ numbers
        self.whole = whole
        self._cluster = cluster
        self._parts = parts
        self._numbers = numbers

    def tables(self, sets: FeatureSets, stopped: Stopped) -> FloatArray | None:
        """See `Counts`."""
        sets = np.ascontiguousarray(sets, dtype=np.int32)
        counted = self._cluster.tasks(count_part, self._parts, sets, self.n_codes, len(self.totals), self._numbers)
        tables: FloatArray | None = self._cluster.add_up(counted, add_arrays, stopped)
        return tables
