"""What the actions of a policy bring rows on disk: their sums where the rows are, and their means in merged rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from omtree.data.column import CodedColumns
from omtree.data.merging import Merger
from omtree.data.spill import Block, Spill
from omtree.data.table import CodeArray, Feature, FloatArray
from omtree.sources.disk.merged import too_many
from omtree.sources.samples import Training


class RewardRows:
    """Merges coded rows, whatever their actions bring: of equal ones the means are kept.

    Parameters
    ----------
    training : Training
    features : tuple of Feature
    memory : float
        Bytes that they may take.
    """

    def __init__(self, training: Training, features: tuple[Feature, ...], *, memory: float) -> None:
        self._training = training
        self._features = features
        self._n_actions = len(training.target.classes)
        row_bytes = 5 * len(features) + 80 * self._n_actions + 100
        self._merger = Merger(len(features), 1 + 2 * self._n_actions, int(memory / row_bytes))

    def add(self, codes: CodeArray, rewards: FloatArray, weight: FloatArray) -> bool:
        """Take in rows with what each action brings them, (n_actions, n_rows); False where they are too many."""
        return self._merger.add(codes, np.concatenate([weight[None], rewards * weight, lost(rewards) * weight]))

    def result(self) -> Training:
        """The merged rows as samples."""
        training, n = self._training, self._n_actions
        rows, sums = self._merger.result()
        weight = sums[0]
        means = (sums[1:] / weight).T
        columns = CodedColumns(training.columns.columns, rows.shape[1], self._features, rows)
        rewards, charges = np.ascontiguousarray(means[:, :n]), np.ascontiguousarray(means[:, n:])
        target = replace(training.target, labels=rewards.argmax(axis=1), charges=charges, rewards=rewards)
        return Training(columns, target, weight, weight, training.total)


def lost(rewards: FloatArray) -> FloatArray:
    """What each action brings less than the best one, by action and row."""
    return np.asarray(rewards.max(axis=0) - rewards)


def charges(block: Block) -> FloatArray:
    """By row of a block: its weight, and what each action brings less than the best one, times that."""
    assert block.numbers is not None
    weight = np.ones(len(block.labels)) if block.weights is None else block.weights
    return np.concatenate([weight[None], lost(block.numbers) * weight])


def total_charges(spill: Spill) -> FloatArray:
    """The same over all rows."""
    return np.asarray(np.sum([charges(block).sum(axis=1) for block in spill.blocks()], axis=0))


def merged_rewards(
    training: Training, spill: Spill, features: tuple[Feature, ...], memory: float, alike: CodeArray
) -> Training:
    """The rows of a file, those merged whose codes stand for the same."""
    merge = RewardRows(training, features, memory=memory)
    for block in spill.blocks():
        assert block.numbers is not None
        codes = np.stack([same[own] for same, own in zip(alike, block.codes, strict=True)])
        weight = np.ones(codes.shape[1]) if block.weights is None else block.weights
        if not merge.add(codes, block.numbers, weight):
            too_many()
    return merge.result()
