"""Models as JSON text and in files, and back."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from omtree.export.document import from_document, to_document
from omtree.export.model_file import model_text, read_model, write_text

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase


def to_json(model: OptimalTreeBase, *, sizes: bool = True) -> str:
    """The model as JSON text, one line for each of its parts."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(part, ensure_ascii=False, allow_nan=False)}"
        for name, part in to_document(model, sizes=sizes).items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}"


def from_json(text: str, source: str = "The text") -> OptimalTreeBase:
    """The model behind JSON text.

    Parameters
    ----------
    text : str
    source : str
        What to call the text in an error.

    Raises
    ------
    ValueError
        When the text is no model of this package, is damaged, or comes from a newer version.
    """
    return read_model(text, source, from_document)


def save(model: OptimalTreeBase, path: str | os.PathLike[str], *, sizes: bool = True) -> None:
    """Write the model to a file, which is replaced in one step."""
    write_text(path, to_json(model, sizes=sizes) + "\n")


def load(path: str | os.PathLike[str]) -> OptimalTreeBase:
    """Read a model that `save` wrote.

    Nothing in the file is run, so a file from a stranger is safe to load.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    OptimalTreeClassifier or OptimalTreeRegressor

    Raises
    ------
    ValueError
        When the file is no model of this package, is damaged, or comes from a newer version.

    Examples
    --------
    >>> import tempfile, os
    >>> from sklearn.datasets import load_iris
    >>> from omtree import OptimalTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = OptimalTreeClassifier(max_depth=1).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.json"))
    ...     again = load(os.path.join(folder, "model.json"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    return from_json(model_text(path), os.fspath(path))
