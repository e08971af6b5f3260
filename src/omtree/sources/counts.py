"""Where joint counts come from: rows in memory, in a file, or anywhere else that can answer one question.

The search touches rows in one way only: it asks for the joint counts of sets of features. Counts add up over disjoint
rows, so whoever holds some of the rows can answer for those, and the sum of the answers is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.spill import Block, Spill
from omtree.data.table import FloatArray, Table, are_whole

#: Sets of features, one a row.
FeatureSets = npt.NDArray[np.int32]
Stopped = Callable[[], bool]


class Counts(Protocol):
    """A source of joint counts.

    Attributes
    ----------
    n_codes : sequence of int
        Of each feature.
    totals : array of float, shape (n_classes,)
        Weight of each class over all rows.
    whole : bool
        Whether all weights are whole numbers; then so are all counts, and sums of them are exact in any order.
    """

    @property
    def n_codes(self) -> Sequence[int]: ...
    @property
    def totals(self) -> FloatArray: ...
    @property
    def whole(self) -> bool: ...

    def tables(self, sets: FeatureSets, stopped: Stopped) -> FloatArray | None:
        """The joint counts of some sets of features, over all rows.

        Parameters
        ----------
        sets : array of int, shape (n_sets, width)
            Positions of features.
        stopped : callable
            Asked now and then whether the answer is still of use.

        Returns
        -------
        array of float or None
            The table of each set, one after the other: of shape (codes of the first feature, ..., classes), flat. None
            when `stopped` said so.
        """
        ...


def joint_size(sets: FeatureSets, n_codes: Sequence[int], n_classes: int) -> int:
    """How many counts the tables of some sets have.

    >>> joint_size(np.array([[0, 1], [0, 2]]), [2, 3, 4], 2)
    28
    """
    return int(np.prod(np.asarray(n_codes, dtype=np.int64)[sets], axis=1, initial=1).sum()) * n_classes


def count_block(block: Block, sets: FeatureSets, n_codes: Sequence[int], out: FloatArray, n_classes: int) -> None:
    """Add the joint counts of a block of rows; the one place where rows are looked at, whatever the source."""
    weights = np.empty(0) if block.weights is None else block.weights
    _native.count_joint(block.codes, block.labels, weights, sets, list(n_codes), n_classes, out)


def count_blocks(
    n_blocks: int,
    read: Callable[[int], Iterable[Block]],
    sets: FeatureSets,
    n_codes: Sequence[int],
    n_classes: int,
    stopped: Stopped,
    n_jobs: int = 1,
) -> FloatArray | None:
    """The joint counts over blocks that are read one at a time by each of some threads.

    Parameters
    ----------
    n_blocks : int
    read : callable
        Gives what is counted of a block, by its number.
    sets : array of int, shape (n_sets, width)
    n_codes : sequence of int
    n_classes : int
    stopped : callable
    n_jobs : int
        Threads; each has tables of its own.
    """
    sets = np.ascontiguousarray(sets, dtype=np.int32)

    def count(lane: int) -> FloatArray | None:
        out = np.zeros(joint_size(sets, n_codes, n_classes))
        for index in range(lane, n_blocks, n_jobs):
            if stopped():
                return None
            for block in read(index):
                count_block(block, sets, n_codes, out, n_classes)
        return out

    if n_jobs == 1:
        return count(0)
    with ThreadPoolExecutor(n_jobs) as pool:
        parts = list(pool.map(count, range(n_jobs)))
    total = parts[0]
    for part in parts[1:]:
        if total is None or part is None:
            return None
        total += part
    return total


def summed_blocks(block: Block, sums: FloatArray) -> Iterable[Block]:
    """The rows of a block once for each of some sums, (n_sums, n_rows), which stand in the place of weights."""
    for which, weights in enumerate(sums):
        yield Block(block.codes, np.full(len(weights), which, dtype=np.uint16), np.ascontiguousarray(weights))


def sums_of_labels(block: Block, numbers: FloatArray) -> FloatArray:
    """What the rows of a block add to sums of which a unit of weight of each label adds ``numbers[label]``."""
    own = numbers[block.labels].T
    return np.asarray(own if block.weights is None else own * block.weights)


class LocalCounts:
    """The rows of a table in memory.

    Parameters
    ----------
    table : Table
        Its statistics are the weights of the classes.
    """

    def __init__(self, table: Table) -> None:
        counts = table.statistics
        rows, labels = np.nonzero(counts)
        weights = counts[rows, labels]
        self.n_codes: Sequence[int] = tuple(feature.n_codes for feature in table.features)
        self.totals: FloatArray = counts.sum(axis=0)
        self.whole = are_whole(weights)
        codes = np.ascontiguousarray(table.codes[:, rows])
        self._block = Block(codes, labels.astype(np.uint16), None if (weights == 1.0).all() else weights)

    def tables(self, sets: FeatureSets, stopped: Stopped) -> FloatArray | None:
        """See `Counts`."""
        return count_blocks(1, lambda _: (self._block,), sets, self.n_codes, len(self.totals), stopped)


class SpillCounts:
    """Rows in a file, of which a block a thread is in memory.

    Parameters
    ----------
    spill : Spill
        Closed.
    n_codes : sequence of int
        Of each feature.
    totals : array of float
        What all rows add up to.
    n_jobs : int
        Threads.
    progress : callable, optional
        Told the number of rows whenever so many more were read.
    """

    def __init__(
        self,
        spill: Spill,
        n_codes: Sequence[int],
        totals: FloatArray,
        n_jobs: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.n_codes: Sequence[int] = tuple(n_codes)
        self.totals = totals
        self.whole = spill.whole
        self._spill = spill
        self._n_jobs = n_jobs
        self._progress = progress

    def tables(self, sets: FeatureSets, stopped: Stopped) -> FloatArray | None:
        """See `Counts`."""
        n_sums = len(self.totals)
        return count_blocks(self._spill.n_blocks, self._read, sets, self.n_codes, n_sums, stopped, self._n_jobs)

    def _read(self, index: int) -> Iterable[Block]:
        block = self._spill.read(index)
        if self._progress is not None:
            self._progress(len(block.labels))
        return self._counted(block)

    def _counted(self, block: Block) -> Iterable[Block]:
        """What is counted of a block: its rows, or each of its sums in the place of a class."""
        raise NotImplementedError


class BlockCounts(SpillCounts):
    """Weights of classes: the labels of the rows."""

    def __init__(
        self,
        spill: Spill,
        n_codes: Sequence[int],
        n_classes: int,
        n_jobs: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        totals = np.zeros(n_classes)
        totals[: len(spill.totals)] = spill.totals
        super().__init__(spill, n_codes, totals, n_jobs, progress)

    def _counted(self, block: Block) -> Iterable[Block]:
        return (block,)


class SummedCounts(SpillCounts):
    """Sums over the rows.

    Parameters
    ----------
    spill, n_codes, totals, n_jobs, progress
        As for `SpillCounts`.
    sums : callable
        Gives what the rows of a block add to each sum, shape (n_sums, n_rows); the first of these is their weight.
    """

    def __init__(
        self,
        spill: Spill,
        n_codes: Sequence[int],
        totals: FloatArray,
        sums: Callable[[Block], FloatArray],
        n_jobs: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        super().__init__(spill, n_codes, totals, n_jobs, progress)
        self._sums = sums

    @classmethod
    def of_labels(
        cls,
        spill: Spill,
        n_codes: Sequence[int],
        numbers: FloatArray,
        n_jobs: int = 1,
        progress: Callable[[int], None] | None = None,
    ) -> SummedCounts:
        """Where the label of a row decides: a unit of weight of each label adds `numbers`, (n_labels, n_sums)."""

        totals = spill.totals @ numbers[: len(spill.totals)]
        return cls(spill, n_codes, totals, lambda block: sums_of_labels(block, numbers), n_jobs, progress)

    def _counted(self, block: Block) -> Iterable[Block]:
        return summed_blocks(block, self._sums(block))


class ScaledCounts:
    """Another source, with the weights of each class multiplied.

    Parameters
    ----------
    counts : Counts
    scale : array of float, shape (n_classes,)
    """

    def __init__(self, counts: Counts, scale: FloatArray) -> None:
        self.n_codes = counts.n_codes
        self.totals: FloatArray = counts.totals * scale
        self.whole = counts.whole and are_whole(scale)
        self._counts = counts
        self._scale = scale

    def tables(self, sets: FeatureSets, stopped: Stopped) -> FloatArray | None:
        """See `Counts`."""
        tables = self._counts.tables(sets, stopped)
        return None if tables is None else (tables.reshape(-1, len(self._scale)) * self._scale).ravel()
