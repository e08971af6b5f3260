"""What is run: the experiments of the paper, today's rivals, growth, and a sample of them all.

A protocol is a list of tasks in the order of their worth: a run that is stopped has done the most telling part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from benchmarks import sets
from benchmarks.data import OPTIONAL

#: Programs whose every fit takes its whole limit.
PROGRAMS = ("flowoct", "binoct", "oct", "s1o")
SMALL_DEPTHS = (2, 3, 4, 5)
LARGE_DEPTHS = (2, 3)
SYNTHETIC = "synthetic-1000000"


@dataclass(frozen=True)
class Task:
    """One method on one split of one data set.

    Attributes
    ----------
    limit, tuning_limit : float
        Seconds for the last fit, and for each of those that validation compares; 0 means that nothing is tuned.
    """

    protocol: str
    method: str
    data: str
    depth: int
    split: int = 0
    limit: float = 60.0
    tuning_limit: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @property
    def label(self) -> str:
        """In a few words."""
        return f"{self.protocol}: {self.method} {self.data} d={self.depth} split {self.split}"


def _tasks(
    protocol: str,
    methods: Iterable[str],
    data: Iterable[str],
    depths: Iterable[int],
    splits: Iterable[int],
    limit: float,
    tuning_limit: float = 0.0,
) -> list[Task]:
    """Method by method, then depth by depth."""
    return [
        Task(protocol, method, name, depth, split, limit, tuning_limit)
        for method, depth, name, split in product(methods, depths, data, splits)
    ]


def paper_small() -> list[Task]:
    """12 sets x 4 depths x 5 splits; the programs on one split."""
    five = range(5)
    name = "paper-small"
    return [
        *_tasks(name, ("tree", "cart", "streed"), sets.SMALL, SMALL_DEPTHS, five, 60, 60),
        *_tasks(name, ("rules",), sets.SMALL, SMALL_DEPTHS, five, 60, 15),
        # None of these sets has numbers, of which validation would choose the bins.
        *_tasks(name, ("paper", "paper-ksp"), sets.SMALL, SMALL_DEPTHS, five, 20),
        *_tasks(name, PROGRAMS[:3], sets.SMALL, SMALL_DEPTHS, (0,), 60, 10),
        *_tasks(name, ("chaid",), sets.SMALL, SMALL_DEPTHS, five, 60, 60),
    ]


def twenty() -> list[Task]:
    """The same sets and depths over twenty splits, for differences that five cannot show; split by split."""
    tasks = _tasks("twenty", ("tree", "cart"), sets.SMALL, SMALL_DEPTHS, range(20), 60, 60)
    tasks += _tasks("twenty", ("rules", "paper"), sets.SMALL, SMALL_DEPTHS, range(20), 60, 15)
    return sorted(tasks, key=lambda task: task.split)


def ceiling() -> list[Task]:
    """One fit of rules to all rows of the small sets: what no model of that size exceeds, on average over splits."""
    return _tasks("ceiling", ("rules",), sets.SMALL, SMALL_DEPTHS, (0,), 60)


def paper_large() -> list[Task]:
    """Six sets, depth 2 and 3; the programs on one split."""
    five = range(5)
    name = "paper-large"
    return [
        *_tasks(name, ("tree", "cart"), sets.LARGE, LARGE_DEPTHS, five, 120, 120),
        *_tasks(name, ("streed",), sets.LARGE, LARGE_DEPTHS, (0,), 120, 60),
        *_tasks(name, ("rules",), sets.LARGE, LARGE_DEPTHS, five, 60, 30),
        *_tasks(name, PROGRAMS, sets.LARGE, LARGE_DEPTHS, (0,), 60, 10),
    ]


def huge() -> list[Task]:
    """Covertype, a synthetic million, and what else is present; one split, default settings."""
    name = "huge"
    return [
        *_tasks(name, ("tree", "cart"), (*sets.HUGE, *OPTIONAL, SYNTHETIC), LARGE_DEPTHS, (0,), 600),
        *_tasks(name, ("rules",), sets.HUGE, LARGE_DEPTHS, (0,), 300),
    ]


def today() -> list[Task]:
    """The current best on the same sets, each with its default settings."""
    name = "today"
    methods = ("tree", "cart", "streed", "contree", "chaid", "rules", "gosdt", "dl85", "iai")
    small = _tasks(name, methods, sets.SMALL, SMALL_DEPTHS, (0,), 60)
    large = _tasks(name, methods, sets.LARGE, LARGE_DEPTHS, (0,), 60)
    return sorted(small + large, key=lambda task: methods.index(task.method))


def growth() -> list[Task]:
    """Covertype, one thing at a time: rows, columns, depth, bins, leaves."""
    cases = [(case(rows=rows), 2) for rows in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)]
    cases += [(case(columns=columns), 2) for columns in (5, 10, 20, 40, 54)]
    cases += [(case(columns=10), depth) for depth in (1, 2, 3, 4)]
    cases += [(case(bins=bins), 2) for bins in (2, 4, 8, 16, 32)]
    cases += [(case(leaves=leaves, columns=10), 3) for leaves in (2, 4, 8, 16, 32)]
    tasks = [Task("growth", "tree", data, depth, 0, 300) for data, depth in cases]
    return list(dict.fromkeys(tasks))


def case(rows: int = 100_000, columns: int = 54, bins: int = 8, leaves: int = 0) -> str:
    """Covertype of this size; 0 leaves means 2^d."""
    return f"covertype?rows={rows}&columns={columns}&bins={bins}&leaves={leaves}"


def sample() -> list[Task]:
    """A little of everything, in about five minutes."""
    name = "sample"
    few = ("monks-1", "balance-scale", "house-votes-84_complete")
    return [
        *_tasks(name, ("tree", "cart", "streed", "rules", "paper"), few, (2, 3), (0, 1), 10, 5),
        *_tasks(name, ("contree", "chaid", "gosdt", "dl85", "iai"), few, (2,), (0,), 10, 3),
        *_tasks(name, PROGRAMS, few[:2], (2,), (0,), 10, 2),
        *_tasks(name, ("tree", "cart"), ("htru2", "shuttle"), (2,), (0,), 20, 20),
        Task(name, "tree", "synthetic-100000", 2, 0, 30),
    ]


PROTOCOLS: dict[str, Callable[[], list[Task]]] = {
    "paper-small": paper_small,
    "twenty": twenty,
    "ceiling": ceiling,
    "paper-large": paper_large,
    "huge": huge,
    "today": today,
    "growth": growth,
    "sample": sample,
}
