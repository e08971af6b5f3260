"""Models in files: what is kept, and what is said of files that are no models."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from constraints.test_objects import ALL
from helpers.model_zoo import SEEDS, model_and_rows
from omtree import OptimalTreeClassifier, OptimalTreeRegressor, load
from omtree.constraints import Budget
from omtree.export.model_file import write_text
from omtree.export.plain import from_plain, to_plain
from omtree.export.saving import from_json, save, to_json
from omtree.objectives import Objective
from omtree.objectives.quantile import Quantile
from omtree.objectives.squared import Squared

OLD_FILES = sorted((Path(__file__).parent / "saved").glob("*.json"))


def mixed_data(n_rows: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers with missing cells, ordered and unordered texts, booleans."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n_rows) < 0.1, np.nan, rng.integers(18, 90, n_rows)),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n_rows), ["S", "M", "L"], ordered=True),
            "colour": rng.choice(["red", "blue", "it's"], n_rows),
            "member": rng.random(n_rows) < 0.5,
            "grade": rng.integers(1, 5, n_rows),
        }
    )
    y = ((frame["age"].fillna(30) > 50) ^ (frame["colour"] == "red") ^ (rng.random(n_rows) < 0.1)).to_numpy()
    return frame, np.where(y, "yes", "no")


@pytest.fixture(scope="module")
def data():
    """Mixed columns and labels."""
    return mixed_data()


@pytest.fixture(scope="module")
def fitted(data):
    """A tree, with kinds and class weights as parameters."""
    return OptimalTreeClassifier(
        max_depth=2, feature_kinds={"grade": "ordinal"}, class_weight={"yes": 2.0}, time_limit=10
    ).fit(*data)


def assert_same(model, again, X):
    """Both models are equal in everything a user can see."""
    assert type(again) is type(model)
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.apply(X).tolist() == model.apply(X).tolist()
    assert again.matches(X).tolist() == model.matches(X).tolist()
    assert again.certificate_ == model.certificate_
    assert again.rules_.rules == model.rules_.rules
    assert str(again.rules_) == str(model.rules_)
    assert again.n_features_in_ == model.n_features_in_
    assert again.graph_.n_paths() == model.graph_.n_paths()
    assert (again.tree_ is None) == (model.tree_ is None)
    if model.tree_ is not None:
        assert again.tree_.nodes == model.tree_.nodes
    if "classes_" in vars(model):
        assert again.classes_.dtype == model.classes_.dtype
        assert again.predict(X).dtype == model.predict(X).dtype
        assert again.predict_proba(X).tolist() == model.predict_proba(X).tolist()


def test_fitted_tree(fitted, data, tmp_path):
    """A saved tree predicts alike and keeps its certificate, names, parameters and the trees of every size."""
    X, _ = data
    fitted.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert_same(fitted, again, X)
    assert again.get_params() == fitted.get_params()
    assert again.feature_names_in_.tolist() == fitted.feature_names_in_.tolist()
    assert again.loss_by_leaves_.tolist() == fitted.loss_by_leaves_.tolist()
    for leaves in range(1, len(fitted.loss_by_leaves_) + 1):
        assert_same(fitted.with_leaves(leaves), again.with_leaves(leaves), X)


def test_without_sizes(fitted, data):
    """The trees of other sizes can be left out; the model predicts alike, and says that it has no other sizes."""
    X, _ = data
    again = from_json(fitted.to_json(sizes=False))
    assert_same(fitted, again, X)
    with pytest.raises(ValueError, match="with_leaves needs a model"):
        again.with_leaves(2)


def test_fitted_rules(data, tmp_path):
    """A saved set of rules predicts alike."""
    X, y = data
    model = OptimalTreeClassifier(max_depth=2, structure="rules", time_limit=5).fit(X, y)
    model.save(tmp_path / "model.json")
    assert_same(model, load(tmp_path / "model.json"), X)


def test_smaller_model_after_pickle(fitted, data):
    """A model that was pickled, or made smaller, can still be saved."""
    X, _ = data
    small = pickle.loads(pickle.dumps(fitted)).with_leaves(2)
    assert_same(small, from_json(to_json(small)), X)


def test_array_without_names():
    """A model of an array without column names stays one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    model = OptimalTreeClassifier(max_depth=1).fit(X, (X[:, 0] > 0).astype(np.int8))
    again = from_json(model.to_json())
    assert_same(model, again, X)
    assert not hasattr(again, "feature_names_in_")


@pytest.mark.parametrize("seed", SEEDS)
def test_hand_made(seed):
    """Models with odd names and values, trees and rules, classes and numbers, come back equal."""
    model, rows = model_and_rows(seed)
    assert_same(model, from_json(model.to_json()), rows)


def test_infinite_bound():
    """A bound that is not known yet is kept."""
    model, _ = model_and_rows(1)
    model.certificate_ = dataclasses.replace(model.certificate_, bound=-np.inf, seconds={"search": 1.5})
    again = from_json(model.to_json())
    assert again.certificate_ == model.certificate_
    assert again.certificate_.bound == -np.inf


@pytest.mark.parametrize("path", OLD_FILES, ids=lambda path: path.stem)
def test_old_files_load(path):
    """A file of an earlier format still gives the predictions that were noted when it was written."""
    model = load(path)
    noted = json.loads(path.with_suffix(".expected").read_text(encoding="utf-8"))
    rows = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in noted["rows"].items()})
    for name in noted["numbers"]:
        rows[name] = rows[name].astype(float)
    assert model.predict(rows).tolist() == noted["predictions"]
    assert model.certificate_.status == "optimal"
    assert len(model.loss_by_leaves_) == noted["sizes"]


def test_there_are_old_files():
    """A file of every version is kept; that of version 2 has texts that are numbers and dates."""
    assert [path.stem for path in OLD_FILES] == ["version-1", "version-2"]
    assert {reading.how for reading in load(OLD_FILES[1]).reading_} >= {"given", "number", "moment"}


DAMAGED = {
    "": "it is no JSON",
    "\x00\x01": "it is no JSON",
    "{": "it is no JSON",
    "[" * 100_000: "it is no JSON",
    "NaN": "it is no JSON",
    "[1, 2]": "is JSON, but not a model of omtree",
    '{"format": "other"}': "is JSON, but not a model of omtree",
    '{"format": "omtree-model"}': "its version is None",
    '{"format": "omtree-model", "version": "1"}': "its version is '1'",
    '{"format": "omtree-model", "version": 1}': "'classes' is missing",
    '{"format": "omtree-model", "version": 99, "omtree": "7.0"}': "reads up to 2; install omtree 7.0 or newer",
}


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_not_a_model(text, tmp_path):
    """Files that are no models, or from the future, are refused in one sentence that says which file and why."""
    path = tmp_path / "file.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError) as caught:
        load(path)
    message = str(caught.value)
    assert DAMAGED[text] in message
    assert "file.json" in message
    assert "\n" not in message


def test_binary_file(tmp_path):
    """A file that is no text is refused."""
    path = tmp_path / "file.bin"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match="is not a model of omtree: it is no text"):
        load(path)


def _cut(document, path):
    *above, last = path
    for key in above:
        document = document[key]
    return document, last


PATHS = [
    ("kind",),
    ("classes", "type"),
    ("classes", "values"),
    ("columns", "count"),
    ("columns", "names"),
    ("features", 0),
    ("features", 0, "kind"),
    ("features", 0, "thresholds"),
    ("features", 1, "levels"),
    ("features", 0, "column"),
    ("graph", "order"),
    ("model", "rules"),
    ("model", "rules", 0),
    ("model", "rules", 0, "conditions", 0, "feature"),
    ("model", "rules", 0, "conditions", 0, "codes"),
    ("model", "rules", 0, "label"),
    ("model", "rules", 0, "support"),
    ("model", "rules", 0, "class_weights"),
    ("model", "tree"),
    ("model", "tree", "branches"),
    ("model", "tree", "branches", 0, "codes"),
    ("sizes", "losses"),
    ("sizes", "tree_of_size"),
    ("certificate",),
    ("parameters", "max_depth"),
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: "-".join(map(str, path)))
@pytest.mark.parametrize("junk", ["junk", -7, 10**9, [], {}, [[]], "absent"], ids=str)
def test_damaged_parts(fitted, path, junk):
    """Whatever part is broken, loading gives one sentence or a model that works, never another error."""
    document = json.loads(to_json(fitted))
    place, last = _cut(document, path)
    if junk == "absent":
        del place[last]
    else:
        place[last] = junk
    message = _complaint(json.dumps(document))
    if message:
        assert "damaged model" in message
        assert "\n" not in message
    else:
        # Without its parts for people and for further fits, a model is whole.
        assert path in {("parameters", "max_depth"), ("columns", "names")}


def _complaint(text):
    """What loading says, empty when it works and the model can be read."""
    try:
        model = from_json(text)
    except ValueError as error:
        return str(error)
    return "" if str(model.rules_) else "the model is empty"


def test_every_cut_is_noticed(fitted):
    """A file that was cut off anywhere is refused."""
    text = to_json(fitted)
    for end in range(0, len(text) - 1, max(1, len(text) // 200)):
        with pytest.raises(ValueError, match="not a model of omtree"):
            from_json(text[:end])


FOREIGN = (
    "os:system",
    "subprocess:Popen",
    "builtins:eval",
    "omtree.export.saving:load",
    "omtree.constraints.constraint:Constraint",
    "omtree.constraints..os:system",
)


@pytest.mark.parametrize("name", FOREIGN)
def test_nothing_foreign_is_made(fitted, name):
    """A file cannot name a function or class outside the package's objectives and constraints."""
    document = json.loads(to_json(fitted))
    document["parameters"]["objective"] = {"object": name, "fields": {}}
    with pytest.raises(ValueError, match="is not an objective or constraint of omtree"):
        from_json(json.dumps(document))


class _Mine(Objective):
    """Errors, under another name."""

    unit, tasks, refines = "tears", ("classification",), True

    def loss(self, rule):
        """As errors."""
        return rule.weight - rule.class_weights.max()


def test_own_objective_is_left_out(data):
    """An objective of the user's own cannot be written, and a warning says so."""
    X, y = data
    model = OptimalTreeClassifier(max_depth=1, objective=_Mine()).fit(X, y)
    with pytest.warns(UserWarning, match="does not hold the parameter objective"):
        text = model.to_json()
    assert_same(model, from_json(text), X)


@pytest.mark.parametrize("objective", [Quantile(0.25), Squared(), "absolute"], ids=["quantile", "squared", "name"])
def test_regressor(objective, tmp_path):
    """A regressor keeps its objective, its numbers and the spread of the target in every node."""
    X, _ = mixed_data(120)
    y = X["age"].fillna(40).to_numpy() * 1.5 + X["grade"].to_numpy() ** 2
    model = OptimalTreeRegressor(max_depth=2, objective=objective, time_limit=20).fit(X, y)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert_same(model, again, X)
    assert type(again.objective) is type(objective)
    assert again.tree_.nodes[0].targets == model.tree_.nodes[0].targets
    assert [tree_node.targets is not None for tree_node in again.tree_.nodes] == [True] * len(again.tree_.nodes)
    if isinstance(objective, Quantile):
        assert again.objective == objective


def test_constraints_are_kept(fitted):
    """Every constraint that is made of plain values comes back equal."""
    model = copy.copy(fitted)
    model._constraints = tuple(ALL)
    assert from_json(model.to_json()).constraints == tuple(ALL)


@pytest.mark.parametrize("value", [None, True, 3, -1.5, "text", [1, "a"], {"a": [1], 2: None}, [float("inf")]], ids=str)
def test_plain_values(value):
    """Plain values come back as they were."""
    assert from_plain(json.loads(json.dumps(to_plain(value)))) == value


def test_old_file_stays_when_writing_fails(fitted, tmp_path, monkeypatch):
    """When the new content cannot be put in place, the old file is whole and nothing is left behind."""
    path = tmp_path / "model.json"
    path.write_text("old", encoding="utf-8")

    def fail(*_):
        raise OSError("no")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no"):
        save(fitted, path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["model.json"]


def test_kill_in_the_middle(tmp_path):
    """A process that is killed while it writes leaves a whole file, the old or the new one."""
    path = tmp_path / "model.json"
    write_text(path, "0" * 100_000)
    program = (
        "from omtree.export.model_file import write_text\n"
        "print('ready', flush=True)\n"
        f"n = 0\nwhile True:\n    n = (n + 1) % 10\n    write_text({str(path)!r}, str(n) * 100_000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
    text = path.read_text(encoding="utf-8")
    assert len(text) == 100_000
    assert len(set(text)) == 1


def test_rights_and_links(fitted, tmp_path):
    """Saving over a link replaces the file behind it, and keeps its rights."""
    real = tmp_path / "real.json"
    real.write_text("", encoding="utf-8")
    real.chmod(0o640)
    (tmp_path / "link.json").symlink_to(real)
    save(fitted, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert load(real).certificate_ == fitted.certificate_


def test_the_cost_of_tests_is_kept():
    """What the tests of a rule cost is what it was when the model is read again."""
    X = pd.DataFrame({"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5})
    model = OptimalTreeClassifier(max_depth=2, min_samples_leaf=1, constraints=[Budget({"a": 2.0, "b": 3.5}, 10)])
    model.fit(X, [0, 1, 1, 0] * 5)
    costs = [rule.cost for rule in model.rules_]
    assert max(costs) == 5.5
    assert [rule.cost for rule in from_json(to_json(model)).rules_] == costs
