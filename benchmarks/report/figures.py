"""What the results say, as numbers: means, ranks, rows won, solved over time, slopes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

ROW = ["data", "depth"]


def frame(rows: Iterable[dict[str, Any]], protocol: str, status: str | None = "ok") -> pd.DataFrame:
    """The rows of a protocol; of several versions of a method the last one run."""
    chosen = [row for row in rows if row["protocol"] == protocol]
    latest = {row["method"]: row["version"] for row in chosen if row["version"] != "absent"}
    chosen = [row for row in chosen if row["version"] == latest.get(row["method"], "absent")]
    table = pd.DataFrame([row for row in chosen if status is None or row["status"] == status])
    columns = [*ROW, "method", "split", "test", "validation", "train", "seconds", "proven", "errors", "lp_gap"]
    return table.reindex(columns=[*columns, *(name for name in table if name not in columns)])


def with_better(table: pd.DataFrame) -> pd.DataFrame:
    """As before, with a method `best`: tree or rules, whichever did better on the validation rows of the split.

    Of two that are equal there, as they often are on small sets, the tree: every tree is a set of rules, so that rules
    fit the rows of training better whether there is anything in it or not.
    """
    ours = table[table["method"].isin(["tree", "rules"])]
    both = ours.groupby([*ROW, "split"]).filter(lambda group: len(group) == 2)
    if both.empty:
        return table
    ordered = both.sort_values(["validation", "method"], ascending=False)  # "tree" comes before "rules" then
    chosen = ordered.groupby([*ROW, "split"], sort=False).head(1)
    return pd.concat([table, chosen.assign(method="best")], ignore_index=True)


def means(table: pd.DataFrame, value: str = "test") -> pd.DataFrame:
    """Mean over splits: a row for each data set and depth, a column for each method."""
    return table.astype({value: float}).groupby([*ROW, "method"])[value].mean().unstack("method")


def deviations(table: pd.DataFrame, value: str = "test") -> pd.DataFrame:
    """Standard deviation over splits, with n - 1 as in the paper."""
    return table.groupby([*ROW, "method"])[value].std(ddof=1).unstack("method")


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """How many splits each method has on each data set and depth."""
    return table.groupby([*ROW, "method"])["split"].nunique().unstack("method").fillna(0)


def splits(table: pd.DataFrame) -> pd.Series:
    """The most splits that a method has."""
    return table.groupby(["method", *ROW])["split"].nunique().groupby("method").max()


def ranks(accuracy: pd.DataFrame, methods: list[str]) -> pd.Series:
    """Average rank among these methods, over the rows that all of them have; 1 is best, equals share."""
    return accuracy[methods].dropna().round(6).rank(axis=1, ascending=False).mean()


def against(ours: pd.Series, theirs: pd.Series) -> pd.DataFrame:
    """Rows that both have, and the difference at the three digits that the paper prints."""
    both = pd.concat([ours.rename("ours"), theirs.rename("theirs")], axis=1).dropna()
    return both.assign(difference=both["ours"].round(3) - both["theirs"].round(3))


def standard_error(ours: pd.Series, theirs: pd.Series, n_splits: int = 5) -> pd.Series:
    """Of the difference of two means over so many splits, from the deviations over the splits."""
    both = pd.concat([ours.rename("ours"), theirs.rename("theirs")], axis=1)
    return np.sqrt((both["ours"] ** 2 + both["theirs"] ** 2) / n_splits)


def lp_gaps(table: pd.DataFrame) -> pd.DataFrame:
    """By method and depth: mean and median of (IP - LP) / IP in per cent, instances with an LP value, and all of them.

    A model without errors has no gap: its relaxation has none either.
    """
    ours = table[table["method"].isin(["rules", "paper", "paper-ksp"])]
    gap = 100 * ours["lp_gap"].astype(float).where(ours["errors"] != 0, 0.0)
    groups = ours.assign(gap=gap).groupby(["method", "depth"])["gap"]
    return groups.agg(["mean", "std", "median", "count", "size"])


def ceilings(rows: Iterable[dict[str, Any]]) -> pd.Series:
    """By data set and depth: the share of all rows that no model of that size exceeds, by the bound of a fit."""
    table = frame(rows, "ceiling")
    if table.empty:
        return pd.Series(dtype=float)
    return 1 - table.set_index(ROW)["bound"].astype(float) / table.set_index(ROW)["n"]


def won(table: pd.DataFrame) -> pd.Series:
    """Share of the rows in which a column has the highest value, equals included, at three digits."""
    rounded = table.dropna().round(3)
    return rounded.eq(rounded.max(axis=1), axis=0).mean()


def solved_over_time(table: pd.DataFrame, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of the proven instances, sorted, and how many were proven by then."""
    seconds = np.sort(table[(table["method"] == method) & table["proven"].fillna(False).astype(bool)]["seconds"])
    return seconds, np.arange(1, len(seconds) + 1)


def slope(x: Iterable[float], y: Iterable[float]) -> float:
    """Of log y against log x: 1 is proportional growth."""
    return float(np.polyfit(np.log(list(x)), np.log(list(y)), 1)[0])


def geometric_mean(values: Iterable[float]) -> float:
    """Of ratios."""
    return float(np.exp(np.mean(np.log(list(values)))))
