"""A saved model that only answers rows: the answers of the whole model, without what takes long to import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from helpers.model_zoo import model_and_rows
from omtree import OptimalPolicyTree, OptimalTreeClassifier, OptimalTreeRegressor, Reading, load
from omtree.export.predictor import load_predictor


def assert_same(model: Any, X: Any, folder: Path) -> None:
    """Both ways from the file answer alike, and as the model does."""
    model.save(folder / "model.json")
    light, whole = load_predictor(folder / "model.json"), load(folder / "model.json")
    assert light.predict(X).tolist() == whole.predict(X).tolist() == model.predict(X).tolist()
    assert light.predict(X).dtype == model.predict(X).dtype
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(light.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("seed", range(40))
def test_made_by_hand(seed: int, tmp_path: Path) -> None:
    """Trees and rules over all kinds of columns, with missing and unknown cells."""
    model, rows = model_and_rows(seed)
    assert_same(model, rows, tmp_path)


def test_fitted(tmp_path: Path) -> None:
    """Positive class first, smoothing, German numbers and dates, arrays without names, numbers, actions."""
    rng = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame(
        {
            "preis": [f"{value:.2f}".replace(".", ",") for value in rng.normal(10, 3, n)],
            "tag": pd.date_range("2020-01-01", periods=n, freq="9D").strftime("%d.%m.%Y"),
            "farbe": rng.choice(["rot", "grün", "unbekannt"], n),
        }
    )
    numbers = X.preis.str.replace(",", ".").astype(float)
    y = np.where(numbers + (X.farbe == "rot") + rng.normal(0, 1, n) > 10, "gut", "schlecht")
    reading = Reading(missing=("unbekannt",))
    assert_same(OptimalTreeClassifier(positive="gut", smoothing=0.5, reading=reading).fit(X, y), X, tmp_path)
    assert_same(OptimalTreeClassifier(max_depth=2, structure="rules", max_leaves=3).fit(X, y), X, tmp_path)
    assert_same(OptimalTreeRegressor(max_depth=2).fit(X, numbers), X, tmp_path)
    plain = rng.normal(size=(n, 3))
    assert_same(OptimalTreeClassifier(max_depth=2).fit(plain, y), plain, tmp_path)
    rewards = pd.DataFrame({"wait": np.zeros(n), "treat": numbers - 10})
    assert_same(OptimalPolicyTree(max_depth=2).fit(X, rewards=rewards), X, tmp_path)
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    model.save(tmp_path / "model.json")
    with pytest.raises(ValueError, match="X lacks the column 'preis'"):
        load_predictor(tmp_path / "model.json").predict(pa.table({"farbe": ["rot"]}))


@pytest.mark.parametrize("text", ["{}", "no", '{"format": "omtree-model", "version": 9}'])
def test_no_model(text: str, tmp_path: Path) -> None:
    """Complaints are those of `load`."""
    (tmp_path / "model.json").write_text(text)
    said = []
    for read in (load, load_predictor):
        with pytest.raises(ValueError, match="model") as fault:
            read(tmp_path / "model.json")
        said.append(str(fault.value))
    assert said[0] == said[1]


def test_little_is_imported(tmp_path: Path) -> None:
    """`omtree predict` is done before scikit-learn, scipy or pandas would be there."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(["x", "y"], 60)})
    OptimalTreeClassifier(max_depth=1).fit(X, X.a > 0).save(tmp_path / "model.json")
    X.to_csv(tmp_path / "rows.csv", index=False)
    program = (
        "import sys\n"
        "from omtree.cli import main\n"
        f"sys.argv = ['omtree', 'predict', {str(tmp_path / 'model.json')!r}, {str(tmp_path / 'rows.csv')!r}]\n"
        "assert main() == 0\n"
        "slow = {'sklearn', 'scipy', 'pandas', 'joblib', 'rich', 'duckdb', 'polars',"
        " 'omtree.problem.problem', 'omtree.estimators.base'}\n"
        "print(sorted(slow & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    *answers, imported = done.stdout.splitlines()
    assert answers == ["prediction", *(str(bool(value)).lower() for value in X.a > 0)]
    assert imported == "[]"
