"""The samples of a scan, from files to what a fit takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from omtree.data.kind_choices import KindChoice
from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.progress import Progress
from omtree.sources.disk.disk_columns import empty_columns, read_contents, scale_of
from omtree.sources.disk.disk_samples import ScannedTraining
from omtree.sources.disk.goals import Task
from omtree.sources.disk.rows import Rows
from omtree.sources.disk.scan import Scan


def scanned(
    scan: Scan,
    *,
    task: Task,
    class_weight: Mapping[Any, float] | Literal["balanced"] | None,
    feature_kinds: Mapping[Any, KindChoice] | None,
    n_jobs: int,
    deadline: Deadline,
    progress: Progress | None,
) -> ScannedTraining:
    """The samples of a scan, to be closed after the fit.

    Parameters
    ----------
    scan : Scan
    task : {"classification", "regression", "survival", "policy"}
    class_weight, feature_kinds
        As the estimators have them.
    n_jobs, deadline, progress
        See `ScannedTraining`.
    """
    with deadline.outside():
        rows = Rows(scan)
        try:
            contents = read_contents(rows, scan, feature_kinds, task)
            scale, total = scale_of(class_weight, contents)
        except BaseException:
            rows.close()
            raise
    none: FloatArray = np.empty(0)
    return ScannedTraining(
        empty_columns(contents.fields, contents.n_rows),
        contents.goal.target,
        None if scan.weight is None else none,
        none,
        total,
        class_scale=scale,
        rows=rows,
        scan=scan,
        contents=contents,
        n_jobs=n_jobs,
        deadline=deadline,
        progress=progress,
    )
