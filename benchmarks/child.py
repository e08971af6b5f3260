"""The process of one task: `python -m benchmarks.child ANSWER_FILE` with the task on its standard input."""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
from pathlib import Path
from typing import Any

from benchmarks.machine import peak_mb

#: More memory than this ends the process, not the machine.
MEMORY_GB = 16


def main() -> None:
    """Run the task, write its row, and leave without waiting for threads that a solver may have left behind."""
    answer = Path(sys.argv[1])
    asked = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_GB << 30, MEMORY_GB << 30))
    row = outcome(asked)
    answer.write_text(json.dumps({**row, "peak_mb": peak_mb()}))
    sys.stdout.flush()
    os._exit(0)


def outcome(asked: dict[str, Any]) -> dict[str, Any]:
    """What came of it; an error of a method is an outcome too."""
    from benchmarks.data import NoData
    from benchmarks.experiment import run
    from benchmarks.protocols import Task
    from benchmarks.rivals import Absent

    folder = asked.pop("folder")
    try:
        return {"status": "ok", **run(Task(**asked), Path(folder) if folder else None)}
    except (Absent, NoData) as reason:
        return {"status": "not run", "reason": str(reason)}
    except Exception as error:
        traceback.print_exc()
        return {"status": "error", "reason": f"{type(error).__name__}: {error}"[:500]}


if __name__ == "__main__":
    main()
