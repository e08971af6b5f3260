"""Pictures, as small SVG files that come out the same every time."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

from benchmarks.report.figures import means, solved_over_time
from benchmarks.rivals import TITLES

mpl.use("svg")
mpl.rcParams.update(
    {
        "svg.hashsalt": "omtree",
        "svg.fonttype": "none",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)

from matplotlib import pyplot as plt  # noqa: E402  (after the choice of what draws)


def _save(figure: plt.Figure, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def scatter(both: pd.DataFrame, path: Path, ours: str, theirs: str) -> None:
    """Accuracy against accuracy, a colour for each depth."""
    figure, axes = plt.subplots(figsize=(4.2, 4.0))
    for depth, part in both.groupby(level="depth"):
        axes.scatter(part["theirs"], part["ours"], s=16, label=f"depth {depth}")
    low = float(both[["ours", "theirs"]].min().min()) - 0.02
    axes.plot([low, 1], [low, 1], color="0.6", linewidth=0.8)
    axes.set_xlabel(theirs)
    axes.set_ylabel(ours)
    axes.legend(frameon=False)
    _save(figure, path)


def cactus(table: pd.DataFrame, path: Path, marks: dict[str, tuple[float, int]]) -> None:
    """Instances proven over time; single figures of the paper as marks."""
    figure, axes = plt.subplots(figsize=(6.2, 3.8))
    for method in [name for name in TITLES if name in set(table["method"]) and name not in ("cart", "chaid", "best")]:
        seconds, count = solved_over_time(table, method)
        total = int((table["method"] == method).sum())
        if len(seconds):
            axes.step(seconds, count, where="post", label=f"{TITLES[method]} ({count[-1]} of {total})")
    for name, (seconds_, count_) in marks.items():
        axes.plot(seconds_, count_, "x", color="0.4")
        axes.annotate(name, (seconds_, count_), fontsize=7, xytext=(4, -3), textcoords="offset points")
    axes.set_xscale("log")
    axes.set_xlabel("seconds")
    axes.set_ylabel("instances proven")
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    _save(figure, path)


def ratios(table: pd.DataFrame, path: Path) -> None:
    """Seconds of each rival in units of ours, a dot for each data set and depth."""
    seconds = means(table, "seconds")
    rivals = [name for name in TITLES if name in seconds and name not in ("tree", "best")]
    figure, axes = plt.subplots(figsize=(5.4, 0.5 + 0.4 * len(rivals)))
    for height, name in enumerate(rivals):
        ratio = (seconds[name] / seconds["tree"]).dropna()
        axes.scatter(ratio, np.full(len(ratio), height), s=9, alpha=0.5)
        axes.plot(float(np.exp(np.log(ratio).mean())), height, "|", color="black", markersize=14)
    axes.axvline(1.0, color="0.6", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rivals)), [TITLES[name] for name in rivals])
    axes.set_xlabel("seconds / seconds of omtree's tree (bars: geometric mean)")
    _save(figure, path)


def growth(curves: dict[str, pd.DataFrame], path: Path) -> None:
    """Seconds and memory against one thing at a time."""
    figure, grid = plt.subplots(1, len(curves), figsize=(2.2 * len(curves), 2.6), squeeze=False)
    for axes, (name, curve) in zip(grid[0], curves.items(), strict=True):
        axes.plot(curve.index, curve["seconds"], "o-", markersize=3)
        axes.set_xscale("log")
        axes.set_yscale("log")
        if name != "rows":  # too few powers of ten to go by
            axes.set_xticks(list(curve.index), [str(value) for value in curve.index])
            axes.minorticks_off()
        axes.set_xlabel(name)
        axes.set_ylabel("seconds")
        above = axes.twinx()
        above.plot(curve.index, curve["peak_mb"], "s--", color="0.6", markersize=2, linewidth=0.8)
        above.set_yscale("log")
        above.set_ylabel("MB (grey)", fontsize=7)
    _save(figure, path)
