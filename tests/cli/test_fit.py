"""``omtree fit`` as a person uses it."""

from __future__ import annotations

import gzip
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import omtree
from helpers.credit_tables import HEADER, credit_lines, write_credit
from omtree import OptimalTreeClassifier, OptimalTreeRegressor, load
from omtree.cli.notes import Notes
from omtree.cli.targets import choose_task
from omtree.constraints import Recall
from omtree.data.wording import number

OMTREE = [sys.executable, "-m", "omtree"]


def test_fit_shows_and_saves(credit, run, tmp_path):
    """The tree, the certificate and the file are shown; the file holds the model that Python would fit."""
    path = tmp_path / "model.json"
    result = run("fit", credit.data, "-t", "outcome", "-d", "2", "-o", str(path), "--test", credit.unseen)
    assert result.code == 0
    assert result.err == ""
    assert "income" in result.out
    assert "it is proven that no tree with these" in result.out
    assert f"on {credit.unseen}: " in result.out
    assert f"model   {path}" in result.out
    frame = pd.read_csv(credit.data, dtype={"zip code": str})
    direct = OptimalTreeClassifier(max_depth=2).fit(frame.drop(columns="outcome"), frame["outcome"])
    assert load(path).certificate_.value == direct.certificate_.value
    assert load(path).target_name_ == "outcome"


def test_quiet(credit, run):
    """With --quiet nothing is said."""
    result = run("fit", credit.data, "-t", "outcome", "-d", "1", "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")


def test_nothing_saved(credit, run):
    """Without a file to write, the end of the output says how to get one."""
    assert "nothing was saved; add --out model.json" in run("fit", credit.data, "-t", "outcome", "-d", "1").out


def test_rules_binary_weights_and_kinds(credit, run, tmp_path):
    """The options reach the estimator."""
    path = tmp_path / "model.json"
    lines = credit_lines()
    weighted = [f"{line},{'w' if i == 0 else 1 + i % 3}" for i, line in enumerate(lines)]
    data = tmp_path / "data.csv"
    options = ["--structure", "rules", "--leaves", "3", "--min-leaf", "10", "--bins", "4", "--binning", "quantile"]
    options += ["--kind", "home=own,rent,family", "--drop", "age"]
    data.write_text("\n".join(weighted).replace('"family, of a kind"', "family"), encoding="utf-8")
    result = run(
        "fit", str(data), "-t", "outcome", "-d", "2", "-o", str(path), *options, "--weight", "w", "--balanced",
        "--seed", "3", "--gap", "0.1", "--time-limit", "20", "--jobs", "1", "--categories", "values",
    )  # fmt: skip
    assert result.code == 0, result.err
    model = load(path)
    parameters = model.get_params()
    assert parameters["structure"] == "rules"
    assert parameters["max_leaves"] == 3
    assert parameters["min_samples_leaf"] == 10
    assert parameters["feature_kinds"] == {"home": ["own", "rent", "family"]}
    assert parameters["class_weight"] == "balanced"
    assert parameters["random_state"] == 3
    assert parameters["n_bins"] == 4
    assert "age" not in model.feature_names_in_
    assert "w" not in model.feature_names_in_
    assert model.certificate_.weight == pytest.approx(sum(1 + i % 3 for i in range(1, 121)))


def test_kinds_of_numbers(tmp_path, run):
    """Numbers can be made ordinal or nominal, and levels in order may look like numbers."""
    lines = ["grade,code,step,y", *(f"{i % 5},{i % 3},{i % 4},{'a' if i % 5 > 2 else 'b'}" for i in range(60))]
    data, path = tmp_path / "data.csv", tmp_path / "model.json"
    data.write_text("\n".join(lines), encoding="utf-8")
    kinds = ["--kind", "grade=ordinal", "--kind", "code=nominal", "--kind", "step=3,1,2,0"]
    result = run("fit", str(data), "-t", "y", "-d", "1", "-o", str(path), *kinds)
    assert result.code == 0, result.err
    model = load(path)
    assert [feature.kind for feature in model.rules_.features] == ["ordinal", "nominal", "ordinal"]
    assert model.rules_.features[2].levels == ("3", "1", "2", "0")
    assert model.certificate_.value == 0
    predicted = run("predict", str(path), str(data)).out.splitlines()[1:]
    assert predicted == [line.rsplit(",", 1)[1] for line in lines[1:]]


def test_standard_input():
    """A table can come from a pipe, compressed or not."""
    text = "\n".join(credit_lines()).encode()
    for content in (text, gzip.compress(text)):
        command = [*OMTREE, "fit", "-", "-t", "outcome", "-d", "1"]
        done = subprocess.run(command, input=content, capture_output=True, check=False)
        assert done.returncode == 0
        assert b"errors" in done.stdout
        assert done.stderr == b""


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["-t", "outcom"], "has no column 'outcom' for the target; the nearest name is 'outcome'"),
        (["-t", "Outcome"], "the nearest name is 'outcome'"),
        (["-t", "qqq"], "it has 'age', 'income', 'home', 'zip code', 'outcome'"),
        (["-t", "age", "--positive", "18"], "--positive needs classes; it is not for regression"),
        (["-t", "outcome", "-d", "0"], "--depth 0 is not possible; use a whole number of at least 1."),
        (["-t", "outcome", "-l", "many"], "--leaves 'many' is not possible; use auto or a whole number of at least 1."),
        (["-t", "outcome", "--cv", "1"], "--cv 1 is not possible; use a number of folds of at least 2."),
        (["-t", "outcome", "--time-limit", "-1"], "use a positive number of seconds, or 0 for none."),
        (["-t", "outcome", "--positive", "ugly"], "--positive 'ugly' is not a class of the target; it has"),
        (["-t", "outcome", "--gap", "7"], "--gap 7.0 is not possible"),
        (["-t", "outcome", "--objective", "joy"], "--objective 'joy' is not known"),
        (["-t", "outcome", "--min-leaf", "5000"], "--min-leaf 5000 is above the weight of all rows, 120"),
        (["-t", "outcome", "--groups", "hom"], "has no column 'hom' for --groups; the nearest name is 'home'"),
        (["-t", "outcome", "--weight", "hom"], "has no column 'hom' for the weights"),
        (["-t", "outcome", "--weight", "home"], "--weight has entries that are not numbers"),
        (["-t", "outcome", "--kind", "home"], "--kind 'home' is not COLUMN=KIND"),
        (["-t", "outcome", "--kind", "home=ordnal"], "names an unknown kind; the nearest name is 'ordinal'"),
        (["-t", "outcome", "--kind", "hme=nominal"], "has no column 'hme' for --kind"),
        (["-t", "outcome", "--kind", "home=ordinal"], "Column 'home' holds text, whose order is unknown"),
        (
            ["-t", "outcome", "--set", "bta=2"],
            "--set bta is no parameter of OptimalTreeClassifier",
        ),
        (["-t", "outcome", "--set", "beta"], "--set 'beta' is not NAME=VALUE"),
        (["-t", "income", "--balanced"], "--balanced needs classes"),
        (["-t", "outcome", "--task", "regression"], "holds text such as"),
        (["-t", "income", "--task", "classification"], "holds fractions such as"),
        (["-t", "outcome", "--out", "/no/such/folder/m.json"], "there is no folder /no/such/folder"),
        (["-t", "outcome", "--out", "."], "cannot be written: it is a folder"),
        (["-t", "outcome", "--test", "no.csv"], "no.csv: no such file or directory"),
        (["-t", "outcome", "--constraints", "no.toml"], "no.toml: no such file or directory"),
    ],
)
def test_faults(credit, fails, arguments, wanted):
    """What cannot be is said in one sentence, with exit code 1."""
    assert wanted in fails("fit", credit.data, *arguments)


def test_missing_target_cells(tmp_path, run):
    """Rows without a target are counted and left out."""
    lines = credit_lines(20)
    lines[3] = lines[3].rsplit(",", 1)[0] + ","
    lines[9] = lines[9].rsplit(",", 1)[0] + ",?"
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    result = run("fit", str(path), "-t", "outcome", "-d", "1", "-l", "2")
    assert result.code == 0
    assert "note: 2 rows without a target are left out" in result.err


def test_only_a_target(tmp_path, fails):
    """A table with nothing to predict from is refused."""
    path = tmp_path / "data.csv"
    path.write_text("y\na\nb\n", encoding="utf-8")
    assert "has no column besides the target 'y'" in fails("fit", str(path), "-t", "y")


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["fit"], "Missing"),
        (["fit", "x.csv"], "--target"),
        (["fit", "x.csv", "-t", "y", "--dept", "3"], "--dept"),
        (["fit", "x.csv", "-t", "y", "--depth", "three"], "--depth"),
        (["fit", "x.csv", "-t", "y", "--structure", "forest"], "--structure"),
        (["fitt"], "fitt"),
    ],
)
def test_wrong_use(fails, arguments, wanted):
    """A wrong use of the command has exit code 2 and says where help is."""
    sentence = fails(*arguments, code=2)
    assert wanted in sentence
    assert "--help" in sentence


def test_debug(credit):
    """With --debug, anywhere, the whole traceback is shown."""
    command = [*OMTREE, "fit", credit.data, "-t", "nope", "--debug"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_help():
    """Every command explains itself with an example, and help needs none of the heavy packages."""
    for command in ("fit", "predict", "explain", "audit", "report", "export", "graph"):
        done = subprocess.run([*OMTREE, command, "--help"], capture_output=True, text=True, check=True)
        assert "Example: omtree " + command in done.stdout
    program = (
        "import sys; from omtree.cli import main; main(['--help']);"
        "print(sorted({'numpy', 'sklearn', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]")


def test_version(run):
    """The version is that of the package."""
    result = run("--version")
    assert (result.code, result.out) == (0, f"omtree {omtree.__version__}\n")


def test_notes_are_not_results(tmp_path, run):
    """Remarks go to standard error, and the warnings of a fit are among them."""
    lines = [f"{line},same,{'odd' if i == 5 else i % 40}" for i, line in enumerate(credit_lines())]
    lines[0] = f"{HEADER},constant,nearly"
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    result = run("fit", str(path), "-t", "outcome", "-d", "1")
    assert result.code == 0
    assert "note: column 'nearly' is read as text because of cells such as 'odd'" in result.err
    assert "'constant': it is constant" in result.err
    assert "note" not in result.out


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1, 2], "classification"),
        ([1.0, 2.0], "classification"),
        ([0.5, 1.0], "regression"),
        (list(range(21)), "regression"),
    ],
)
def test_task(values, task):
    """Text, booleans and few whole numbers are classes; fractions and many numbers are a quantity; a guess is said."""
    notes = Notes()
    array = np.array(values, dtype=object if isinstance(values[0], str) else None)
    assert choose_task(array, "y", "auto", notes) == task
    assert bool(notes) == (task == "regression" or values == [0, 1, 2])


def test_regression(credit, run, tmp_path):
    """A quantity is fitted by the regressor, with a note, and other parameters can be set."""
    path = tmp_path / "model.json"
    options = ["-d", "2", "-o", str(path), "--time-limit", "20", "--objective", "quantile", "--set", "quantile=0.9"]
    result = run("fit", credit.data, "-t", "income", *options, "--test", credit.unseen)
    assert result.code == 0, result.err
    assert "different numbers and is fitted as a quantity; use --task classification" in result.err
    model = load(path)
    assert isinstance(model, OptimalTreeRegressor)
    assert model.get_params()["quantile"] == 0.9
    audited = run("audit", str(path), credit.unseen)
    assert audited.code == 0, audited.err
    frame = pd.read_csv(credit.unseen, dtype={"zip code": str})
    errors = np.abs(model.predict(frame.drop(columns="income")) - frame["income"])
    assert f"mean absolute error {number(float(errors.mean()))}" in audited.out
    assert "it would be" in run("explain", str(path), credit.unseen, "-r", "1").out
    assert "--probabilities needs a model of classes" in run("predict", str(path), credit.unseen, "-p").err


def test_constraints_file(credit, run, fails, tmp_path):
    """The model respects the constraints of a TOML file and keeps them for an audit; a bad file is named."""
    path, model = tmp_path / "c.toml", tmp_path / "model.json"
    path.write_text('[[constraint]]\ntype = "recall"\nclass = "lost"\nat_least = 0.97\n', encoding="utf-8")
    options = ["-t", "outcome", "-d", "2", "--constraints", str(path), "-o", str(model), "--time-limit", "30"]
    result = run("fit", credit.data, *options)
    assert result.code == 0, result.err
    again = load(model)
    assert again.constraints == (Recall("lost", at_least=0.97),)
    frame = pd.read_csv(credit.data, dtype={"zip code": str})
    lost = frame["outcome"] == "lost"
    assert (again.predict(frame.drop(columns="outcome"))[lost] == "lost").mean() >= 0.97
    audited = run("audit", str(model), credit.data)
    assert audited.code == 0
    assert "at least 0.97" in audited.out
    unkept = tmp_path / "unkept.csv"
    lines = credit_lines(30)
    unkept.write_text("\n".join([lines[0], *(line.replace("paid", "lost") for line in lines[1:])]), encoding="utf-8")
    audited = run("audit", str(model), str(unkept))
    assert audited.code == 1
    assert "NO" in audited.out
    path.write_text('[[constraint]]\ntype = "recal"\n', encoding="utf-8")
    assert "has the unknown type 'recal'" in fails("fit", credit.data, *options)


def test_groups(credit, run, tmp_path):
    """A group column is for the constraints alone: no condition is on it, and the audit finds it in the data."""
    path, model = tmp_path / "c.toml", tmp_path / "model.json"
    path.write_text('[[constraint]]\ntype = "statistical_parity"\ngroup = "home"\ntolerance = 0.2\n', encoding="utf-8")
    options = ["--constraints", str(path), "--groups", "home", "-o", str(model), "--time-limit", "30"]
    result = run("fit", credit.data, "-t", "outcome", "-d", "2", *options)
    assert result.code == 0, result.err
    assert "home" not in load(model).feature_names_in_
    audited = run("audit", str(model), credit.data)
    assert audited.code == 0, audited.err
    assert "at most 0.2" in audited.out


def long_fit(folder: Path) -> list[str]:
    """A command that would take hours."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2000, 16)).round(3), columns=[f"c{i}" for i in range(16)])
    frame["y"] = rng.integers(0, 2, 2000)
    frame.to_csv(folder / "data.csv", index=False)
    command = ["fit", "data.csv", "-t", "y", "-d", "7", "--leaves", "60", "--min-leaf", "5", "--time-limit", "500"]
    return [*OMTREE, *command, "--out", "model.json"]


def test_interrupt_keeps_the_best_model(tmp_path):
    """Ctrl-C during a fit saves the best model so far, which predicts and says that it was interrupted."""
    screen, terminal = pty.openpty()
    with subprocess.Popen(
        long_fit(tmp_path), cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal, text=True
    ) as process:
        os.close(terminal)
        shown = b""
        while b"search" not in shown:
            # The line of progress says when the search has begun.
            shown += _read(screen)
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        while chunk := _read(screen):
            shown += chunk
        output = process.stdout.read()
    os.close(screen)
    errors = shown.decode()
    assert process.returncode == 0, errors
    assert "interrupted: the model makes" in output
    assert "The fit was interrupted" in errors
    assert "Traceback" not in errors
    model = load(tmp_path / "model.json")
    assert model.certificate_.status == "interrupted"
    assert model.certificate_.bound <= model.certificate_.value
    # No second search, for the trees of other sizes, has kept the person waiting.
    assert "_family" not in vars(model)
    done = subprocess.run(
        [*OMTREE, "predict", "model.json", "data.csv"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert len(done.stdout.splitlines()) == 2001


def test_interrupt_before_the_fit(tmp_path):
    """Ctrl-C while the data are read leaves no file and no traceback."""
    with subprocess.Popen(
        [*OMTREE, "fit", "-", "-t", "y", "--out", "model.json"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        # It waits for standard input; until it does, the signal could meet the interpreter's own start.
        threading.Timer(6.0, process.send_signal, [signal.SIGINT]).start()
        process.wait(timeout=300)
        errors = process.stderr.read()
    assert process.returncode == 1
    assert errors == "omtree: interrupted; nothing was written.\n"
    assert list(tmp_path.iterdir()) == []


def test_saved_model_is_plain_json(credit):
    """The file is JSON with the rules in words."""
    document = json.loads(Path(credit.model).read_text(encoding="utf-8"))
    assert document["format"] == "omtree-model"
    assert all(rule["text"] for rule in document["model"]["rules"])


def test_same_table_same_model(tmp_path, run):
    """A table with quotes and commas in its cells gives the same model twice."""
    data = write_credit(tmp_path / "data.csv")
    for name in ("a.json", "b.json"):
        assert run("fit", data, "-t", "outcome", "-d", "2", "-o", str(tmp_path / name), "-q").code == 0
    assert load(tmp_path / "a.json").rules_.rules == load(tmp_path / "b.json").rules_.rules


def test_terminal(credit):
    """On a terminal the progress is shown while the fit runs, and the tree has colours; brackets stay as they are."""
    screen, terminal = pty.openpty()
    command = [*OMTREE, "fit", credit.data, "-t", "outcome", "-d", "2"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environment) as process:
        os.close(terminal)
        shown = b""
        while chunk := _read(screen):
            shown += chunk
    os.close(screen)
    assert process.returncode == 0
    text = shown.decode()
    assert "Ctrl-C keeps the best" in text
    assert "\x1b[1;" in text
    assert "→" in text
    assert "it is proven that no tree with these" in text


def _read(screen: int) -> bytes:
    try:
        return os.read(screen, 65536)
    except OSError:
        # The other side is closed.
        return b""


def test_price_of_a_leaf_chosen(credit, run, fails, tmp_path):
    """`--leaf-price auto` chooses the price within depth 3 and says which; it does not go with --leaves auto."""
    model = str(tmp_path / "model.json")
    result = run("fit", credit.data, "--target", "outcome", "--leaf-price", "auto", "--out", model)
    assert result.code == 0
    fitted = load(model)
    assert fitted.max_depth == 3
    assert f"prices, {number(fitted.leaf_price_)} does best on rows held out" in result.out
    assert "--leaf-price sets it" in result.out
    given = str(fitted.leaf_price_)
    again = run("fit", credit.data, "--target", "outcome", "--leaf-price", given, "--depth", "3", "--out", model)
    assert again.code == 0
    assert "chosen by cross-validation" not in again.out
    assert load(model).certificate_.value == fitted.certificate_.value
    said = fails("fit", credit.data, "--target", "outcome", "--leaf-price", "auto", "--leaves", "auto")
    assert "--leaves 'auto' chooses a size by itself" in said
    said = fails("fit", credit.data, "--target", "outcome", "--leaf-price", "cheap")
    assert "--leaf-price 'cheap' is not possible; use auto or a fraction" in said


def test_what_is_not_known_is_said_in_options(credit, run):
    """Without held-out rows the first figure advises options of the command line, not Python."""
    result = run("fit", credit.data, "--target", "outcome", "--leaves", "2")
    assert "cross-validate (--leaves auto or --cv 5)" in result.out
    assert "max_leaves" not in result.out
