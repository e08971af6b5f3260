"""Results as JSON lines: appended, never rewritten, and known by what was run."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: What makes two rows the same run; of several, the last one counts.
KEY = ("protocol", "method", "data", "depth", "split", "version")
#: A run that could not even start is tried again.
UNFINISHED = ("not run",)


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a row is known by."""
    return tuple(row[name] for name in KEY)


class Store:
    """A results file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._rows = {key(row): row for row in self._read()}

    def _read(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                # A run that was killed while it wrote leaves half a line; anything else is damage.
                if line.endswith("}"):
                    raise ValueError(f"{self.path}, line {number}: not JSON; mend or remove the line.") from None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each run, the last one."""
        return list(self._rows.values())

    def done(self, wanted: tuple[Any, ...]) -> bool:
        """Whether this was run to an end, be it a bad one."""
        return wanted in self._rows and self._rows[wanted]["status"] not in UNFINISHED

    def add(self, row: dict[str, Any]) -> None:
        """Append a row, unless it only repeats that something could not be run."""
        with self._lock:
            before = self._rows.get(key(row))
            if before and before["status"] == row["status"] and row["status"] in UNFINISHED:
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # After a line that was cut short, a new one.
            whole = not self.path.exists() or self.path.read_bytes()[-1:] in (b"", b"\n")
            with self.path.open("a") as file:
                file.write(("" if whole else "\n") + json.dumps(row) + "\n")
            self._rows[key(row)] = row
