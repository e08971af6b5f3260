"""What to read from disk: a description, and nothing is read before a fit."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_duckdb_relation, is_polars_lazyframe

#: Memory where no limit is given, as a share of what the machine has free.
_SHARE_OF_FREE = 0.5
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BINARY_UNITS = {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
#: With less than this nothing works.
LEAST_MEMORY = 400 * 10**6


@dataclass(frozen=True)
class Scan:
    """Rows to be read from disk by a fit; made by `scan`.

    Attributes
    ----------
    source : tuple of str, DuckDB relation or lazy frame
    target : str or tuple of str
    columns : tuple of str or None
    weight : str or None
    groups : tuple of str
    memory_limit : int or None
        Bytes.
    temp_directory : str or None
    delimiter : str or None
    missing : tuple of str
    """

    source: Any
    target: str | tuple[str, ...]
    columns: tuple[str, ...] | None = None
    weight: str | None = None
    groups: tuple[str, ...] = ()
    memory_limit: int | None = None
    temp_directory: str | None = None
    delimiter: str | None = None
    missing: tuple[str, ...] = field(default=())

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns that the target is made of."""
        return (self.target,) if isinstance(self.target, str) else self.target

    @property
    def memory(self) -> int:
        """Bytes that a fit may use: the limit, or half of what is free."""
        if self.memory_limit is not None:
            return self.memory_limit
        return usable_memory()

    def __repr__(self) -> str:
        what = ", ".join(map(repr, self.source)) if isinstance(self.source, tuple) else type(self.source).__name__
        return f"<Scan of {what}, target {self.target!r}>"


def scan(
    source: Any,
    target: str | Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    groups: Sequence[str] = (),
    memory_limit: str | int | None = None,
    temp_directory: str | os.PathLike[str] | None = None,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
) -> Scan:
    """Describe rows on disk that `fit` is to read, however many they are.

    Parameters
    ----------
    source : path, sequence of paths, DuckDB relation or lazy frame
        Files, folders or patterns such as ``"folder/*.parquet"``: Parquet, CSV (also compressed by gzip) or Arrow,
        told apart by their first bytes. Several files are read in the order of their names, as one table. Or a DuckDB
        relation, or a lazy frame of polars or narwhals: it is computed once, into a temporary file.
    target : str or sequence of str
        The column to predict; for an `OptimalSurvivalTree` time and event, for an `OptimalPolicyTree` what each action
        brings.
    columns : sequence of str, optional
        The columns to predict from; by default all others.
    weight : str, optional
        The column of sample weights.
    groups : sequence of str
        Columns that constraints name and rules may not test.
    memory_limit : str or int, optional
        Most memory of a fit, such as ``"2GB"`` or a number of bytes; by default half of what is free.
    temp_directory : path, optional
        Where temporary files go; each fit removes its own. By default the system's place for them.
    delimiter : str, optional
        Of CSV files; by default the most frequent of comma, semicolon, tab and bar in the header.
    missing : sequence of str
        Cells that mean missing in CSV files, besides the empty one.

    Returns
    -------
    Scan

    Examples
    --------
    >>> import tempfile, pyarrow, pyarrow.parquet
    >>> from omtree import OptimalTreeClassifier, scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pyarrow.table({"age": [18, 35, 60, 70], "ill": ["no", "no", "yes", "yes"]})
    ...     pyarrow.parquet.write_table(table, f"{folder}/part-1.parquet")
    ...     model = OptimalTreeClassifier(max_depth=1).fit(scan(f"{folder}/*.parquet", target="ill"))
    >>> model.certificate_.value
    0.0
    """
    if isinstance(source, (str, os.PathLike)):
        source = (os.fspath(source),)
    elif isinstance(source, (list, tuple)):
        source = tuple(os.fspath(each) for each in source)
    elif not is_lazy(source):
        raise ValueError(
            f"scan reads paths, DuckDB relations and lazy frames, not {type(source).__name__}; "
            "give data in memory to fit as they are."
        )
    limit = None if memory_limit is None else bytes_of(memory_limit)
    if limit is not None and limit < LEAST_MEMORY:
        raise ValueError(f"memory_limit={memory_limit!r} is too little; use at least {LEAST_MEMORY // 10**6}MB.")
    if isinstance(groups, str):
        groups = (groups,)
    return Scan(
        source,
        target if isinstance(target, str) else tuple(target),
        None if columns is None else tuple(columns),
        weight,
        tuple(groups),
        limit,
        None if temp_directory is None else os.fspath(temp_directory),
        delimiter,
        tuple(missing),
    )


def is_scan(X: Any) -> bool:
    """Whether these rows are to be read from disk."""
    return isinstance(X, Scan) or is_lazy(X)


def is_lazy(X: Any) -> bool:
    """Whether X is a DuckDB relation or a lazy frame."""
    if isinstance(X, np.ndarray):
        return False  # known at once, and asked several times a fit
    return isinstance(X, nw.LazyFrame) or is_duckdb_relation(X) or is_polars_lazyframe(X)


def as_scan(X: Any, y: Any, sample_weight: Any, groups: Any) -> Scan:
    """What was given to `fit` as a scan: the columns of a relation or lazy frame are named by their names."""
    if isinstance(X, Scan):
        if y is not None or sample_weight is not None or groups is not None:
            raise ValueError(
                "fit takes the target, weights and groups of a scan from the scan itself; "
                "name them in omtree.scan(..., target=..., weight=..., groups=...)."
            )
        return X
    several = isinstance(y, (list, tuple)) and len(y) > 0 and all(isinstance(name, str) for name in y)
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        if name == "y" and several:
            continue
        if not isinstance(given, str) and (given is not None or name == "y"):
            raise ValueError(f"{name} must be the name of a column when X is a relation or lazy frame.")
    if groups is not None and not isinstance(groups, str) and not all(isinstance(name, str) for name in groups):
        raise ValueError("groups must be names of columns when X is a relation or lazy frame.")
    return scan(X, y, weight=sample_weight, groups=() if groups is None else groups)


def bytes_of(size: str | int) -> int:
    """A size in bytes.

    >>> bytes_of("2GB"), bytes_of("1.5 GiB"), bytes_of(10**9)
    (2000000000, 1610612736, 1000000000)
    """
    if isinstance(size, int) and not isinstance(size, bool) and size > 0:
        return size
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", size, re.IGNORECASE) if isinstance(size, str) else None
    unit = None if match is None else {**_UNITS, **_BINARY_UNITS}.get(match[2].upper())
    if match is None or unit is None:
        raise ValueError(f"memory_limit={size!r} is no size; use such as '2GB' or '500MB'.")
    return int(float(match[1]) * unit)


def usable_memory() -> int:
    """Bytes that a fit may use where no limit was given: half of what is free."""
    return max(LEAST_MEMORY, int(_SHARE_OF_FREE * _free_memory()))


def _free_memory() -> int:
    """Bytes of memory that are free, or all of it where that is not known."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        names = os.sysconf_names if hasattr(os, "sysconf_names") else {}
        if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
            return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        return 8 * 10**9
