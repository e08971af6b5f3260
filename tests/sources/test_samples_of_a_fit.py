"""What a fit is given, read once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from omtree.sources.samples import Training

X = pd.DataFrame({"age": [18.0, 25.0, 31.0, 47.0, 52.0, 60.0], "colour": list("rgbrgb")})
Y = ["no", "no", "yes", "yes", "no", "yes"]


def test_class_weights_count_in_the_loss_but_not_in_the_bins() -> None:
    """A class weight multiplies the weight of the rows; bins follow the weights as given."""
    weight = [1.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    training = Training.of_classes(X, Y, weight, {"yes": 3.0})
    assert training.weight.tolist() == [1.0, 2.0, 3.0, 3.0, 1.0, 3.0]
    assert training.row_weight is not None
    assert training.row_weight.tolist() == weight
    assert training.total == training.weight.sum() == 13.0
    assert Training.of_classes(X, Y, None, {"yes": 3.0}).row_weight is None


def test_a_sample_is_a_part_of_the_rows() -> None:
    """A sample has rows of the whole, each at most once, in their order, with their labels and weights."""
    training = Training.of_classes(X, Y, np.arange(1.0, 7.0))
    part = training.sample(4, seed=1)
    ages = part.columns[0].values.tolist()
    where = [X["age"].tolist().index(age) for age in ages]
    assert len(part) == part.columns.n_samples == 4
    assert where == sorted(set(where))
    assert part.target.labels.tolist() == training.target.labels[where].tolist()
    assert part.weight.tolist() == training.weight[where].tolist()
    assert part.total == part.weight.sum()
    assert part.columns[1].levels == training.columns[1].levels
    again = training.sample(4, seed=1)
    assert again.columns[0].values.tolist() == ages


def test_codes_of_the_features_in_use() -> None:
    """Only the features asked for are coded, the same way as in the table."""
    training = Training.of_classes(X, Y)
    features, _ = training.features(3, "quantile")
    table = training.table(features)
    codes = training.codes(features, {0})
    assert codes.shape == (2, 6)
    assert codes[0].tolist() == table.codes[0][table.row_of].tolist()


def test_rows_without_a_label_are_refused() -> None:
    """Different numbers of rows and labels are named in one sentence."""
    with pytest.raises(ValueError, match="X has 6 rows and y has 5 labels; give one label per row"):
        Training.of_classes(X, Y[:-1])
