"""How long tasks will take: from runs of the same kind, or, before there are any, from a guess."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from benchmarks import sets
from benchmarks.protocols import PROGRAMS, Task

#: Importing and reading, for every process.
PROCESS_SECONDS = 2.0
#: Share of the limits that is used, by method; programs use all of theirs.
SHARES = {"rules": 0.25, "gosdt": 0.5, "contree": 0.1, "dl85": 0.1}
#: Settings that the programs compare.
PROGRAM_FITS = 3


def _kind(method: str, protocol: str, data: str, depth: int) -> tuple[Any, ...]:
    """Runs of a kind take about equally long."""
    size = "small" if data in sets.SMALL else "growth" if "?" in data else data
    return protocol, method, size, depth


class Estimate:
    """Learns from the rows that are there."""

    def __init__(self, rows: Iterable[dict[str, Any]] = ()) -> None:
        self._seen: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        for row in rows:
            self.learn(row)

    def learn(self, row: dict[str, Any]) -> None:
        """One more row."""
        if "wall" in row:
            self._seen[_kind(row["method"], row["protocol"], row["data"], row["depth"])].append(row["wall"])

    def seconds(self, task: Task) -> float:
        """What one task will take."""
        seen = self._seen.get(_kind(task.method, task.protocol, task.data, task.depth))
        if seen:
            return statistics.mean(seen)
        if task.method in PROGRAMS:
            fits = 1 + PROGRAM_FITS if task.method in ("oct", "flowoct") else 2
            share = min(1.0, 0.25 * (task.depth - 1) ** 2)
            return PROCESS_SECONDS + share * (task.limit + (fits - 1) * task.tuning_limit)
        deep = 0.2 if task.depth < 4 else 1.0
        share = SHARES.get(task.method, 0.005) * (deep if task.data in sets.SMALL else 1.0)
        return PROCESS_SECONDS + share * (task.limit + 3 * task.tuning_limit)

    def total(self, tasks: Iterable[Task]) -> float:
        """What many will take, one after the other."""
        return sum(self.seconds(task) for task in tasks)
