"""Models in tools that others wrote; `pip install 'omtree[interop]'` brings them."""

from __future__ import annotations

import importlib.resources
import io
import shutil
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

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


def test_treelite_reads_it() -> None:
    """Treelite takes it as a forest of one tree, as the page on exports shows, and answers the same."""
    treelite = pytest.importorskip("treelite")
    X, y = numbers(1)
    classes = np.digitize(y, [-0.5, 0.5])
    for model, kind in (
        (OptimalTreeClassifier(max_depth=3, time_limit=10).fit(X, classes), RandomForestClassifier),
        (OptimalTreeRegressor(max_depth=3, time_limit=10).fit(X, y), RandomForestRegressor),
    ):
        tree = model.to_sklearn()
        forest = kind(n_estimators=1)
        forest.estimators_ = [tree]
        for name in ("classes_", "n_classes_", "n_features_in_", "n_outputs_"):
            if hasattr(tree, name):
                setattr(forest, name, getattr(tree, name))
        found = np.squeeze(treelite.gtil.predict(treelite.sklearn.import_model(forest), X.to_numpy()))
        expected = model.predict_proba(X) if kind is RandomForestClassifier else model.predict(X)
        assert found == pytest.approx(expected)


def test_dtreeviz_draws_it() -> None:
    """Dtreeviz draws the tree, and tells the path of a row with the cuts of the model."""
    dtreeviz = pytest.importorskip("dtreeviz")
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    X, y = numbers(2)
    labels = (y > 0).astype(int)
    tree = OptimalTreeClassifier(max_depth=2, splits="binary", time_limit=10).fit(X.to_numpy(), labels).to_sklearn()
    rows = X.to_numpy()
    view = dtreeviz.model(tree, X_train=rows, y_train=labels, feature_names=list(X), class_names=["no", "yes"])
    assert "</svg>" in view.view().svg()
    first = list(X)[tree.tree_.feature[0]]
    assert first in view.explain_prediction_path(rows[0])


def test_supertree_shows_it(tmp_path: Path) -> None:
    """Supertree writes its page of the tree."""
    supertree = pytest.importorskip("supertree")
    X, y = numbers(3)
    tree = OptimalTreeRegressor(max_depth=2, splits="binary", time_limit=10).fit(X, y).to_sklearn()
    page = tmp_path / "tree.html"
    supertree.SuperTree(tree, X.to_numpy(), y, list(X), "target").save_html(str(page))
    assert f"{tree.tree_.threshold[0]:.2f}" in page.read_text()
