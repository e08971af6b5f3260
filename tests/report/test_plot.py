"""Pictures on matplotlib axes, and in notebooks."""

from __future__ import annotations

import sys

import matplotlib as mpl
import pytest
import sklearn
from matplotlib import pyplot

from helpers import shown_models
from omtree import OptimalTreeClassifier

mpl.use("Agg")


@pytest.mark.parametrize("name", shown_models.EVERY)
def test_every_answer_is_on_the_axes(name: str) -> None:
    """A new figure holds the text of every leaf and can be drawn."""
    model, _, _ = shown_models.EVERY[name]()
    ax = model.plot()
    ax.figure.canvas.draw()
    words = " ".join(text.get_text() for text in ax.texts)
    answers = {str(rule.prediction).split()[0] for rule in model.rules_ if not isinstance(rule.prediction, float)}
    assert all(answer[:6] in words for answer in answers)
    assert words.count("row") >= len(model.rules_)
    pyplot.close(ax.figure)


def test_given_axes_are_used() -> None:
    """The picture goes into the axes it is given, with smaller letters in smaller axes."""
    model, _, _ = shown_models.flowers()
    _, (left, right) = pyplot.subplots(1, 2, figsize=(4, 3))
    assert model.plot(left) is left
    assert not right.texts
    large = model.plot()
    assert left.texts[0].get_fontsize() < large.texts[0].get_fontsize()
    pyplot.close("all")


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        shown_models.flowers()[0].plot()


def test_notebooks_show_the_picture() -> None:
    """A fitted model is its picture and its certificate; before the fit, and where diagrams are off, as ever."""
    model, _, _ = shown_models.mixed()
    html = model._repr_html_()
    assert "<svg" in html
    assert "proven" in html
    assert "<script>" not in html
    assert model._repr_mimebundle_()["text/html"] == html
    for html in (OptimalTreeClassifier()._repr_html_(), OptimalTreeClassifier()._repr_mimebundle_()["text/html"]):
        assert "omt-paper" not in html
        assert "OptimalTreeClassifier" in html
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()
