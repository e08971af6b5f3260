"""Stricter wishes are never the better ones by chance: trees share the cuts that either was found with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from omtree import OptimalTreeClassifier
from omtree.deadline import Deadline
from omtree.estimators.refit import over_cuts_of
from omtree.studio.source import Source
from omtree.studio.wishes import Wishes
from omtree.studio.worker import Job, Kin, Limits, Worker

COARSE: dict[str, Any] = {"binning": "quantile", "n_bins": 2, "max_depth": 2}


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Two numbers that are best cut far from their middle."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    return X, np.where((X[:, 0] > 1.0) | (X[:, 1] < -1.1), "yes", "no")


def test_over_the_cuts_of_another_tree() -> None:
    """Over both trees' cuts a model is as good as the best tree over them, and keeps its own limits."""
    X, y = rows()
    coarse = OptimalTreeClassifier(**COARSE, min_samples_leaf=0.01).fit(X, y)
    strict = OptimalTreeClassifier(max_depth=2, binning="exact", min_samples_leaf=0.1).fit(X, y)
    assert strict.certificate_.value < coarse.certificate_.value
    both = over_cuts_of(coarse, coarse._bench, strict.tree_, Deadline())
    assert both.certificate_.value <= strict.certificate_.value
    assert both.certificate_.status == "optimal"
    assert np.count_nonzero(both.predict(X) != y) == both.certificate_.value
    # Brute force: the same cuts as columns of their own.
    cuts = [feature.thresholds for feature in both.rules_.features]
    codes = np.column_stack([np.searchsorted(cut, X[:, place], side="right") for place, cut in enumerate(cuts)])
    again = OptimalTreeClassifier(max_depth=2, binning="exact", min_samples_leaf=0.01).fit(codes, y)
    assert both.certificate_.value == again.certificate_.value
    # Nothing is gained from its own cuts.
    assert over_cuts_of(both, both._bench, both.tree_, Deadline()) is both


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Any:
    """One whose own fits are coarse, and what it says."""
    X, y = rows()
    source = Source("rows", "y", "classification", pa.table({"a": X[:, 0], "b": X[:, 1]}), y.astype(object))
    parameters = Wishes.parameters
    monkeypatch.setattr(Wishes, "parameters", lambda self, source: {**parameters(self, source), **COARSE})
    said: list[Any] = []
    made = Worker(
        source, Limits(20.0), SimpleNamespace(send=said.append), SimpleNamespace(value=1), SimpleNamespace(value=-1)
    )
    return SimpleNamespace(worker=made, said=said, source=source)


def fine(source: Source, min_leaf: float) -> Any:
    """A model over all cuts."""
    return OptimalTreeClassifier(max_depth=2, binning="exact", min_samples_leaf=min_leaf).fit(source.X, source.y)


def test_looser_wishes_are_no_worse_than_stricter_ones_before(worker: Any) -> None:
    """A tree of stricter wishes that was found earlier lends its cuts."""
    strict = fine(worker.source, 0.1)
    wishes = Wishes(depth=2, leaves=4, min_leaf=0.01)
    kin = Kin(1, Wishes(depth=2, min_leaf=0.1), len(strict.rules_), strict.certificate_.value, strict.to_json(), False)
    worker.worker._answer(Job(1, wishes))
    alone = [content["view"]["value"] for kind, _, content in worker.said if kind == "view"][-1]
    assert alone > strict.certificate_.value
    worker.worker._answer(Job(1, wishes, (kin,)))
    together = [content for kind, _, content in worker.said if kind == "view"][-1]
    assert together["view"]["value"] <= strict.certificate_.value
    assert together["view"]["validated"]


def test_what_a_wish_costs_is_over_the_better_cuts_of_the_tree_without_it(worker: Any) -> None:
    """A wish that is added to a tree with better cuts is said to cost what separates the two, and not less."""
    forbid = {"type": "order", "features": ["b", "a"]}
    better = fine(worker.source, 0.01)
    loose = Wishes(depth=2, leaves=4, min_leaf=0.01)
    wishes = Wishes(depth=2, leaves=4, min_leaf=0.01, constraints=(forbid,))
    kin = Kin(1, loose, len(better.rules_), better.certificate_.value, better.to_json(), True)
    worker.worker._answer(Job(1, wishes, (kin,)))
    view = [content["view"] for kind, _, content in worker.said if kind == "view"][-1]
    (price,) = next(content["prices"] for kind, _, content in worker.said if kind == "around")
    assert f"without it {better.certificate_.value:g}, with it {view['value']:g}" in price


def test_looser_wishes_become_no_worse_than_stricter_ones_after(worker: Any) -> None:
    """What was found for looser wishes is improved where stricter ones turn out better."""
    strict, loose = Wishes(depth=2, leaves=4, min_leaf=0.1), Wishes(depth=2, leaves=4, min_leaf=0.01)
    worker.worker._answer(Job(1, loose))
    before = [content for kind, _, content in worker.said if kind == "view"][-1]
    value, leaves = before["view"]["value"], before["view"]["leaves"]
    better = fine(worker.source, 0.1)
    kin = Kin(7, loose, leaves, value, before["model"], True)
    assert leaves < len(better.rules_) <= 4
    worker.worker._improve_looser(Job(1, strict, (kin,)), better)
    kind, _, content = worker.said[-1]
    assert (kind, content["number"]) == ("improved", 7)
    assert content["view"]["value"] <= better.certificate_.value < value
    assert content["view"]["validated"] == before["view"]["validated"]


def test_which_wishes_imply_others() -> None:
    """Stricter in any way, and looser in none."""
    recall = {"type": "recall", "class": "yes", "at_least": 0.8}
    parity = {"type": "statistical_parity", "group": "sex", "tolerance": 0.1}
    base = Wishes(constraints=(recall,))
    assert base.implies(base)
    for strict in (
        Wishes(constraints=(recall, parity)),
        Wishes(constraints=({**recall, "at_least": 0.9},)),
        Wishes(constraints=(recall,), depth=2),
        Wishes(constraints=(recall,), left_out=("a",)),
        Wishes(constraints=(recall,), min_leaf=0.02),
    ):
        assert strict.implies(base)
        assert not base.implies(strict)
    assert Wishes(constraints=({**parity, "tolerance": 0.05},)).implies(Wishes(constraints=(parity,)))
    for other in (
        Wishes(constraints=({**recall, "class": "no"},)),
        Wishes(constraints=(recall,), objective="gini"),
        Wishes(constraints=(recall,), depth=2, min_leaf=0.001),
    ):
        assert not other.implies(base)
        assert not base.implies(other)
