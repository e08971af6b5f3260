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
    model = OptimalTreeClassifier(max_depth=2, feature_kinds={"grade": "ordinal"}).fit(X, y)
    rows = X.head(60).astype(object)
    rows.loc[0, "colour"] = "never seen"
    rows.loc[1, "colour"] = None
    rows.loc[2, "age"] = np.nan
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
