"""Policies and survival on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from omtree import OptimalPolicyTree, OptimalSurvivalTree, load
from omtree.cli.commands import app


def run(*arguments: str) -> tuple[int, str]:
    """Exit code and all that was said."""
    result = CliRunner().invoke(app, list(arguments))
    fault = "" if result.exception is None or isinstance(result.exception, SystemExit) else str(result.exception)
    return result.exit_code, result.output + fault


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A file with a treatment and an outcome, a time and an event; some cells are missing."""
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame({"age": rng.integers(20, 80, n), "site": rng.choice(["n", "s"], n)})
    treated = rng.random(n) < 0.5
    effect = np.where(frame["age"] > 50, 1.0, -1.0)
    frame["given"] = np.where(treated, "drug", "none")
    frame["result"] = np.round(np.where(treated, effect, 0.0) + rng.normal(0, 0.3, n), 3)
    frame["chance"] = 0.5
    died, lost = rng.exponential(np.where(frame["age"] > 50, 2.0, 10.0)), rng.exponential(8.0, n)
    frame["days"] = np.round(np.minimum(died, lost), 3) + 0.001
    frame["died"] = np.where(died <= lost, "yes", "no")
    frame.loc[:3, "result"] = np.nan
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_policy_from_a_file(table: Path, tmp_path: Path) -> None:
    """The policy is shown, saved, reported and used; rows without an outcome are left out and that is said."""
    out, report = str(tmp_path / "policy.json"), str(tmp_path / "policy.html")
    columns = [
        "--treatment",
        "given",
        "--outcome",
        "result",
        "--propensity",
        "chance",
        "--drop",
        "days",
        "--drop",
        "died",
    ]
    code, said = run("fit", str(table), "--task", "policy", *columns, "--out", out, "--report", report)
    assert code == 0, said
    assert "4 rows without treatment and outcome and propensity are left out" in said
    assert "on average" in said
    model = load(out)
    assert isinstance(model, OptimalPolicyTree)
    assert model.predict(pd.DataFrame({"age": [30, 70], "site": ["n", "n"]})).tolist() == ["none", "drug"]
    assert "What the policy brings" in Path(report).read_text(encoding="utf-8")
    code, said = run("predict", out, str(table))
    assert code == 0
    assert set(said.split()[1:]) == {"drug", "none"}


def test_survival_from_a_file(table: Path, tmp_path: Path) -> None:
    """The tree is shown with medians, tried on rows held out, saved and reported."""
    out, report = str(tmp_path / "survival.json"), str(tmp_path / "survival.html")
    drop = [part for name in ("given", "result", "chance") for part in ("--drop", name)]
    columns = ["--time", "days", "--event", "died", *drop, "--holdout", "0.3", "--depth", "1"]
    code, said = run("fit", str(table), "--task", "survival", *columns, "--out", out, "--report", report)
    assert code == 0, said
    assert "median" in said
    assert "concordance" in said
    model = load(out)
    assert isinstance(model, OptimalSurvivalTree)
    risks = model.predict(pd.DataFrame({"age": [30, 70], "site": ["n", "n"]}))
    assert risks[1] > 2 * risks[0]
    assert "Survival in the leaves" in Path(report).read_text(encoding="utf-8")


def test_both_are_tried_on_a_file_of_their_own(table: Path, tmp_path: Path) -> None:
    """--test says what the risks and the actions are worth on rows that the model has not seen, as Python does."""
    rows = pd.read_csv(table)
    new = tmp_path / "new.csv"
    rows[200:].to_csv(new, index=False)
    rows[:200].to_csv(table, index=False)
    out = str(tmp_path / "model.json")
    drop = [part for name in ("given", "result", "chance") for part in ("--drop", name)]
    columns = ["--time", "days", "--event", "died", *drop, "--depth", "1", "--test", str(new), "--out", out]
    code, said = run("fit", str(table), "--task", "survival", *columns)
    assert code == 0, said
    y = np.zeros(100, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rows["died"][200:] == "yes", rows["days"][200:]
    assert f"concordance {load(out).score(rows[200:], y):.3f}" in said
    columns = ["--treatment", "given", "--outcome", "result", "--propensity", "chance", "--test", str(new)]
    columns += ["--drop", "days", "--drop", "died", "--depth", "1"]
    code, said = run("fit", str(table), "--task", "policy", *columns)
    assert code == 0, said
    assert f"on {new}: mean reward on 100 rows" in said
    columns = ["--time", "days", "--event", "died", "--test", "absent.csv"]
    code, said = run("fit", str(table), "--task", "survival", *columns)
    assert code != 0
    assert "absent.csv" in said


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "1GB"]])
def test_rewards_and_times_from_memory_and_from_disk(limit: list[str], table: Path, tmp_path: Path) -> None:
    """Columns of rewards, and of time and event as a number, give the model of Python wherever the rows are."""
    frame = pd.read_csv(table).dropna()
    frame["wait"], frame["drug"] = 0.0, np.where(frame["age"] > 50, 1.0, -1.0)
    frame["died"] = (frame["died"] == "yes").astype(int)
    frame = frame.drop(columns=["given", "result", "chance"])
    frame.to_csv(table, index=False)
    out = str(tmp_path / "model.json")
    same = ["--depth", "1", "--leaves", "2", "--out", out, *limit]
    drop = [part for name in ("days", "died") for part in ("--drop", name)]
    code, said = run("fit", str(table), "--task", "policy", "--rewards", "wait", "--rewards", "drug", *drop, *same)
    assert code == 0, said
    assert load(out).predict(pd.DataFrame({"age": [30, 70], "site": ["n", "n"]})).tolist() == ["wait", "drug"]
    assert load(out).value_.policy.value == pytest.approx(np.maximum(frame["drug"], 0).mean())
    drop = [part for name in ("wait", "drug") for part in ("--drop", name)]
    code, said = run("fit", str(table), "--task", "survival", "--time", "days", "--event", "died", *drop, *same)
    assert code == 0, said
    here = OptimalSurvivalTree(max_depth=1).fit(frame[["age", "site"]], time=frame["days"], event=frame["died"])
    assert load(out).certificate_.value == pytest.approx(here.certificate_.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--task", "policy", "--treatment", "given"], "--task policy needs --outcome"),
        (["--task", "survival", "--time", "days"], "--task survival needs --event"),
        (["--task", "policy", "--treatment", "given", "--outcome", "given"], "name one column"),
        (["--target", "given", "--time", "days"], "--time goes with --task survival"),
        (["--task", "survival", "--time", "days", "--event", "site"], "0 and 1"),
        (["--task", "survival", "--time", "days", "--event", "died", "--target", "age"], "--target is not for"),
        (["--task", "survival", "--time", "hours", "--event", "died"], "hours"),
        ([], "--target is missing"),
        (["--target", "days", "--target", "died"], "--target names one column and is given 2 times"),
        (
            ["--task", "policy", "--treatment", "given", "--outcome", "result", "--holdout", "0.3"],
            "--holdout is not for",
        ),
        (
            ["--task", "policy", "--treatment", "given", "--outcome", "result", "--memory-limit", "1GB"],
            "--treatment and --outcome need rows in memory",
        ),
        (
            ["--task", "survival", "--time", "days", "--event", "died", "--entry", "age", "--memory-limit", "1GB"],
            "--entry needs rows in memory",
        ),
        (["--task", "policy", "--rewards", "result"], "one column for each of two or more actions"),
        (["--task", "survival", "--rewards", "result"], "--rewards goes with --task policy"),
        (["--task", "policy", "--rewards", "result", "--outcome", "result"], "two ways"),
        (["--task", "policy", "--rewards", "result", "--rewards", "site"], "'site'"),
    ],
)
def test_what_makes_no_sense_is_refused(table: Path, arguments: list[str], words: str) -> None:
    """In a sentence that names the option."""
    code, said = run("fit", str(table), *arguments)
    assert code != 0
    assert words in said


def test_monitor_compares_leaves_of_policies_and_survival_trees(table: Path, tmp_path: Path) -> None:
    """A file that has the true answers as well is no reason to refuse it."""
    model = str(tmp_path / "model.json")
    asked = {
        "survival": ("--time", "days", "--event", "died", "--drop", "given", "--drop", "result", "--drop", "chance"),
        "policy": ("--treatment", "given", "--outcome", "result", "--propensity", "chance", "--drop", "days"),
    }
    for task, options in asked.items():
        code, said = run("fit", str(table), "--task", task, *options, "--leaves", "2", "--out", model)
        assert code == 0, said
        code, said = run("monitor", model, str(table))
        assert code == 0, said
        assert "columns and leaves of" in said
        assert "no alarm" in said


def test_the_report_of_a_policy_has_the_value_on_test_rows(table: Path, tmp_path: Path) -> None:
    """What it brings on a file of rows it was not fitted to is in terminal, report and model, beside training."""
    rows = pd.read_csv(table).dropna()
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    rows.iloc[:200].to_csv(train, index=False)
    rows.iloc[200:].to_csv(test, index=False)
    out, report = str(tmp_path / "policy.json"), tmp_path / "policy.html"
    columns = (
        "--treatment",
        "given",
        "--outcome",
        "result",
        "--propensity",
        "chance",
        "--drop",
        "days",
        "--drop",
        "died",
    )
    code, said = run(
        "fit",
        str(train),
        "--task",
        "policy",
        *columns,
        "-l",
        "2",
        "--test",
        str(test),
        "--out",
        out,
        "--report",
        str(report),
    )
    assert code == 0, said
    known = load(out).expectation_
    assert known.rows == len(rows) - 200
    assert known.measure == "mean reward"
    assert f"{known.value.value:.4g} ({known.value.low:.4g} to {known.value.high:.4g})" in report.read_text()
    assert "rows held out" in report.read_text()
    assert "expected on new rows  not known" not in said
