"""A saved model that only answers rows.

It gives the answers of the model that `load` gives, and needs neither scikit-learn nor scipy nor pandas, whose import
takes longer than thousands of predictions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.columns import check_labels
from omtree.data.parsing.reading import Reading
from omtree.data.table import FloatArray
from omtree.export.document_features import are_ordered, classes_in, features_in, text
from omtree.export.document_model import model_in
from omtree.export.document_readings import readings_in
from omtree.export.model_file import model_text, read_model
from omtree.export.plain import finite, from_plain, whole
from omtree.model.answering import Answering, answered_classes, answered_numbers, as_sorted, check_there, class_order
from omtree.model.shares import class_shares


class Predictor(Answering):
    """The answers of a saved model.

    Parameters
    ----------
    document : mapping
        As `omtree.export.document.to_document` makes it.

    Attributes
    ----------
    rules_, tree_, reading_, n_features_in_, feature_names_in_, classes_, actions_
        As those of the estimator; what the model does not have is not there.
    reading : Reading or None
        What the user said about texts.
    several : bool
        Whether the model has several targets, which only the whole model answers.
    """

    reading: Reading | None

    def __init__(self, document: Mapping[str, Any]) -> None:
        columns = document["columns"]
        self.several = document.get("outputs") is not None
        self.reading_ = readings_in(columns)
        self.n_features_in_ = whole(columns["count"])
        if columns["names"] is not None:
            self.feature_names_in_ = [text(name) for name in columns["names"]]
        features = features_in(document, self.reading_)
        classes = classes_in(document["classes"])
        self.rules_, self.tree_ = model_in(document["model"], features, () if classes is None else classes.tolist())
        wanted = ("reading", "smoothing", "positive")
        parameters = {name: from_plain(document["parameters"].get(name)) for name in wanted}
        self.reading = parameters["reading"]
        self._smoothing = parameters["smoothing"]
        self._mean_weight = finite(document.get("mean_weight", 1.0))
        self._structure = dict(document["certificate"])["structure"]
        if classes is not None and document["kind"] == "policy":
            self.actions_ = classes
        elif classes is not None:
            inside = parameters["positive"] is not None or are_ordered(document["classes"])
            self.classes_ = as_sorted(classes) if inside else classes

    @property
    def _walks(self) -> bool:
        return bool(self._structure == "tree")

    def _by_name(self, X: Any, wanted: list[str]) -> bool:
        if "feature_names_in_" not in vars(self):
            return False
        check_there(check_labels(X), wanted)
        return True

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The answer for each row of a frame, or of an array where the model knows no names."""
        owner = self._owners(X)
        if "classes_" in vars(self):
            return answered_classes(self.classes_, self.rules_, owner)
        if "actions_" in vars(self):
            return np.asarray(self.actions_[np.array([rule.label for rule in self.rules_])[owner]])
        return answered_numbers(self.rules_, owner, lambda: self._read(X, self._asked_columns()))

    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class, in the order of ``classes_``."""
        shares = np.empty((len(self.rules_), len(self.classes_)))
        order = class_order(self.classes_, self.rules_)
        shares[:, order] = class_shares(self.rules_, self._smoothing, self._mean_weight)
        return shares[self._owners(X)]


def load_predictor(path: str | os.PathLike[str]) -> Predictor:
    """What answers rows as the model in a file does; complaints are those of `omtree.load`."""
    return read_model(model_text(path), os.fspath(path), Predictor)
