"""Coded rows with classes, equal ones merged as they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.constraints.samples import GroupColumn
from omtree.data.column import CodedColumns
from omtree.data.merging import Merger
from omtree.data.table import CodeArray, Feature, FloatArray
from omtree.sources.samples import Training
from omtree.sources.target import Target


class ClassRows:
    """Merges coded rows of the same class and groups.

    Parameters
    ----------
    training : Training
        Whose rows they are; its classes, groups and class weights are those of the result.
    features : tuple of Feature
    weighted : bool
        Whether rows come with weights.
    memory : float
        Bytes that they may take, with all that a search makes of them.
    """

    def __init__(self, training: Training, features: tuple[Feature, ...], *, weighted: bool, memory: float) -> None:
        self._training = training
        self._features = features
        n_classes = len(training.target.classes)
        self._weighted = weighted
        self._n_weights = 2 if training.class_scale is not None else int(self._weighted)
        self._width = len(features) + 1 + len(training.groups)
        row_bytes = 5 * self._width + 16 * n_classes + 100
        self._merger = Merger(self._width, self._n_weights, int(memory / row_bytes))

    def add(self, codes: CodeArray, labels: npt.NDArray[Any], *others: npt.NDArray[Any]) -> bool:
        """Take in rows with their labels, groups and weights; False where they are too many for memory."""
        scale = self._training.class_scale
        groups = others[: len(self._training.groups)]
        keys = [labels]
        for positions, column in zip(groups, self._training.groups.values(), strict=True):
            keys.append(group_codes(positions, len(column.levels)))
        rows = np.empty((self._width, len(labels)), dtype=np.uint8)
        rows[: len(codes)] = codes
        for row, key in zip(rows[len(codes) :], keys, strict=True):
            row[:] = key
        weights: FloatArray | None = None
        if self._n_weights:
            own = np.asarray(others[-1], dtype=np.float64) if self._weighted else np.ones(len(labels))
            weights = own[None, :] if scale is None else np.stack([own, own * scale[labels]])
        return self._merger.add(rows, weights)

    def result(self) -> Training:
        """The merged rows as samples."""
        training, n_codes = self._training, len(self._features)
        rows, weights = self._merger.result()
        labels = rows[n_codes].astype(np.intp)
        groups = {
            name: GroupColumn(codes.astype(np.intp), column.levels)
            for (name, column), codes in zip(training.groups.items(), rows[n_codes + 1 :], strict=True)
        }
        columns = CodedColumns(training.columns.columns, rows.shape[1], self._features, rows[:n_codes])
        target = replace(training.target, labels=labels)
        scale = training.class_scale
        return Training(columns, target, weights[0], weights[-1], training.total, groups, scale)


class NumberRows(ClassRows):
    """Merges coded rows of the same target, which is one of few numbers.

    Parameters
    ----------
    training, features, weighted, memory
        As for `ClassRows`.
    levels : array of float
        What the labels stand for; at most 65,536.
    decode : callable
        Makes a target of these.
    """

    def __init__(
        self,
        training: Training,
        features: tuple[Feature, ...],
        *,
        weighted: bool,
        memory: float,
        levels: FloatArray,
        decode: Callable[[FloatArray], Target],
    ) -> None:
        self._training = training
        self._features = features
        self._weighted = weighted
        self._levels = levels
        self._decode = decode
        self._merger = Merger(len(features) + 2, int(weighted), int(memory / (5 * len(features) + 120)))

    def add(self, codes: CodeArray, labels: npt.NDArray[Any], *others: npt.NDArray[Any]) -> bool:
        """Take in rows with the positions of their targets and their weights; False where they are too many."""
        rows = np.concatenate([codes, (labels >> 8).astype(np.uint8)[None], (labels & 255).astype(np.uint8)[None]])
        return self._merger.add(rows, np.asarray(others[-1], dtype=np.float64)[None] if self._weighted else None)

    def result(self) -> Training:
        """The merged rows as samples."""
        training, n_codes = self._training, len(self._features)
        rows, weights = self._merger.result()
        labels = rows[n_codes].astype(np.intp) << 8 | rows[n_codes + 1]
        columns = CodedColumns(training.columns.columns, rows.shape[1], self._features, rows[:n_codes])
        target = self._decode(self._levels[labels])
        return Training(columns, target, weights[0], weights[0], training.total)


def group_codes(positions: npt.NDArray[Any], n_levels: int) -> npt.NDArray[np.intp]:
    """Missing cells, at position -1, are the last group."""
    return np.where(positions < 0, n_levels - 1, positions).astype(np.intp)


def too_many() -> Training:
    """Say what rows beyond memory allow."""
    raise ValueError(
        "These rows do not fit into memory even when merged; counted where they are, they allow trees without "
        "constraints, features in an order that is given, and objectives that the weights of the classes decide "
        "('error', 'balanced_error', 'gini', 'entropy'), or hazards, rewards or sums of the target ('squared', "
        "'poisson'): raise memory_limit, or use fewer columns or bins."
    )
