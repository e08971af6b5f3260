"""The page: sections for which there are results, then what the scripts of each engine printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import versions
from benchmarks.report import sections
from benchmarks.runner import ROOT

#: Tables of the scripts beside the package, kept as they were printed.
FRAGMENTS = (
    "engines",
    "rules",
    "trees",
    "cuts",
    "leaf_price",
    "anytime",
    "alternatives",
    "accuracy",
    "objectives",
    "constraints",
    "disk",
)
SECTIONS: tuple[Callable[[list[dict[str, Any]], Path], str], ...] = (
    sections.small,
    sections.twenty,
    sections.large,
    sections.huge,
    sections.today,
    sections.growth,
    sections.sample,
    sections.failures,
)


def write(rows: list[dict[str, Any]], to: Path, fragments: Path = ROOT / "docs" / "benchmarks") -> None:
    """Write the page and its pictures; those lie in a folder of the page's name."""
    pictures = to.with_suffix("")
    pictures.mkdir(parents=True, exist_ok=True)
    parts = [head(rows), *(section(rows, pictures) for section in SECTIONS)]
    parts += [(fragments / f"{name}.md").read_text() for name in FRAGMENTS if (fragments / f"{name}.md").exists()]
    to.write_text("\n\n".join(part.strip() for part in parts if part.strip()) + "\n")


def head(rows: list[dict[str, Any]]) -> str:
    """What, where, when."""
    text = "# Benchmarks\n\nWritten by `python -m benchmarks report` from `benchmarks/results.jsonl`;\n"
    text += "`benchmarks/README.md` says what is run and how.\n\n"
    if not rows:
        return text + "No results yet.\n"
    days = sorted({row["date"] for row in rows})
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    text += f"- Run: {span}, {len(rows):,} runs, each in a process of its own on one thread.\n"
    text += f"- Machine: {'; '.join(sorted({row['machine'] for row in rows}))}.\n"
    used = {row["method"]: row["version"] for row in rows if row["version"] != "absent"}
    text += f"- Methods: {', '.join(f'{name} {version}' for name, version in sorted(used.items()))}.\n"
    text += f"- Packages when this page was written: {', '.join(f'{name} {v}' for name, v in versions().items())}.\n"
    text += (
        "- The runs of rules were made before a fault in their proof was mended (see the changelog), and those of trees"
        " before the\n  searches were put together anew: they stand until they are made again.\n"
    )
    return text
