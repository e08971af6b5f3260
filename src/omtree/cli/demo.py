"""``omtree demo``: the whole way from a table to an explained answer, on data that comes along."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from omtree.cli.export_command import run_export
from omtree.cli.fit_command import run_fit
from omtree.cli.fit_rows import FitRequest
from omtree.cli.tables import FileOptions
from omtree.cli.use_commands import run_audit, run_explain


def run_demo(folder: str | None) -> None:
    """Fit, audit, explain and export, each with the command that does it."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="omtree-demo-") as temporary:
            _run(temporary)
        print("\nThe files are gone again; keep them with: omtree demo --out demo")
    else:
        Path(folder).mkdir(parents=True, exist_ok=True)
        _run(folder)
        print(f"\nThe files are in {folder}.")


def _run(folder: str) -> None:
    before = Path.cwd()
    os.chdir(folder)
    try:
        _write_patients()
        _say("omtree fit patients.csv --target diagnosis --time-limit 30 --test unseen.csv --out model.json")
        run_fit(
            FitRequest(
                "patients.csv",
                "diagnosis",
                "auto",
                {"max_depth": 3, "max_leaves": "auto", "time_limit": 30.0, "n_jobs": -1},
                test="unseen.csv",
                out="model.json",
            )
        )
        _say("omtree explain model.json unseen.csv --row 1 --row 2")
        run_explain("model.json", "unseen.csv", (1, 2), FileOptions())
        _say("omtree audit model.json unseen.csv")
        run_audit("model.json", "unseen.csv", None, FileOptions())
        _say("omtree export model.json --format sql")
        run_export("model.json", "sql", None, None, None, None)
    finally:
        os.chdir(before)


def _write_patients() -> None:
    """Measurements of breast tumours, which scikit-learn ships, as two CSV files."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    columns = {str(name).replace(" ", "_"): data.data[:, i] for i, name in enumerate(data.feature_names)}
    columns["diagnosis"] = np.where(data.target == 1, "benign", "malignant")
    table = pa.table(columns)
    order = np.random.default_rng(0).permutation(table.num_rows)
    pyarrow.csv.write_csv(table.take(order[:400]), "patients.csv")
    pyarrow.csv.write_csv(table.take(order[400:]), "unseen.csv")


def _say(command: str) -> None:
    print(f"\n$ {command}\n", flush=True)
