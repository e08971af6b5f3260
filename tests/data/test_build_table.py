"""Features and the merged table."""

import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omtree.data.binning import exact_thresholds
from omtree.data.build import encode_rows, make_features, make_table
from omtree.data.columns import read_columns
from omtree.data.table import UNKNOWN, Feature
from omtree.deadline import Deadline


@st.composite
def samples(draw):
    """A frame with every kind of column and missing cells, with classes and small whole weights."""
    n = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    gaps = draw(st.sampled_from([0.0, 0.2]))

    def some(values):
        return [None if rng.random() < gaps else value for value in values]

    frame = pd.DataFrame(
        {
            "number": pd.Series(some(rng.normal(size=n).round(1).tolist()), dtype=float),
            "count": pd.Series(some(rng.integers(0, 20, n).tolist()), dtype="Int64"),
            "word": some(rng.choice(["red", "blue", "green"], n).tolist()),
            "size": pd.Categorical(
                some(rng.choice(["s", "m", "l"], n).tolist()), categories=["s", "m", "l", "xl"], ordered=True
            ),
            "flag": rng.random(n) < 0.5,
        }
    )
    return frame, rng.integers(0, 3, n), rng.integers(0, 3, n).astype(float)


def same_features(a, b):
    keys = ("name", "kind", "n_values", "has_missing", "levels", "target_order", "column")
    return len(a) == len(b) and all(
        all(getattr(f, key) == getattr(g, key) for key in keys)
        and np.array_equal(
            f.thresholds if f.thresholds is not None else [], g.thresholds if g.thresholds is not None else []
        )
        for f, g in zip(a, b, strict=True)
    )


@settings(deadline=None, max_examples=80)
@given(samples(), st.sampled_from(["quantile", "supervised", "exact"]), st.integers(2, 6))
def test_weights_are_repetitions(sample, binning, n_bins):
    """Whole weights give the features and the table of repeated rows, weight zero those of absent rows."""
    frame, y, weights = sample
    if not weights.any():
        return
    times = np.repeat(np.arange(len(y)), weights.astype(int))
    columns, repeated = read_columns(frame), read_columns(frame.iloc[times].reset_index(drop=True))
    features, dropped = make_features(columns, y, 3, weights, n_bins, binning)
    features_repeated, dropped_repeated = make_features(repeated, y[times], 3, None, n_bins, binning)
    assert dropped == dropped_repeated
    assert same_features(features, features_repeated)
    table = make_table(columns, features, y, 3, weights)
    table_repeated = make_table(repeated, features_repeated, y[times], 3)
    assert np.array_equal(table.codes, table_repeated.codes)
    assert np.array_equal(table.statistics, table_repeated.statistics)
    assert np.array_equal(table.row_of < 0, weights == 0)


@settings(deadline=None, max_examples=60)
@given(samples())
def test_table_holds_every_sample(sample):
    """Coding the samples again gives the codes of their merged rows; merged rows differ; weights add up by class."""
    frame, y, weights = sample
    columns = read_columns(frame)
    features, _ = make_features(columns, y, 3, weights)
    table = make_table(columns, features, y, 3, weights)
    kept = table.row_of >= 0
    assert np.array_equal(encode_rows(columns, features)[:, kept], table.codes[:, table.row_of[kept]])
    assert len({tuple(row) for row in table.codes.T.tolist()}) == table.n_rows
    assert np.array_equal(table.statistics.sum(axis=0), np.bincount(y, weights=weights, minlength=3))
    assert np.array_equal(table.weight > 0, np.ones(table.n_rows, dtype=bool))
    if table.n_rows:
        first = [int(np.flatnonzero(table.row_of == row)[0]) for row in range(table.n_rows)]
        assert first == sorted(first)


@settings(deadline=None, max_examples=40)
@given(samples())
def test_merging_off_keeps_all_rows(sample):
    """Without merging every sample has its own row, and the rows hold the same codes and weights in all."""
    frame, y, weights = sample
    columns = read_columns(frame)
    features, _ = make_features(columns, y, 3, weights)
    merged, apart = (make_table(columns, features, y, 3, weights, merge=merge) for merge in (True, False))
    assert apart.n_rows == (weights > 0).sum()
    kept = weights > 0
    assert np.array_equal(apart.codes, merged.codes[:, merged.row_of[kept]])
    assert np.array_equal(apart.statistics.sum(axis=0), merged.statistics.sum(axis=0))


@settings(deadline=None, max_examples=40)
@given(samples())
def test_every_value_lies_in_the_interval_that_describes_it(sample):
    """The words of a number's code, read as a Python condition, hold for the number."""
    frame, y, _ = sample
    columns = read_columns(frame)
    features, _ = make_features(columns, y, 3, n_bins=4)
    for feature in features:
        if feature.kind == "numeric" and feature.n_values > 1:
            values = columns[feature.column].values
            for value, code in zip(values.tolist(), feature.encode(columns[feature.column]).tolist(), strict=True):
                words = feature.describe((code,))
                if np.isnan(value):
                    assert words == f"{feature.name} is missing"
                else:
                    assert eval(words.replace(" = ", " == "), {feature.name: value}), (words, value)


def test_frames_and_arrays_give_the_same_table():
    """pandas, polars, pyarrow and arrays of objects with the same cells give identical features and tables."""
    rng = np.random.default_rng(0)
    n = 200
    data = {
        "x": [None if rng.random() < 0.1 else float(v) for v in rng.normal(size=n)],
        "k": rng.integers(0, 5, n).tolist(),
        "word": [None if rng.random() < 0.1 else str(v) for v in rng.choice(["a", "b", "c"], n)],
        "flag": [bool(v) for v in rng.random(n) < 0.5],
    }
    y = rng.integers(0, 2, n)
    objects = np.array(list(zip(*data.values(), strict=True)), dtype=object)
    made = []
    for X in (pd.DataFrame(data), pl.DataFrame(data), pa.table(data), objects):
        columns = read_columns(X)
        features, dropped = make_features(columns, y, 2)
        assert dropped == []
        made.append((features, make_table(columns, features, y, 2)))
    (features, table), *others = made
    for other_features, other in others:
        renamed = tuple(dataclasses.replace(f, name=g.name) for f, g in zip(other_features, features, strict=True))
        assert same_features(features, renamed)
        assert np.array_equal(table.codes, other.codes)
        assert np.array_equal(table.statistics, other.statistics)
        assert np.array_equal(table.row_of, other.row_of)


def test_columns_that_cannot_distinguish_are_dropped():
    """Constant and all-missing columns are dropped with a reason; one value beside missing cells is kept."""
    frame = pd.DataFrame(
        {
            "one": [1.0, 1.0, 1.0],
            "none": [np.nan] * 3,
            "word": ["a"] * 3,
            "gap": [1.0, np.nan, 1.0],
            "wordgap": ["a", None, "a"],
            "weightless": [1.0, 1.0, 2.0],
        }
    )
    weights = np.array([1.0, 1.0, 0.0])
    features, dropped = make_features(read_columns(frame), np.array([0, 1, 0]), 2, weights)
    assert [(f.name, f.n_values, f.n_codes) for f in features] == [("gap", 1, 2), ("wordgap", 1, 2)]
    reasons = ["it is constant", "all its cells are missing", "it is constant", "it is constant"]
    assert dropped == list(zip(["one", "none", "word", "weightless"], reasons, strict=True))
    useless, why = make_features(read_columns([[1.0], [2.0]]), np.array([1, 1]), 2, binning="supervised")
    assert (useless, why) == ((), [("x0", "no threshold on it separates the classes")])


def test_no_feature_left_makes_one_row():
    """A table without features is one merged row with all the weight."""
    columns = read_columns(np.ones((3, 1)))
    table = make_table(columns, (), np.array([0, 1, 1]), 2)
    assert table.statistics.tolist() == [[1.0, 2.0]]


def test_unseen_values_are_unknown():
    """At prediction, levels and missing cells that training did not have are unknown; new numbers fall into bins."""
    train = pd.DataFrame({"x": [1.0, 2.0, 3.0], "word": ["a", "b", None], "full": ["p", "q", "q"]})
    features, _ = make_features(read_columns(train), np.array([0, 1, 1]), 2)
    new = pd.DataFrame({"x": [-9.0, np.nan, 99.0], "word": ["new", None, "b"], "full": ["p", None, "new"]})
    codes = encode_rows(read_columns(new), features)
    assert codes.tolist() == [[0, UNKNOWN, 2], [UNKNOWN, 2, 1], [0, UNKNOWN, UNKNOWN]]


def test_new_data_may_have_other_types():
    """Levels are found by value whatever the new column's type: text for categories, 0/1 for booleans, all missing."""
    train = pd.DataFrame(
        {
            "size": pd.Categorical(["s", "l", "m"], categories=["s", "m", "l"], ordered=True),
            "flag": [True, False, True],
            "mixed": pd.Series([1, "a", 2.5], dtype=object),
            "x": [0.0, 1.0, 2.0],
            "word": ["a", None, "b"],
        }
    )
    features, _ = make_features(read_columns(train), np.array([0, 1, 1]), 2)
    new = pd.DataFrame(
        {"size": ["m", "l"], "flag": [0, 1], "mixed": [2.5, 1.0], "x": [True, False], "word": [np.nan, np.nan]}
    )
    codes = encode_rows(read_columns(new), features)
    assert codes.tolist() == [[1, 2], [0, 1], [1, 0], [1, 0], [2, 2]]
    with pytest.raises(ValueError, match="Column 'x' was numeric in training but is nominal now"):
        encode_rows(read_columns(new.assign(x=["1", "two"])), features)
    assert encode_rows(read_columns(new.assign(x=["1", "2"])), features)[3].tolist() == [1, 2]


def test_too_many_levels_are_pooled():
    """The rarest of too many nominal levels share one code, and a level that training did not have shares it."""
    words = [f"w{i:03}" for i in range(300)]
    cells = words * 10 + words[100:] * 2
    frame = pd.DataFrame({"word": cells})
    y = np.arange(len(cells)) % 2
    with pytest.warns(UserWarning, match=r"Column 'word' has 300 levels; the 47 rarest are treated as one"):
        (feature,), _ = make_features(read_columns(frame), y, 2, group_levels=False)
    assert feature.n_codes == 254
    assert feature.describe((253,)) == "word = (other)"
    codes = feature.encode(read_columns(pd.DataFrame({"word": ["w299", "w099", "w060", "new"]}))[0])
    assert codes.tolist() == [252, 253, 253, 253]
    assert pickle.loads(pickle.dumps(feature)).levels == feature.levels


def test_values_of_few_rows_are_not_told_apart():
    """Of a column with very many values, those in fewer than ten rows are one, whatever the scale of the weights."""
    frame = pd.DataFrame({"word": [f"w{i:03}" for i in range(100) for _ in range(12 if i < 30 else 3)]})
    y = np.arange(len(frame)) % 2
    for weight in (None, np.full(len(frame), 1e-6), np.full(len(frame), 1e6)):
        with pytest.warns(UserWarning, match="the 70 rarest are treated as one"):
            (feature,), _ = make_features(read_columns(frame), y, 2, weight)
        assert feature.levels[:30] == tuple(f"w{i:03}" for i in range(30))
        assert feature.levels[30].rest
    rare = pd.DataFrame({"word": [f"w{i:03}" for i in range(100) for _ in range(3)]})
    features, dropped = make_features(read_columns(rare), np.arange(300) % 2, 2)
    assert (features, dropped) == ((), [("word", "none of its 100 values is in 10 rows")])


def test_too_many_ordered_levels_are_refused():
    """An ordinal column with more levels than codes is refused by name."""
    with pytest.raises(ValueError, match="Column 'x0' has 300 ordered levels"):
        make_features(read_columns(np.arange(300.0)[:, None], {0: "ordinal"}), np.zeros(300, dtype=int), 2)


@pytest.mark.parametrize(("option", "value"), [("n_bins", 1), ("n_bins", 254), ("binning", "fancy")])
def test_bad_options_are_refused(option, value):
    """An impossible number of bins or an unknown strategy is refused by name."""
    with pytest.raises(ValueError, match=option):
        make_features(read_columns([[1.0], [2.0]]), np.array([0, 1]), 2, **{option: value})


def test_binary_target_order():
    """With two classes nominal codes, missing included, are ordered by the rate of class 1, ties by code."""
    frame = pd.DataFrame({"w": ["a", "a", "b", "b", "c", "c", None, None]})
    (feature,), _ = make_features(read_columns(frame), np.array([1, 1, 0, 1, 0, 1, 0, 0]), 2)
    assert feature.target_order == (3, 1, 2, 0)


@pytest.mark.parametrize("main", [0, 1, 2])
def test_multiclass_target_order_follows_the_main_axis(main):
    """With several classes codes go up with the class in whose share they differ most."""
    rows = []
    for level, share in {"a": 6, "b": 0, "c": 10, "d": 2}.items():
        rest = (10 - share) // 2
        rows += [(level, k) for k in range(3) for _ in range(share if k == main else rest)]
    frame = pd.DataFrame({"w": [level for level, _ in rows]})
    (feature,), _ = make_features(read_columns(frame), np.array([k for _, k in rows]), 3)
    assert feature.target_order == (1, 3, 0, 2)


def test_an_order_found_on_demand_is_a_value_like_any_other():
    """It is found once, and copies and pickles hold it, not the way to it."""
    calls = []

    def order():
        calls.append(1)
        return (1, 0)

    feature = Feature("w", 0, "nominal", 2, False, levels=("a", "b"), target_order=order)
    assert not calls
    copies = [pickle.loads(pickle.dumps(feature)), copy.copy(feature), dataclasses.replace(feature, column=3), feature]
    assert [each.target_order for each in copies] == [(1, 0)] * 4
    assert [vars(each)["target_order"] for each in copies] == [(1, 0)] * 4
    assert len(calls) == 1
    assert Feature("w", 0, "ordinal", 2, False, levels=("a", "b")).target_order is None


@pytest.mark.parametrize("trained", [["b", "a", "c"], ["b", None, "a"], ["b", "a", "b"]])
@pytest.mark.parametrize("cells", [["a", "b", "c", "b"], ["b", None, "a", None], ["a", "b"], [None, "d"]])
def test_codes_of_levels_do_not_depend_on_how_the_column_lists_them(trained, cells):
    """A column with the levels of training is coded like one that has them in another order, or more of them."""
    (feature,), _ = make_features(read_columns(pd.DataFrame({"w": trained})), np.array([0, 1, 1]), 2)
    column = read_columns(pd.DataFrame({"w": cells}))[0]
    known = {level: code for code, level in enumerate(feature.levels)}
    missing = feature.n_values if feature.has_missing else UNKNOWN
    expected = [missing if cell is None else known.get(cell, UNKNOWN) for cell in cells]
    assert feature.encode(column).tolist() == expected
    turned = tuple(reversed(column.levels))
    values = np.where(column.values < 0, -1, len(turned) - 1 - column.values).astype(np.int32)
    assert feature.encode(dataclasses.replace(column, values=values, levels=turned)).tolist() == expected


def test_thresholds_can_be_changed_afterwards():
    """The same columns give a finer table when a feature's thresholds are replaced."""
    X = np.random.default_rng(0).normal(size=(100, 1))
    y = (X[:, 0] > 0.3).astype(int)
    columns = read_columns(X)
    (coarse,), _ = make_features(columns, y, 2, n_bins=2)
    cuts = exact_thresholds(columns[0].values, None)
    fine = dataclasses.replace(coarse, thresholds=cuts, n_values=len(cuts) + 1)
    assert make_table(columns, (coarse,), y, 2).n_rows == 2
    assert make_table(columns, (fine,), y, 2).n_rows == 100


def test_very_many_levels_become_groups_along_the_target() -> None:
    """Levels beyond a number are grouped with their neighbours along the target, and unknown ones stay unknown."""
    rng = np.random.default_rng(0)
    names = np.array([f"airport {i:03d}" for i in range(200)])
    column = rng.integers(0, 200, size=4000)
    target = column / 10 + rng.normal(size=4000)
    frame = pd.DataFrame({"origin": names[column]})
    with pytest.warns(UserWarning, match="'origin' has 200 levels; they are cut into 32 groups with similar targets"):
        (feature,), _ = make_features(read_columns(frame), target, 0)
    assert feature.n_values == 32
    codes = feature.encode(read_columns(frame)[0])
    assert np.unique(codes).size == 32
    # Every level is in one group, and the groups are runs of levels along the mean target.
    mean = pd.Series(target).groupby(column).mean()
    of_level = pd.Series(codes).groupby(column).agg(["min", "max"])
    assert (of_level["min"] == of_level["max"]).all()
    along = of_level["min"][mean.sort_values().index].to_numpy()
    assert (np.diff(along) != 0).sum() == 31
    assert "airport" in feature.describe((3,))
    assert feature.encode(read_columns(pd.DataFrame({"origin": ["elsewhere"]}))[0]).tolist() == [255]
    kept, _ = make_features(read_columns(frame), target, 0, group_levels=False)
    assert kept[0].n_values == 200


def test_supervised_cuts_of_many_rows_go_by_some_of_them_once_the_time_is_up() -> None:
    """No column is left uncut, not even one with a single odd row; without a limit all rows count."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=20_000)
    rare = np.zeros(len(x))
    rare[7] = 1.0
    columns = read_columns(np.column_stack([x, rare]))
    y = (x > 0.25).astype(int)
    y[7] = 1
    (late, odd), dropped = make_features(columns, y, 2, binning="supervised", deadline=Deadline(0.0))
    assert not dropped
    assert odd.thresholds.tolist() == [1.0]
    # 500 rows of 20,000 leave less than a hundredth between their values here.
    assert min(abs(late.thresholds - 0.25)) < 0.05
    (early, _), _ = make_features(columns, y, 2, binning="supervised", deadline=Deadline(None))
    assert min(abs(early.thresholds - 0.25)) < 0.001
