"""What columns contribute to a fitted model, and how large it is: the methods that every model has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from omtree.data.table import CodeArray, FloatArray
from omtree.model.attribution import loss_saved, shapley_values
from omtree.objectives import Objective

if TYPE_CHECKING:
    from omtree.data.parsing.reading import ColumnReading
    from omtree.model.certificate import Certificate
    from omtree.model.rules import RuleSet
    from omtree.model.tree import Tree


class Contributions:
    """Importances, Shapley values and sizes of a fitted model."""

    rules_: RuleSet
    tree_: Tree | None
    certificate_: Certificate
    reading_: tuple[ColumnReading, ...]

    @property
    def feature_importances_(self) -> FloatArray:
        """The share of the loss saved that the splits on each column of ``X`` account for.

        A node saves what it would cost as a leaf, less what its children would; the shares add up to 1 unless nothing
        is saved.
        """
        tree: Tree | None = vars(self).get("tree_")
        if tree is not None and tree.rules.are_lines:
            raise AttributeError("feature_importances_ are of leaves that answer by one number, and these have lines.")
        if tree is None:
            raise AttributeError("feature_importances_ needs a fitted tree; rules that are no tree have none.")
        shares = np.zeros(len(self.reading_))
        np.add.at(shares, self._columns_of_features(), loss_saved(tree, self._objective()))
        return shares

    def get_depth(self) -> int:
        """The most splits, or conditions, on the way to an answer."""
        check_is_fitted(self, "certificate_")
        return self.certificate_.depth

    def get_n_leaves(self) -> int:
        """The number of leaves, or rules."""
        check_is_fitted(self, "certificate_")
        return len(self.rules_)

    def shap_values(self, X: Any) -> FloatArray:
        """Exact Shapley values: what each column contributes to the answer for each row.

        They are those of a tree that takes the average of the training rows where a column is not known, and add up to
        the answer less ``expected_value_``; no sample of rows is needed.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of float, shape (n_samples, n_features) or (n_samples, n_features, n_classes)
            Of numbers, or of the probabilities of the classes.
        """
        codes = self._encode(X)
        if self.rules_.are_lines:
            raise ValueError("shap_values are of leaves that answer by one number; fit with leaves='constant'.")
        if self.tree_ is None or self.certificate_.structure != "tree":
            raise ValueError("shap_values needs a model that was fitted with structure='tree'.")
        _, found = shapley_values(self.tree_, codes, self._leaf_values())
        values = np.zeros((found.shape[0], len(self.reading_), found.shape[2]))
        for place, column in enumerate(self._columns_of_features()):
            values[:, column] += found[:, place]
        return values if self.rules_.classes else values[:, :, 0]

    @property
    def expected_value_(self) -> FloatArray:
        """What `shap_values` start from: the average answer, weighted as the training rows."""
        weights = [rule.support for rule in self.rules_]
        return np.asarray(np.average(self._leaf_values(), axis=0, weights=weights))

    def _columns_of_features(self) -> npt.NDArray[np.intp]:
        """The column of ``X`` that each feature was made of."""
        columns = np.repeat(np.arange(len(self.reading_)), [len(reading.names) for reading in self.reading_])
        return columns[[feature.column for feature in self.rules_.features]]

    def _encode(self, X: Any) -> CodeArray:
        raise NotImplementedError

    def _leaf_values(self) -> FloatArray:
        """What each rule answers, as numbers: of a classifier the probabilities of the classes."""
        return np.array([np.atleast_1d(rule.prediction) for rule in self.rules_], dtype=np.float64)

    def _objective(self) -> Objective:
        """What is minimised, in the terms of the parameters."""
        raise NotImplementedError
