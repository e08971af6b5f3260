"""Labels and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from omtree.sources.target import check_weights, class_scale, encode_labels


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, -2, 3, 7]),
        np.array([0, 255, 7, 0], dtype=np.uint8),
        np.array([-128, 127], dtype=np.int8),
        np.array([0, 10**12, 5]),
        np.array([2**63, 2**64 - 1], dtype=np.uint64),
        np.array([True, False, True]),
        np.array([1.0, 0.0, 1.0]),
        ["b", "a", "b"],
        np.array(["b", "a", "b"], dtype=object),
        pd.Series(["b", "a"], dtype="category"),
        pl.Series(["b", "a", "b"]),
        [[1], [0]],
    ],
)
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_labels_are_coded_by_their_sorted_order(y: Any) -> None:
    """Whatever the type, classes are the sorted distinct labels, in the labels' type, and codes lead back to y."""
    classes, codes = encode_labels(y)
    plain = np.asarray(y).ravel()
    expected, inverse = np.unique(plain, return_inverse=True)
    assert classes.tolist() == expected.tolist()
    assert classes.dtype == expected.dtype
    assert codes.tolist() == inverse.tolist()


def test_one_weight_for_all_rows() -> None:
    """No weights are ones, and a single number is the weight of every row."""
    assert check_weights(None, 3).tolist() == [1.0, 1.0, 1.0]
    assert check_weights(2, 3).tolist() == [2.0, 2.0, 2.0]


def test_classes_a_dict_does_not_name_have_weight_one() -> None:
    """A dict may name some of the classes only."""
    assert class_scale({"b": 3}, np.array(["a", "b"]), np.array([1.0, 1.0])).tolist() == [1.0, 3.0]


def test_balanced_ignores_classes_without_weight() -> None:
    """A class of no weight does not divide by zero."""
    scale = class_scale("balanced", np.array([0, 1, 2]), np.array([6.0, 0.0, 2.0]))
    assert scale.tolist() == [8 / 18, 1.0, 8 / 6]
