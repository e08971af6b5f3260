"""What workers do with the rows of a partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.constraints.samples import GroupColumn
from omtree.data.build import encode_rows
from omtree.data.columns import read_columns
from omtree.data.kind_choices import KindChoice
from omtree.data.spill import Block
from omtree.data.table import CodeArray, Feature, FloatArray
from omtree.data.wording import text_of
from omtree.sources.counts import FeatureSets, count_block, joint_size, summed_blocks, sums_of_labels

#: A frame, its labels, and its weights or None, as pandas has them.
Part = tuple[Any, Any, Any]
#: Codes, labels (zero where these are known elsewhere) and weights of the rows of a partition; a tuple, so that Dask
#: knows what it takes.
CodedPart = tuple[CodeArray, npt.NDArray[np.uint16], FloatArray | None]


@dataclass(frozen=True, eq=False)
class Coding:
    """How the rows of a partition are coded.

    Attributes
    ----------
    features : tuple of Feature
        By their columns in the frame of a partition.
    kinds : mapping
        What the user says of their columns.
    groups : mapping of str to GroupColumn
        Their codes come after those of the features.
    classes : array or None
        The labels there are, classes or numbers; None where the target is known elsewhere.
    """

    features: tuple[Feature, ...]
    kinds: Mapping[Any, KindChoice]
    groups: Mapping[str, GroupColumn]
    classes: npt.NDArray[Any] | None


def group_codes_of(cells: Any, levels: Sequence[Any]) -> CodeArray:
    """The place of the group of each cell among the levels; None, the last, are missing ones.

    Parameters
    ----------
    cells : pandas.Series
    levels : sequence
    """
    import pandas as pd

    place = {level: i for i, level in enumerate(levels)}
    codes, distinct = pd.factorize(np.asarray(cells, dtype=object))
    own = [place[cell] if cell in place else place[text_of(cell)] for cell in distinct.tolist()]
    # The last entry is the one that position -1, a missing cell, refers to.
    return np.asarray(np.array([*own, len(levels) - 1], dtype=np.uint8)[codes])


def label_codes(labels: Any, classes: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    import pandas as pd

    codes: npt.NDArray[np.uint16] = pd.Index(classes).get_indexer(np.asarray(labels)).astype(np.uint16)
    return codes


def take(part: tuple[Any, Any, Any], places: npt.NDArray[np.int64]) -> tuple[Any, Any, Any]:
    frame, labels, weights = part
    return frame.iloc[places], labels.iloc[places], None if weights is None else weights.iloc[places]


def code_part(part: tuple[Any, Any, Any], coding: Coding) -> CodedPart:
    """The rows of a partition that weigh something; all of them where their target is known elsewhere, row by row."""
    frame, labels, weights = part
    weight: FloatArray | None = None
    if weights is not None:
        weight = weights.to_numpy(dtype=np.float64)
        if coding.classes is not None:
            inside = weight > 0
            frame, labels, weight = frame[inside], labels[inside], weight[inside]
    codes = np.empty((len(coding.features) + len(coding.groups), len(frame)), dtype=np.uint8)
    if len(frame) and coding.features:
        names = list(dict.fromkeys(feature.name for feature in coding.features))
        columns = read_columns(frame[names], coding.kinds, training=False)
        codes[: len(coding.features)] = encode_rows(columns, coding.features)
    for row, (name, column) in zip(codes[len(coding.features) :], coding.groups.items(), strict=True):
        row[:] = group_codes_of(frame[name], column.levels)
    if coding.classes is None:
        return codes, np.zeros(len(frame), dtype=np.uint16), weight
    return codes, label_codes(labels, coding.classes), weight


def n_rows_of(part: CodedPart) -> int:
    """How many rows a coded part has."""
    return len(part[1])


def join_parts(parts: Sequence[CodedPart]) -> CodedPart:
    """All rows of some parts, in their order."""
    weights = [weights for _, _, weights in parts if weights is not None]
    return (
        np.concatenate([codes for codes, _, _ in parts], axis=1),
        np.concatenate([labels for _, labels, _ in parts]),
        np.concatenate(weights) if weights else None,
    )


def merge_part(part: CodedPart, stands_for: CodeArray) -> tuple[CodeArray, npt.NDArray[np.uint16], FloatArray]:
    codes, labels, weights = part
    replaced = np.concatenate(
        [
            np.stack([table[row] for table, row in zip(stands_for, codes, strict=False)]),
            codes[len(stands_for) :],
        ]
    )
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


def count_part(
    part: CodedPart, sets: FeatureSets, n_codes: Sequence[int], n_classes: int, numbers: FloatArray | None
) -> FloatArray:
    """The joint counts of one partition, or sums to which a unit of weight of each label adds ``numbers[label]``."""
    out = np.zeros(joint_size(sets, n_codes, n_classes))
    block = Block(*part)
    for each in (block,) if numbers is None else summed_blocks(block, sums_of_labels(block, numbers)):
        count_block(each, sets, n_codes, out, n_classes)
    return out
