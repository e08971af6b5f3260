"""The first five minutes, with nothing but the package itself: fit, read, save, load, predict."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

import omtree

X, y = load_wine(return_X_y=True)
model = omtree.OptimalTreeClassifier(max_depth=2, time_limit=10).fit(X, y)
print(model.to_text())
print(model.certificate_)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.json"
    model.save(path)
    again = omtree.load(path)
assert np.array_equal(model.predict(X), again.predict(X))
print(f"{np.mean(model.predict(X) == y):.1%} of the training rows are answered as they are")
