"""Makes the stored models and golden files of the papers anew: python tests/papers/make_golden.py."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pandas as pd

from helpers.credit_tables import write_credit
from omtree import __version__, load
from omtree.cli import main
from omtree.papers.card import make_card
from omtree.papers.card_pages import to_markdown
from papers.test_card import GOLDEN, evidence, fitted

CLI = Path(__file__).parents[1] / "cli" / "golden"


def shown(*arguments: str) -> str:
    """What a command prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        main(list(arguments))
    return out.getvalue()


if __name__ == "__main__":
    fitted().save(GOLDEN / "patients.json")
    card = make_card(load(GOLDEN / "patients.json"), evidence(), purpose="Whom to see first.")
    (GOLDEN / "card.txt").write_text(to_markdown(card).replace(__version__, "VERSION"), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        data, model = write_credit(Path(folder) / "data.csv"), str(CLI / "credit.json")
        shown("fit", data, "--target", "outcome", "--depth", "2", "--out", model, "--quiet")
        codes = str(Path(folder) / "codes.toml")
        shown("reasons", model, "-o", codes)
        given = str(Path(folder) / "reasons.csv")
        shown("reasons", model, data, "--codes", codes, "-n", "3", "-o", given)
        kept = "\n".join(Path(file).read_text(encoding="utf-8") for file in (codes, given))
        (CLI / "reasons.txt").write_text(kept, encoding="utf-8")
        frame = pd.read_csv(data, dtype={"zip code": str})
        frame["income"] = frame["income"] / 4
        shifted = str(Path(folder) / "shifted.csv")
        frame.to_csv(shifted, index=False)
        texts = [
            shown("monitor", model, data),
            shown("monitor", model, shifted, "--out", str(Path(folder) / "now.json")).replace(folder, "FOLDER"),
        ]
        (CLI / "monitor.txt").write_text("\n".join(texts), encoding="utf-8")
