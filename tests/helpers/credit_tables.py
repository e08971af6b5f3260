"""Small tables for the command line."""

from __future__ import annotations

import random
from pathlib import Path

HEADER = "age,income,home,zip code,outcome"


def credit_lines(n_rows: int = 120, seed: int = 0) -> list[str]:
    """A header and rows: a number with gaps, a number, text, codes with leading zeros, and a target."""
    rng = random.Random(seed)
    lines = [HEADER]
    for _ in range(n_rows):
        age = "" if rng.random() < 0.1 else str(rng.randint(18, 80))
        income = f"{rng.uniform(500, 6000):.2f}"
        home = rng.choice(["own", "rent", "family, of a kind"])
        code = rng.choice(["01067", "10115", "80331"])
        good = float(income) > 3000 or (home == "own" and code != "01067")
        cell = f'"{home}"' if "," in home else home
        lines.append(f"{age},{income},{cell},{code},{'paid' if good else 'lost'}")
    return lines


def write_credit(path: Path, n_rows: int = 120, seed: int = 0) -> str:
    """The table in a CSV file."""
    path.write_text("\n".join(credit_lines(n_rows, seed)) + "\n", encoding="utf-8")
    return str(path)
