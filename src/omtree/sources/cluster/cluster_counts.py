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
        Weight of each class.
    whole : bool
        Whether all weights are whole numbers.
    """

    def __init__(
        self, cluster: Cluster, parts: Sequence[Any], n_codes: Sequence[int], totals: FloatArray, whole: bool
    ) -> None:
        self.n_codes: Sequence[int] = tuple(n_codes)
        self.totals = totals
        self.whole = whole
        self._cluster = cluster
        self._parts = parts

    def tables(self, sets: FeatureSets, stopped: Stopped) -> FloatArray | None:
        """See `Counts`."""
        sets = np.ascontiguousarray(sets, dtype=np.int32)
        counted = self._cluster.tasks(count_part, self._parts, sets, self.n_codes, len(self.totals))
        tables: FloatArray | None = self._cluster.add_up(counted, add_arrays, stopped)
        return tables
