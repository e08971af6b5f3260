"""Models in tools that others wrote; `pip install 'omtree[interop]'` brings them."""

from __future__ import annotations

import importlib.resources
import io
import shutil
import zipfile
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.model_zoo import SEEDS, model_and_rows
from omtree import OptimalTreeClassifier, OptimalTreeRegressor


def numbers(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A table of numbers that 32 bits can carry."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3)).astype(np.float32).astype(np.float64)
    return pd.DataFrame(X, columns=["a", "b", "c"]), X[:, 0] * (X[:, 1] > 0) + X[:, 2]


@cache
def pmml_schema() -> Any:
    """The schema of PMML 4.4, which a package for scikit-learn carries in one of its libraries."""
    xmlschema = pytest.importorskip("xmlschema")
    package = pytest.importorskip("sklearn2pmml")
    jars = importlib.resources.files(package) / "resources"
    (jar,) = [path for path in jars.iterdir() if path.name.startswith("pmml-model-1")]
    with zipfile.ZipFile(io.BytesIO(jar.read_bytes())) as files:
        return xmlschema.XMLSchema(files.read("pmml.xsd").decode())


@pytest.mark.parametrize("seed", SEEDS)
def test_pmml_keeps_to_its_schema(seed: int) -> None:
    """Every PMML document is valid under the schema of PMML 4.4."""
    schema = pmml_schema()
    model, _ = model_and_rows(seed)
    schema.validate(model.to_pmml())


def test_pmml_elsewhere() -> None:
    """Another reader of PMML gives the model's answers, for classes and for numbers."""
    pypmml = pytest.importorskip("pypmml")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    X, y = numbers(0)
    X["d"] = np.where(X["a"] > 0.3, "left", "right")
    classifier = OptimalTreeClassifier(max_depth=3, time_limit=10).fit(X, np.where(y > 0, "yes", "no"))
    regressor = OptimalTreeRegressor(max_depth=2, time_limit=10).fit(X, y)
    try:
        classes = pypmml.Model.fromString(classifier.to_pmml()).predict(X)
        assert classes["predicted"].tolist() == classifier.predict(X).tolist()
        shares = classes[[f"probability({label})" for label in classifier.classes_]].to_numpy()
        assert shares == pytest.approx(classifier.predict_proba(X))
        found = pypmml.Model.fromString(regressor.to_pmml()).predict(X)
        assert found["predicted"].to_numpy() == pytest.approx(regressor.predict(X))
    finally:
        pypmml.Model.close()


@pytest.mark.parametrize("seed", range(3))
def test_shap_explains_it(seed: int) -> None:
    """SHAP's explainer of trees takes it, and what it gives adds up to the answers."""
    shap = pytest.importorskip("shap")
    X, y = numbers(seed)
    model = OptimalTreeRegressor(max_depth=3, time_limit=10).fit(X, y)
    explainer = shap.TreeExplainer(model.to_sklearn())
    total = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
    assert total == pytest.approx(model.predict(X))
