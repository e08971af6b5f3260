"""Tables for tests of Dask frames, and what it means that two models are one."""

import numpy as np
import pandas as pd


def random_frame(seed, n_rows=900):
    """Columns of every type, with missing cells, labels of three classes and weights of which some are zero."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "many": rng.normal(size=n_rows),
            "few": rng.integers(0, 5, n_rows),
            "text": rng.choice(["red", "blue", "green", None], n_rows),
            "flag": rng.choice([True, False], n_rows),
            "holes": np.where(rng.random(n_rows) < 0.1, np.nan, rng.exponential(size=n_rows)),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n_rows), ["S", "M", "L"], ordered=True),
            "constant": 1.0,
        }
    )
    high = (frame["many"] > 0.3) & (frame["text"] == "red") | (frame["holes"] > 1)
    label = pd.Series(np.where(high, "high", np.where(frame["few"] > 3, "middle", "low")), name="label")
    label = label.where(rng.random(n_rows) > 0.1, "low")
    return frame, label, pd.Series(rng.integers(0, 4, n_rows), name="weight")


def random_targets(frame, seed):
    """Numbers that depend on most columns."""
    noise = np.random.default_rng(seed).exponential(size=len(frame))
    return pd.Series(3 * np.exp(frame["many"]) + 2 * (frame["text"] == "red") + frame["few"] + noise, name="y")


def on_dask(*parts, npartitions=5):
    """The same rows as Dask frames with the same partitions."""
    import dask.dataframe as dd

    whole = dd.from_pandas(pd.concat(parts, axis=1), npartitions=npartitions)
    return tuple(whole[list(each.columns) if each.ndim == 2 else each.name] for each in parts)


def same_model(found, expected):
    """Whether two models are one, to the last digit."""
    assert found.certificate_.value == expected.certificate_.value
    assert found.certificate_.bound == expected.certificate_.bound
    assert found.certificate_.status == expected.certificate_.status == "optimal"
    assert found.certificate_.search_space == expected.certificate_.search_space
    assert found.certificate_.weight == expected.certificate_.weight
    assert [rule.conditions for rule in found.rules_] == [rule.conditions for rule in expected.rules_]
    assert [rule.class_weights for rule in found.rules_] == [rule.class_weights for rule in expected.rules_]
    assert str(found.tree_) == str(expected.tree_)
