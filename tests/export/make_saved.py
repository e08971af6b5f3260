"""Writes the file of the current version that later versions must still load; run it once per version of the format."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from export.test_saving import mixed_data
from omtree import OptimalTreeClassifier
from omtree.export.document import VERSION


def main() -> None:
    """Fit, save, and note the predictions for some rows."""
    X, y = mixed_data()
    rng = np.random.default_rng(0)
    # Texts that are numbers with decimal commas, and dates of which the weekday matters.
    X["price"] = [f"{number:.1f}".replace(".", ",") for number in rng.normal(3.0 * (y == y[0]), 2.0)]
    days = rng.integers(0, 700, len(X)) // 7 * 7 + np.where(y == y[0], 5, rng.integers(0, 7, len(X)))
    X["visit"] = [str(day) for day in np.datetime64("2024-01-01") + days]
    model = OptimalTreeClassifier(max_depth=2, feature_kinds={"grade": "ordinal"}).fit(X, y)
    rows = X.head(60).astype(object)
    rows.loc[0, "colour"] = "never seen"
    rows.loc[1, "colour"] = None
    rows.loc[2, "age"] = np.nan
    rows.loc[3, "price"] = "n/a"
    rows.loc[4, "visit"] = "?"
    folder = Path(__file__).parent / "saved"
    folder.mkdir(exist_ok=True)
    model.save(folder / f"version-{VERSION}.json")
    cells = {name: [None if cell != cell else cell for cell in rows[name]] for name in rows}
    rows["age"] = rows["age"].astype(float)
    rows["grade"] = rows["grade"].astype(float)
    noted = {
        "rows": cells,
        "numbers": ["age", "grade"],
        "predictions": model.predict(rows).tolist(),
        "sizes": len(model.loss_by_leaves_),
    }
    text = json.dumps(noted, ensure_ascii=False)
    (folder / f"version-{VERSION}.expected").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
