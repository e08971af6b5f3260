"""What ``omtree fit`` says of new rows: chosen sizes, rows held out, test files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from omtree import load


def test_the_size_is_chosen_and_said(credit, run, tmp_path):
    """By default the size is cross-validated; four figures lead, and the file keeps them."""
    path = tmp_path / "model.json"
    result = run("fit", credit.data, "-t", "outcome", "-d", "2", "--cv", "3", "-o", str(path))
    assert "size chosen by cross-validation: of 1 to 4 leaves" in result.out
    for words in ("expected on new rows", "in training", "without a model", "proven"):
        assert words in result.out
    assert "95 % interval by 3-fold cross-validation" in result.out
    model = load(path)
    assert model.max_leaves == "auto"
    assert model.expectation_.how == "3-fold cross-validation"
    assert result.out.index("expected on new rows") < result.out.index("lower bound")


def test_constraints_on_rows_held_out(run, tmp_path):
    """What is met in training and not on the rows held out is said in words; groups that stand apart come along."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200), "sex": rng.choice(["f", "m"], 200)})
    table["y"] = np.where(table["a"] + (table["sex"] == "m") + rng.normal(size=200) > 0.5, "yes", "no")
    data, page = str(tmp_path / "t.csv"), tmp_path / "report.html"
    table.to_csv(data, index=False)
    wanted = tmp_path / "parity.toml"
    wanted.write_text('[[constraint]]\ntype = "statistical_parity"\ngroup = "sex"\ntolerance = 0.01\n')
    given = ["--constraints", str(wanted), "--groups", "sex", "--report", str(page)]
    result = run("fit", data, "-t", "y", "-d", "2", "--leaves", "4", "--holdout", "0.4", *given)
    assert "Statistical parity (group sex, tolerance 0.01): met in training (" in result.out
    assert "not met on the test rows (" in result.out
    assert "  constraint    Statistical parity (group sex" in result.out
    assert "StatisticalParity(" not in result.out
    text = page.read_text()
    # Beside the leading figures, and again with the constraints.
    assert text.count("not met on the test rows (") == 2
    assert text.index("not met on the test rows (") < text.index('id="stage"')


def test_what_is_proven_is_about_the_score(credit, run):
    """The figures beside it are of accuracy; what is proven is that of F1."""
    result = run("fit", credit.data, "-t", "outcome", "-d", "1", "--leaves", "2", "--objective", "f1")
    assert "has a higher F1 in training" in result.out


def test_a_given_size(credit, run):
    """With --leaves nothing is cross-validated, unless --cv asks for it; a word is no size."""
    result = run("fit", credit.data, "-t", "outcome", "-d", "2", "--leaves", "3")
    assert "size chosen" not in result.out
    assert "not known" in result.out
    result = run("fit", credit.data, "-t", "outcome", "-d", "2", "--leaves", "3", "--cv", "2")
    assert "95 % interval by 2-fold cross-validation" in result.out
    assert "size chosen" not in result.out


def test_rows_held_out(credit, run, tmp_path):
    """A share of the rows is kept from the fit, and the model is judged on it."""
    path = tmp_path / "model.json"
    result = run("fit", credit.data, "-t", "outcome", "-d", "1", "--holdout", "0.25", "-o", str(path))
    assert "30 rows held out (25 %)" in result.out
    model = load(path)
    assert model.certificate_.weight == 90
    assert model.expectation_.rows == 30
    assert f"{100 * model.expectation_.value.value:.1f} % right" in result.out


def test_held_out_with_weights_and_numbers(run, tmp_path):
    """Weights go with their rows; of numbers R2 and RMSE are said."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=80), "w": rng.uniform(1, 2, 80)})
    table["y"] = table["a"] * 3 + rng.normal(size=80)
    table.to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", str(tmp_path / "t.csv"), "-t", "y", "-d", "1", "--weight", "w", "--holdout", "0.5")
    assert "R2" in result.out
    assert "RMSE" in result.out


def test_noise_is_called_noise(run, tmp_path):
    """A model that is no better than the most frequent class, or that is this answer, is called so in a sentence."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(90, 3)), columns=list("abc"))
    table["y"] = rng.choice(["no", "yes"], 90, p=[0.7, 0.3])
    table.to_csv(tmp_path / "t.csv", index=False)
    page = tmp_path / "report.html"
    chosen = run("fit", str(tmp_path / "t.csv"), "-t", "y", "--report", str(page)).out
    assert "of 1 to 8 leaves, 1 does best on rows held out" in chosen
    said = "The model gives every row the same answer: no larger one did better on rows held out."
    assert said in chosen
    assert said in page.read_text()
    assert "does not beat the baseline" not in chosen
    given = run("fit", str(tmp_path / "t.csv"), "-t", "y", "--leaves", "8", "--cv", "5").out
    assert "does not beat the baseline" in given


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--holdout", "1.5"], "--holdout 1.5 is not possible"),
        (["--leaves", "many"], "--leaves 'many' is not possible; use auto or a whole number"),
        (["--cv", "1"], "--cv 1 is not possible"),
        (["--test", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_faults(credit, fails, arguments, words):
    """What makes no sense is said in one sentence."""
    assert words in fails("fit", credit.data, "-t", "outcome", *arguments)


def test_a_test_file_is_checked_before_the_fit(credit, fails, run, tmp_path, monkeypatch):
    """A test file that lacks a column, or the target, is refused before anything is fitted."""
    from omtree import OptimalTreeClassifier

    def fitted(*_args, **_kwargs):
        raise AssertionError("it was fitted")

    monkeypatch.setattr(OptimalTreeClassifier, "fit", fitted)
    table = pd.read_csv(credit.unseen)
    table.drop(columns="income").to_csv(tmp_path / "less.csv", index=False)
    sentence = fails("fit", credit.data, "-t", "outcome", "--test", str(tmp_path / "less.csv"))
    assert "lacks the column 'income'" in sentence
    table.drop(columns="outcome").to_csv(tmp_path / "none.csv", index=False)
    assert "'outcome'" in fails("fit", credit.data, "-t", "outcome", "--test", str(tmp_path / "none.csv"))
    both = ["--test", credit.unseen, "--holdout", "0.3"]
    assert "give one of them" in fails("fit", credit.data, "-t", "outcome", *both)


def test_stability_is_shown(credit, run, tmp_path):
    """What was asked for stands in terminal and report."""
    page = tmp_path / "report.html"
    given = ["-t", "outcome", "-d", "1", "-l", "2", "--stability", "3", "--report", str(page)]
    said = run("fit", credit.data, *given).out
    assert "over 3 resamples of the training rows:" in said
    assert "answers that change" in said
    assert "fitted to 3 resamples of the training rows" in page.read_text()
    without = run("fit", credit.data, "-t", "outcome", "-d", "1", "-l", "2", "--report", str(page)).out
    assert "resamples" not in without
    assert 'id="stability"' not in page.read_text()


def test_assured_constraints_are_said_in_words(credit, run, tmp_path):
    """What holds with confidence is said in words, not as code."""
    wanted = tmp_path / "k.toml"
    wanted.write_text('[[constraint]]\ntype = "accuracy"\nat_least = 0.1\nconfidence = 0.9\n')
    said = run("fit", credit.data, "-t", "outcome", "-d", "1", "-l", "2", "--constraints", str(wanted)).out
    assert "  assured       Accuracy (" in said
    assert "Accuracy(at_least" not in said
