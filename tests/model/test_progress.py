"""The progress of a fit."""

from __future__ import annotations

import pytest

from omtree.progress import Event, ProgressTable


def test_a_line_per_phase_and_per_interval(capsys: pytest.CaptureFixture[str]) -> None:
    """The table has one head; a phase is announced at once and repeated only after the interval."""
    table = ProgressTable(interval=1000.0)
    table(Event("start", 0.0))
    table(Event("pricing", 0.1, 20.0, 15.0, 300, 100))
    table(Event("pricing", 0.2, 19.0, 15.0, 400, 100))
    table(Event("proof", 0.3, 0.0, 0.0, 400, 100))
    table(Event("search", 0.4, 12.0, 3.0, share=0.25))
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["seconds", "phase", "value", "bound", "gap", "done", "columns", "rows"],
        ["0.00", "start"],
        ["0.10", "pricing", "20", "15", "25.0", "%", "300", "100"],
        ["0.30", "proof", "0", "0", "0.0", "%", "400", "100"],
        ["0.40", "search", "12", "3", "75.0", "%", "25", "%"],
    ]
