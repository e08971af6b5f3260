"""The page says what the rows say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks.protocols import PROTOCOLS
from benchmarks.report import figures, paper, sections
from benchmarks.report.page import write
from benchmarks.sets import LARGE, SMALL


def made_up(protocol: str) -> list[dict[str, Any]]:
    """Every task of a protocol with figures that follow from the task."""
    rows = []
    for number, task in enumerate(PROTOCOLS[protocol]()):
        better = {"tree": 0.02, "rules": 0.03, "cart": 0.0, "streed": 0.01}.get(task.method, 0.005)
        row = {
            **task.to_dict(),
            "version": "1",
            "status": "ok",
            "date": "2026-01-01",
            "machine": "a machine",
            "test": 0.9 + better,
            "validation": 0.9 + (0.01 if task.method == "rules" and task.split else 0.0),
            "seconds": 0.1 * task.depth + 0.001 * number,
            "proven": task.method not in ("cart", "chaid"),
            "errors": 10 * task.depth,
            "bound": 10.0 * task.depth,
            "lp_gap": {"rules": 0.01, "paper": 0.02}.get(task.method),
            "peak_mb": 100.0,
            "wall": 2.0,
            "n": 100,
        }
        if "?" in task.data:
            size = dict(part.split("=") for part in task.data.partition("?")[2].split("&"))
            row |= {name: int(value) for name, value in size.items()}
            row["seconds"] = row["rows"] * 1e-5 * task.depth**2
        rows.append(row)
    return rows


def test_the_paper_has_all_its_figures() -> None:
    """48 small rows, 12 large, 8 huge; the names are those of our sets, and a spot check holds."""
    small, large = paper.accuracy("small"), paper.accuracy("large")
    assert len(small) == 48
    assert len(large) == 12
    assert len(paper.accuracy("huge")) == 8
    assert set(small.index.get_level_values("data")) == set(SMALL)
    assert set(large.index.get_level_values("data")) == set(LARGE)
    assert small.loc[("car-evaluation", 5), "OMT"] == 0.91
    assert small.notna().all().all()
    assert paper.solved(60) == {"OMT": 188, "FlowOCT": 137, "BinOCT": 95, "OCT": 59}


def test_the_better_of_the_two_is_chosen_on_validation() -> None:
    """Per split by validation accuracy, of equals the tree; neither training nor test rows play a part."""
    known = ["split", "method", "validation", "train", "test"]
    rows = [
        {"data": "a", "depth": 2, **dict(zip(known, row, strict=True))}
        for row in (
            (0, "tree", 0.8, 0.5, 0.5),
            (0, "rules", 0.7, 0.9, 0.9),
            (1, "tree", 0.7, 0.9, 0.6),
            (1, "rules", 0.8, 0.5, 0.7),
            (2, "tree", 0.7, 0.8, 0.1),
            (2, "rules", 0.7, 0.8, 0.9),
            (3, "tree", 0.7, 0.8, 0.1),
            (4, "tree", 0.7, 0.8, 0.9),
            (4, "rules", 0.7, 0.9, 0.2),
        )
    ]
    best = figures.with_better(pd.DataFrame(rows)).query("method == 'best'").set_index("split")["test"]
    assert best.to_dict() == {0: 0.5, 1: 0.7, 2: 0.1, 4: 0.9}


def test_ranks_and_rows_won() -> None:
    """Equals share their rank, and both have won the row."""
    table = pd.DataFrame({"a": [0.9, 0.8, 0.7], "b": [0.9, 0.7, 0.9], "c": [0.1, 0.1, 0.1]})
    assert figures.ranks(table, ["a", "b", "c"]).to_dict() == pytest.approx({"a": 4.5 / 3, "b": 4.5 / 3, "c": 3.0})
    assert figures.won(table).to_dict() == pytest.approx({"a": 2 / 3, "b": 2 / 3, "c": 0.0})


def test_slope_and_mean() -> None:
    """Quadratic growth has slope 2; the geometric mean of 2 and 8 is 4."""
    assert figures.slope([1, 10, 100], [3, 300, 30000]) == pytest.approx(2)
    assert figures.geometric_mean([2, 8]) == pytest.approx(4)


def test_solved_over_time_counts_proofs_only() -> None:
    """An instance without a proof does not count as solved."""
    table = pd.DataFrame({"method": ["m"] * 3, "proven": [True, False, True], "seconds": [5.0, 1.0, 2.0]})
    seconds, count = figures.solved_over_time(table, "m")
    assert seconds.tolist() == [2.0, 5.0]
    assert count.tolist() == [1, 2]


def test_only_the_last_version_of_a_method_counts() -> None:
    """Rows of an older version stay in the file and leave the page."""
    rows = [
        {
            "protocol": "p",
            "method": "tree",
            "version": v,
            "status": "ok",
            "data": "a",
            "depth": 2,
            "split": 0,
            "test": t,
        }
        for v, t in (("1", 0.1), ("2", 0.2))
    ]
    assert figures.frame(rows, "p")["test"].tolist() == [0.2]


def test_one_thing_grows_at_a_time() -> None:
    """Each curve of growth has the values of its protocol, and rows grow linearly here."""
    curves = sections.growth_curves(figures.frame(made_up("growth"), "growth"))
    assert list(curves) == ["rows", "columns", "depth", "bins", "leaves"]
    assert len(curves["rows"]) == 7
    assert figures.slope(curves["rows"].index, curves["rows"]["seconds"]) == pytest.approx(1)
    assert figures.slope(curves["depth"].index, curves["depth"]["seconds"]) == pytest.approx(2)


def test_the_page_has_every_section(tmp_path: Path) -> None:
    """From full results come all sections, their pictures, and what was kept of earlier tables."""
    rows = [row for protocol in PROTOCOLS for row in made_up(protocol)]
    rows.append({**rows[0], "method": "gosdt", "status": "timeout", "reason": "killed after 60 s"})
    page = tmp_path / "page.md"
    write(rows, page)
    text = page.read_text()
    for title in ("small sets", "large sets", "Huge", "Today", "Growth", "Not run", "Rules: column", "Trees: exact"):
        assert f"{title}" in text
    pictures = sorted(path.name for path in (tmp_path / "page").glob("*.svg"))
    assert pictures == ["growth.svg", "small-accuracy.svg", "small-solved.svg", "today-seconds.svg"]
    assert "of 48** rows" in text
    assert "| GOSDT | timeout |" in text


def test_a_page_can_be_written_at_any_time(tmp_path: Path) -> None:
    """Half-done results, or none, give a page as well."""
    page = tmp_path / "page.md"
    write([], page)
    assert "No results yet" in page.read_text()
    for protocol in PROTOCOLS:
        rows = made_up(protocol)
        for some in (rows[:3], [row for row in rows if row["method"] == "cart"][:3] or rows[:1]):
            write(some, page)
            assert "a machine" in page.read_text()


def test_pictures_are_the_same_every_time(tmp_path: Path) -> None:
    """Writing the page again changes nothing, so that a commit shows what is new."""
    rows = made_up("growth")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write(rows, tmp_path / name / "page.md", tmp_path)
    one, two = ((tmp_path / name / "page" / "growth.svg").read_bytes() for name in ("one", "two"))
    assert one == two


def test_what_is_below_by_more_than_chance_is_named() -> None:
    """A row is named when its mean lies further below the paper's than two standard errors of the difference."""
    error = figures.standard_error(pd.Series([0.03, 0.0]), pd.Series([0.04, 0.05]))
    assert error.tolist() == pytest.approx([0.05 / 5**0.5, 0.05 / 5**0.5])
    rows = [row | {"test": 0.95 if row["depth"] == 5 else 0.999} for row in made_up("paper-small")]
    verdict = sections._verdict(figures.with_better(figures.frame(rows, "paper-small")), "small")
    named = verdict.split("differ): ")[1].split(".\n")[0].split(", ")
    # The paper has 0.987 +- 0.008, 1.0 +- 0.0 and 0.955 +- 0.026 there.
    assert {"monks-3 d=5", "monks-1 d=5"} <= set(named)
    assert "house-votes-84_complete d=5" not in named


def test_figures_above_what_is_possible_are_named() -> None:
    """Where the paper's accuracy on test rows is above the proven bound of a fit to all rows, and only there."""
    rows = [row | {"bound": 4.0 if row["depth"] == 2 else 0.0, "n": 100} for row in made_up("ceiling")]
    told = sections._unreachable(rows)
    # The paper has 0.967 and 0.751 there; no model is right on more than 0.96 of these rows.
    assert "monks-3 d=2 (0.967 > 0.960)" in told
    assert "monks-1 d=2" not in told
    assert "d=3" not in told
    assert sections._unreachable([]) == ""


def test_gaps_of_every_instance() -> None:
    """The table of gaps counts all instances of the paper's method; a model without errors has a gap of nothing."""
    rows = made_up("paper-small")
    for row in rows:
        if row["method"] == "paper" and row["depth"] == 2:
            row["errors"], row["lp_gap"] = 0, None
    gaps = figures.lp_gaps(figures.frame(rows, "paper-small"))
    assert (gaps.loc["paper", "count"] == 60).all()
    assert gaps.loc["paper", "mean"].round(6).tolist() == [0.0, 2.0, 2.0, 2.0]
    assert gaps.loc["rules", "mean"].round(6).tolist() == [1.0, 1.0, 1.0, 1.0]


def test_twenty_splits(tmp_path: Path) -> None:
    """Mean, standard error and number of splits stand in every cell."""
    rows = [row for row in made_up("twenty") if row["data"] == "monks-1" and row["depth"] == 2]
    for row in rows:
        row["test"] = 0.8 + 0.01 * (row["split"] % 2)
    text = sections.twenty(rows, tmp_path)
    assert text.count("0.805 ± 0.001 (20)") == 4
    assert sections.twenty([], tmp_path) == ""
