"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of texts."""
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    lines += ["| " + " | ".join("" if cell is None else str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def share(value: float | None, std: float | None = None, bold: bool = False) -> str:
    """An accuracy as .873, perhaps with its deviation."""
    if value is None or pd.isna(value):
        return ""
    text = f"{value:.3f}".removeprefix("0")
    if std is not None and not pd.isna(std):
        text += f" ± {std:.3f}".replace("0.", ".")
    return f"**{text}**" if bold else text


def seconds(value: float | None) -> str:
    """Two or three digits are enough."""
    return "" if value is None or pd.isna(value) else f"{value:.3g}" if value < 100 else f"{value:.0f}"
