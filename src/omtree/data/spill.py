"""Coded rows in a file: what is left of data that are too large for memory, read back block by block."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from omtree.data.table import CodeArray, FloatArray, are_whole

LabelArray = npt.NDArray[np.uint16]

#: Rows of a block by default: some megabytes, so that reading is fast and a block fits the cache of most processors.
BLOCK_ROWS = 1 << 18


@dataclass(frozen=True, eq=False)
class Block:
    """Some of the rows.

    Attributes
    ----------
    codes : array of uint8, shape (n_features, n_rows)
    labels : array of uint16, shape (n_rows,)
    weights : array of float, shape (n_rows,), or None
        None where every row weighs one.
    numbers : array of float, shape (n_numbers, n_rows), or None
        Where rows have numbers beside their label.
    """

    codes: CodeArray
    labels: LabelArray
    weights: FloatArray | None = None
    numbers: FloatArray | None = None


class Spill:
    """A file of coded rows that is written once and read often.

    The file ``codes.bin`` holds blocks of the same number of rows (the last may have fewer): the codes of the first
    feature, those of the second, and so on, one byte each; the labels, two bytes each; the weights, where rows have
    weights, and all first numbers, all second numbers and so on, where they have numbers, eight bytes each.

    A block is read at once, and nothing of it stays in memory when it is dropped.

    Use `create`, then `append` and `close`; after that `blocks` or `read`. As a context manager it removes its files.

    Attributes
    ----------
    n_features, block_rows, n_numbers, n_rows : int
    weighted : bool or None
        Whether rows have weights; None before the first rows.
    whole : bool
        Whether all weights are whole numbers.
    totals : array of float
        Weight of each label so far, up to the largest.

    Examples
    --------
    >>> import tempfile
    >>> with Spill.create(tempfile.mkdtemp(), n_features=2, block_rows=3) as spill:
    ...     spill.append(np.array([[0, 1, 2, 0], [1, 1, 0, 0]], np.uint8), np.array([0, 1, 0, 1]))
    ...     spill.close()
    ...     [block.codes.tolist() for block in spill.blocks()]
    [[[0, 1, 2], [1, 1, 0]], [[0], [0]]]
    """

    def __init__(self, folder: Path, n_features: int, block_rows: int, n_numbers: int = 0) -> None:
        self.folder = folder
        self.n_features = n_features
        self.n_numbers = n_numbers
        self.block_rows = block_rows
        self.n_rows = 0
        self.weighted: bool | None = None
        self.whole = True
        self.totals: FloatArray = np.zeros(0)
        self._made_folder = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO | None = open(self.path, "xb")  # noqa: SIM115
        self._open: list[Block] = []
        self._open_rows = 0

    @classmethod
    def create(
        cls, folder: str | os.PathLike[str], n_features: int, block_rows: int = BLOCK_ROWS, n_numbers: int = 0
    ) -> Spill:
        """A new file in a folder, which is made where it does not exist.

        Parameters
        ----------
        folder : path
            Must not hold a spill file already.
        n_features : int
        block_rows : int
            Rows of a block.
        n_numbers : int
            Numbers of a row, beside its label and its weight.
        """
        if n_features < 0 or block_rows < 1:
            raise ValueError(f"A spill file needs n_features >= 0 and block_rows >= 1, not {n_features}, {block_rows}.")
        try:
            return cls(Path(folder), n_features, block_rows, n_numbers)
        except FileExistsError:
            raise ValueError(f"{Path(folder) / 'codes.bin'} exists already; use another folder.") from None

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / "codes.bin"

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_rows // self.block_rows)

    @property
    def row_bytes(self) -> int:
        """What a row takes in the file."""
        return self.n_features + 2 + (8 if self.weighted else 0) + 8 * self.n_numbers

    def append(
        self,
        codes: CodeArray,
        labels: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        numbers: FloatArray | None = None,
    ) -> None:
        """Write some more rows.

        Parameters
        ----------
        codes : array of uint8, shape (n_features, n_rows)
        labels : array of int, shape (n_rows,)
            From 0 to 65,535.
        weights : array of float, shape (n_rows,), optional
            Either always given or never; it is the first call that decides.
        numbers : array of float, shape (n_numbers, n_rows), optional
        """
        if self._file is None:
            raise ValueError(f"{self.path} is closed; rows are appended before that.")
        codes = np.asarray(codes)
        n_rows = codes.shape[1] if codes.ndim == 2 else -1
        labels = np.asarray(labels)
        weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        if codes.dtype != np.uint8 or codes.shape != (self.n_features, n_rows) or labels.shape != (n_rows,):
            raise ValueError(
                f"Rows for {self.path} need uint8 codes of {self.n_features} features and one label a row, not "
                f"{codes.dtype} of shape {codes.shape} and labels of shape {labels.shape}."
            )
        if n_rows and not 0 <= int(labels.min()) <= int(labels.max()) < 1 << 16:
            raise ValueError(f"Labels for {self.path} must be from 0 to 65535.")
        if self.weighted is None:
            self.weighted = weights is not None
        if self.weighted != (weights is not None) or (weights is not None and weights.shape != (n_rows,)):
            raise ValueError(f"Rows for {self.path} must all have one weight each, or none.")
        if (0 if numbers is None else len(numbers)) != self.n_numbers:
            raise ValueError(f"Rows for {self.path} must have {self.n_numbers} numbers each.")
        self.n_rows += n_rows
        self.whole = self.whole and (weights is None or are_whole(weights))
        totals = np.bincount(labels.astype(np.intp), weights=weights, minlength=len(self.totals)).astype(np.float64)
        totals[: len(self.totals)] += self.totals
        self.totals = totals
        start = 0
        while start < n_rows:
            stop = min(n_rows, start + self.block_rows - self._open_rows)
            # A copy: the caller may use the arrays again.
            self._open.append(
                Block(
                    codes[:, start:stop].copy(),
                    labels[start:stop].astype(np.uint16),
                    None if weights is None else weights[start:stop].copy(),
                    None if numbers is None else numbers[:, start:stop].copy(),
                )
            )
            self._open_rows += stop - start
            start = stop
            if self._open_rows == self.block_rows:
                self._flush()

    def close(self) -> None:
        """End the writing; only then is there something to read."""
        if self._file is not None:
            self._flush()
            self._file.close()
            self._file = None

    def read(self, index: int) -> Block:
        """A block, by its number; threads may read at the same time."""
        if self._file is not None:
            raise ValueError(f"{self.path} is still being written; close it first.")
        if not 0 <= index < self.n_blocks:
            raise IndexError(f"{self.path} has {self.n_blocks} blocks, not a block {index}.")
        n_rows = min(self.block_rows, self.n_rows - index * self.block_rows)
        data = memoryview(bytearray(n_rows * self.row_bytes))
        with open(self.path, "rb", buffering=0) as file:
            file.seek(index * self.block_rows * self.row_bytes)
            done = 0
            while done < len(data):
                got = file.readinto(data[done:])
                if not got:
                    raise ValueError(f"{self.path} is shorter than it was written; its disk may be full or damaged.")
                done += got
        n_codes = self.n_features * n_rows
        codes = np.frombuffer(data, np.uint8, n_codes).reshape(self.n_features, n_rows)
        # Of an odd number of bytes before them, labels and weights would lie across the bounds of words.
        labels = np.frombuffer(bytes(data[n_codes : n_codes + 2 * n_rows]), np.uint16)
        doubles = np.frombuffer(bytes(data[n_codes + 2 * n_rows :]), np.float64).reshape(-1, n_rows)
        weights = doubles[0] if self.weighted else None
        return Block(codes, labels, weights, doubles[int(bool(self.weighted)) :] if self.n_numbers else None)

    def blocks(self) -> Iterator[Block]:
        """All blocks, one after the other."""
        for index in range(self.n_blocks):
            yield self.read(index)

    def remove(self) -> None:
        """Delete the file, and the folder where it was made for it; more than once is no harm."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self.path.unlink(missing_ok=True)
        if self._made_folder and self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()

    def _flush(self) -> None:
        if self._open_rows == 0:
            return
        assert self._file is not None
        for feature in range(self.n_features):
            for part in self._open:
                self._file.write(part.codes[feature].data)
        for part in self._open:
            self._file.write(part.labels.data)
        for part in self._open:
            if part.weights is not None:
                self._file.write(part.weights.data)
        for place in range(self.n_numbers):
            for part in self._open:
                assert part.numbers is not None
                self._file.write(part.numbers[place].tobytes())
        self._open, self._open_rows = [], 0
