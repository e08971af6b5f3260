"""Memory is kept, and nothing is left behind, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.disk_tables import COLUMNS, table, write_parquet
from omtree import OptimalTreeClassifier, scan
from omtree.data.merging import Merger
from omtree.progress import Event, listen

pytestmark = pytest.mark.filterwarnings("ignore:Columns that cannot tell:UserWarning")


def child(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python process of its own."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def big_files(folder: Path, n_files: int = 12, n_rows: int = 200_000) -> None:
    """Rows of 20 doubles that do not merge, compressed to much less than they take in memory."""
    for place in range(n_files):
        rng = np.random.default_rng(place)
        columns = {f"x{i}": (rng.integers(0, 100, n_rows) / 7).round(3) for i in range(20)}
        columns["y"] = ((columns["x0"] > 6) ^ (columns["x1"] > 9) ^ (rng.random(n_rows) < 0.1)).astype(np.int8)
        columns["pounds"] = 10 * columns["y"] + rng.integers(0, 1000, n_rows)
        pq.write_table(pa.table(columns), folder / f"{place}.parquet", row_group_size=50_000)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of the memory is read from /proc")
@pytest.mark.parametrize(("estimator", "target"), [("OptimalTreeClassifier", "y"), ("OptimalTreeRegressor", "pounds")])
def test_memory_is_kept(estimator: str, target: str, tmp_path: Path) -> None:
    """2.4 million rows, 400 MB as doubles, are fitted in less memory than they take, and within the limit."""
    big_files(tmp_path)
    code = """
        import sys
        import omtree
        peak = lambda: next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM"))
        model = getattr(omtree, sys.argv[2])(max_depth=2, n_bins=8, binning="quantile", time_limit=None)
        columns = [f"x{i}" for i in range(20)]
        model.fit(omtree.scan(sys.argv[1], sys.argv[3], columns=columns, memory_limit="400MB"))
        print(model.certificate_.status, model.certificate_.weight, peak() * 1024)
    """
    process = child(code, str(tmp_path), estimator, target)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    status, weight, peak = out.split()
    assert (status, float(weight)) == ("optimal", 2_400_000)
    assert int(peak) <= 400_000_000


def test_temporary_files_are_removed(merged: None, tmp_path: Path) -> None:
    """After a fit, and after one that fails."""
    path, private = write_parquet(table(), tmp_path / "rows"), tmp_path / "private"
    private.mkdir()
    OptimalTreeClassifier(max_depth=1).fit(scan(path, "y", columns=COLUMNS, temp_directory=private))
    assert list(private.iterdir()) == []
    with pytest.raises(ValueError, match="no column"):
        OptimalTreeClassifier(max_depth=1).fit(scan(path, "z", temp_directory=private))
    assert list(private.iterdir()) == []
    with pytest.raises(ValueError, match="more than 256 classes"):
        OptimalTreeClassifier(max_depth=1).fit(scan(path, "amount", temp_directory=private))
    assert list(private.iterdir()) == []


def test_spilled_rows_are_removed(spilled: None, tmp_path: Path) -> None:
    """The file of coded rows lasts as long as the fit."""
    path, private = write_parquet(table(), tmp_path / "rows"), tmp_path / "private"
    private.mkdir()
    seen: list[bool] = []

    def look(event: Event) -> None:
        seen.append(any(file.name == "codes.bin" for file in private.rglob("*")))

    with listen(look):
        model = OptimalTreeClassifier(max_depth=2, binning="quantile")
        model.fit(scan(path, "y", columns=COLUMNS, temp_directory=private))
    assert any(seen)
    assert list(private.iterdir()) == []
    assert model.predict(table().select(COLUMNS)).shape == (900,)


@pytest.mark.parametrize("phase", ["column", "reading"])
def test_interrupt_leaves_nothing_behind(phase: str, tmp_path: Path) -> None:
    """Ctrl-C in the middle of counting or reading ends the fit and removes its files."""
    big_files(tmp_path, n_files=2)
    private = tmp_path / "private"
    private.mkdir()
    code = """
        import sys
        import omtree.sources.disk.disk_samples
        from omtree import OptimalTreeClassifier, scan
        from omtree.progress import listen
        omtree.sources.disk.disk_samples.SMALL_SHARE = 0.0
        def note(event):
            if event.phase.startswith(sys.argv[3]):
                print("now", flush=True)
        with listen(note):
            for _ in range(50):
                OptimalTreeClassifier(max_depth=1, binning="quantile").fit(
                    scan(sys.argv[1] + "/*.parquet", "y", temp_directory=sys.argv[2])
                )
    """
    process = child(code, str(tmp_path), str(private), phase)
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    assert list(private.iterdir())
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    assert list(private.iterdir()) == []


def test_progress_counts_rows(merged: None, tmp_path: Path) -> None:
    """Events say how many rows were read, up to all of them."""
    path = write_parquet(table(), tmp_path)
    events: list[Event] = []
    with listen(events.append):
        OptimalTreeClassifier(max_depth=1).fit(scan(path, "y", columns=COLUMNS))
    assert max(event.rows for event in events if event.phase == "reading") == 900
    assert "column 1" in {event.phase for event in events}


def test_reading_does_not_count_against_the_time_limit(
    merged: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time limit is for the search: slow disks do not make it end with a poor model."""
    path = write_parquet(table(), tmp_path)
    add = Merger.add

    def slowly(*arguments: Any) -> bool:
        time.sleep(1.0)
        return add(*arguments)

    monkeypatch.setattr(Merger, "add", slowly)
    model = OptimalTreeClassifier(max_depth=1, binning="quantile", time_limit=0.9)
    model.fit(scan(path, "y", columns=COLUMNS))
    assert model.certificate_.status == "optimal"
    assert model.certificate_.total_seconds > 1.0


def test_private_folders_are_private(merged: None, tmp_path: Path) -> None:
    """Nobody else may read what is written."""
    path, private = write_parquet(table(), tmp_path / "rows"), tmp_path / "private"
    private.mkdir()
    modes: set[int] = set()

    def look(event: Event) -> None:
        modes.update(os.stat(folder).st_mode & 0o077 for folder in private.iterdir())

    with listen(look):
        OptimalTreeClassifier(max_depth=1).fit(scan(path, "y", columns=COLUMNS, temp_directory=private))
    assert modes == {0}
