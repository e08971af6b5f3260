"""What workers do with the rows of a partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.build import encode_rows
from omtree.data.columns import KindChoice, read_columns
from omtree.data.spill import Block
from omtree.data.table import CodeArray, Feature, FloatArray
from omtree.sources.counts import FeatureSets, count_block, joint_size

#: A frame, its labels, and its weights or None, as pandas has them.
Part = tuple[Any, Any, Any]
#: Codes, labels and weights of the rows of a partition; a tuple, so that Dask knows what it takes.
CodedPart = tuple[CodeArray, npt.NDArray[np.uint16], FloatArray | None]


def label_codes(labels: Any, classes: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    import pandas as pd

    codes: npt.NDArray[np.uint16] = pd.Index(classes).get_indexer(np.asarray(labels)).astype(np.uint16)
    return codes


def take(part: tuple[Any, Any, Any], places: npt.NDArray[np.int64]) -> tuple[Any, Any, Any]:
    frame, labels, weights = part
    return frame.iloc[places], labels.iloc[places], None if weights is None else weights.iloc[places]


def code_part(
    part: tuple[Any, Any, Any],
    features: tuple[Feature, ...],
    kinds: Mapping[Any, KindChoice],
    classes: npt.NDArray[Any],
) -> CodedPart:
    """The rows of a partition that weigh something."""
    frame, labels, weights = part
    weight: FloatArray | None = None
    if weights is not None:
        weight = weights.to_numpy(dtype=np.float64)
        inside = weight > 0
        frame, labels, weight = frame[inside], labels[inside], weight[inside]
    if len(frame) == 0:
        return np.empty((len(features), 0), dtype=np.uint8), np.empty(0, dtype=np.uint16), weight
    codes = encode_rows(read_columns(frame, kinds, training=False), features)
    return codes, label_codes(labels, classes), weight


def merge_part(part: CodedPart, stands_for: CodeArray) -> tuple[CodeArray, npt.NDArray[np.uint16], FloatArray]:
    codes, labels, weights = part
    replaced = np.stack([table[row] for table, row in zip(stands_for, codes, strict=True)])
    return add_merged([(replaced, labels, np.ones(len(labels)) if weights is None else weights)])


def add_merged(
    parts: Sequence[tuple[CodeArray, npt.NDArray[np.uint16], FloatArray]],
) -> tuple[CodeArray, npt.NDArray[np.uint16], FloatArray]:
    """Rows with equal codes and labels as one."""
    codes = np.concatenate([codes for codes, _, _ in parts], axis=1)
    labels = np.concatenate([labels for _, labels, _ in parts])
    weights = np.concatenate([weights for _, _, weights in parts])
    keys = np.concatenate([codes, [(labels & 255).astype(np.uint8), (labels >> 8).astype(np.uint8)]])
    row_of = np.empty(len(labels), dtype=np.int64)
    first = _native.merge_rows(np.ascontiguousarray(keys), row_of)
    sums = np.bincount(row_of, weights=weights, minlength=len(first)).astype(np.float64)
    return codes[:, first], labels[first], sums


def count_part(part: CodedPart, sets: FeatureSets, n_codes: Sequence[int], n_classes: int) -> FloatArray:
    """The joint counts of one partition."""
    out = np.zeros(joint_size(sets, n_codes, n_classes))
    count_block(Block(*part), sets, n_codes, out, n_classes)
    return out
