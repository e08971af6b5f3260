"""Targets of which every row has to be known at once: they come here from the cluster, before anything is coded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray
from omtree.sources.cluster.frames import Cluster
from omtree.sources.disk.rows import TABLE_SHARE
from omtree.sources.disk.scan import usable_memory
from omtree.sources.target import Target, check_weights

#: Gives the target, from the columns of each name that were gathered, as frames of pandas, and the weights of the rows.
MakeTarget = Callable[[Mapping[str, Any], FloatArray], Target]


@dataclass(frozen=True, eq=False)
class GatheredTarget:
    """A target in memory.

    Attributes
    ----------
    target : Target
        Of all rows, in the order of the partitions.
    weight : array of float
        Of all rows.
    labels : dask.dataframe.Series
        What workers have to know of it: the classes, or the numbers that groups of values are sorted by.
    """

    target: Target
    weight: FloatArray
    labels: Any


def gather_target(
    cluster: Cluster, given: Mapping[str, Sequence[Any]], weights: Any, n_columns: int, make: MakeTarget
) -> GatheredTarget:
    """The target that is made of some columns.

    Parameters
    ----------
    cluster : Cluster
    given : mapping of str to sequence of dask.dataframe.Series
        With the partitions of X.
    weights : dask.dataframe.Series or None
    n_columns : int
        Of X; a search will need them here as well.
    make : callable
    """
    columns = [column for own in given.values() for column in own]
    every = columns if weights is None else [*columns, weights]
    # The partitions as they are, even where Dask would read several at once.
    tasks = zip(*(column.to_delayed(optimize_graph=False) for column in every), strict=True)
    kept = cluster.keep(cluster.tasks(_side_by_side, [list(part) for part in tasks], list(given)))
    rows: list[int] = cluster.result(cluster.tasks(len, kept))
    check_room(sum(rows), row_bytes(n_columns, len(columns)))
    if not sum(rows):
        raise ValueError("X has no rows.")
    frame = _joined(cluster.result(kept))
    weight = check_weights(None if weights is None else frame.iloc[:, -1].to_numpy(dtype=np.float64), len(frame))
    frames, place = {}, 0
    for name, own in given.items():
        frames[name] = frame.iloc[:, place : place + len(own)]
        frames[name].columns = [column.name for column in own]
        place += len(own)
    target = make(frames, weight)
    return GatheredTarget(target, weight, _spread(target, rows))


def row_bytes(n_columns: int, n_targets: int) -> int:
    """What a row takes here that is not merged with others, with all that a search makes of it."""
    return 2 * n_columns + 40 * n_targets + 80


def is_room(n_rows: int, n_bytes: int) -> bool:
    """Whether rows of so many bytes each fit into the memory here."""
    return n_rows * n_bytes <= TABLE_SHARE * usable_memory()


def check_room(n_rows: int, n_bytes: int) -> None:
    """Complain where so many rows, with all that a search makes of them, are too many for the memory here."""
    if not is_room(n_rows, n_bytes):
        raise ValueError(
            f"This fit needs the coded rows in memory here, about {n_rows * n_bytes / 1e9:.1f} GB, which is too "
            "much; use fewer columns or bins, or what joint counts decide: trees without constraints, with "
            "objective='error', 'balanced_error', 'gini' or 'entropy', or of up to 65,536 different numbers with "
            "'squared' or 'poisson'."
        )


def _side_by_side(part: Sequence[Any], names: Sequence[str]) -> Any:
    """The columns of a partition as a frame, whatever their index."""
    import pandas as pd

    n_rows = {len(column) for column in part}
    if len(n_rows) > 1:
        raise ValueError(
            f"The columns of {' and '.join(names)} have partitions of {min(n_rows)} and {max(n_rows)} rows; make them "
            "from the same Dask frame, with the same partitions."
        )
    return pd.concat([column.reset_index(drop=True) for column in part], axis=1, ignore_index=True)


def _joined(parts: Sequence[Any]) -> Any:
    """All rows; empty partitions have no say in the types of columns."""
    import pandas as pd

    return pd.concat([part for part in parts if len(part)], ignore_index=True)


def _spread(target: Target, rows: Sequence[int]) -> Any:
    """What workers have to know of a target, in partitions of so many rows."""
    import dask.dataframe as dd
    import pandas as pd
    from dask.delayed import delayed

    known: npt.NDArray[Any] = target.values if target.is_number else target.classes[target.labels]
    series = pd.Series(known, name="y")
    ends = np.cumsum(rows).tolist()
    parts = [delayed(series.iloc[end - size : end]) for size, end in zip(rows, ends, strict=True)]
    return dd.from_delayed(parts, meta=series.iloc[:0])
