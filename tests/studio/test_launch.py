"""``omtree studio`` as a person starts and ends it."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import time

import pytest

from helpers.credit_tables import write_credit
from helpers.studio_tables import is_running
from omtree.cli import main
from omtree.studio.source import read_source


def children_of(process_id: int) -> list[int]:
    """The processes that a process started."""
    shown = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process_id)], capture_output=True, text=True, check=False)
    return [int(number) for number in shown.stdout.split()]


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    """The terminal says where to go; Ctrl-C ends the server and a worker in the middle of a fit, with exit code 0."""
    data = write_credit(tmp_path / "data.csv")
    command = [sys.executable, "-m", "omtree", "studio", data, "--target", "outcome", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == f"reading {data}\n"
        assert "data.csv, 120 rows, target outcome" in process.stdout.readline()
        address = process.stdout.readline()
        port, token = re.fullmatch(r"open  http://127\.0\.0\.1:(\d+)/\?token=(\S{20,})\n", address).groups()
        assert process.stdout.readline() == "stop  Ctrl-C\n"
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
        headers = {"Content-Type": "application/json", "X-Omtree-Token": token}
        connection.request("POST", "/api/enter", "{}", headers)
        answer = json.loads(connection.getresponse().read())
        assert answer["busy"]
        # A page that is open holds a stream.
        stream = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
        stream.request("GET", f"/api/events?token={token}&window={answer['window']}")
        assert stream.getresponse().readline().startswith(b"data: ")
        workers = children_of(process.pid)
        assert workers
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert out == "the studio has ended\n"
    assert err == ""
    time.sleep(0.1)
    assert not any(map(is_running, workers))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--target", "y"], "go with a file"),
        (["DATA"], "--target is needed"),
        (["DATA", "--target", "nothing"], "has no column 'nothing'"),
        (["-", "--target", "outcome"], "needs a file"),
        (["DATA", "--target", "outcome", "--test", "OTHER"], "lacks the column 'age'"),
    ],
)
def test_faults(tmp_path, capsys, arguments, sentence):
    """What cannot be opened is said in a sentence before anything is served."""
    data = write_credit(tmp_path / "data.csv")
    other = tmp_path / "other.csv"
    other.write_text("income,outcome\n1,paid\n2,lost\n", encoding="utf-8")
    given = [{"DATA": data, "OTHER": str(other)}.get(argument, argument) for argument in arguments]
    assert main(["studio", *given]) == 1
    assert sentence in capsys.readouterr().err


def test_tables_are_read_as_by_fit(tmp_path):
    """Rows without a target are left out, codes with leading zeros stay text, and the file is named with its hash."""
    data = write_credit(tmp_path / "data.csv")
    with open(data, "a", encoding="utf-8") as file:
        file.write("30,1000,own,01067,\n")
    source = read_source(data, "outcome", data)
    assert len(source.y) == 120
    assert source.classes == ["lost", "paid"]
    assert str(source.X.schema.field("zip code").type) == "string"
    assert source.origin["file"] == "data.csv"
    assert source.test is not None
