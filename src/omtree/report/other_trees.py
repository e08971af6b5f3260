"""The other good trees in the report: how many there are, what they test, where they disagree, and how they look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from omtree.data.wording import number
from omtree.report.gallery import gallery
from omtree.report.words import percent

if TYPE_CHECKING:
    from omtree.estimators.alternatives import Alternatives

#: Seconds that are looked for them, and most columns in the table.
_SECONDS, _MOST_COLUMNS = 30.0, 40


def other_trees(model: Any, n: int, X: Any = None) -> dict[str, Any] | None:
    """What the report says of them; None where none are wanted.

    Parameters
    ----------
    model : fitted model
        With its training rows, which a model that was saved does not have.
    n : int
        How many.
    X : array or data frame, optional
        The training rows.
    """
    if not n:
        return None
    trees = model.alternatives(n, time_limit=_SECONDS)
    told = what_they_tell(trees, X)
    return {"sentence": str(trees), **told, "gallery": Markup(gallery(trees))}


def what_they_tell(trees: Alternatives, X: Any = None) -> dict[str, Any]:
    """Which columns good trees test, with the least loss with and without each, and on how many rows they disagree.

    Parameters
    ----------
    trees : Alternatives
    X : array or data frame, optional
        The training rows.
    """
    first, spans = trees.roots(), trees.importance_range()
    tested = [facts["columns"] for facts in trees.facts()]
    shares = {name: sum(name in columns for columns in tested) / max(1, len(tested)) for name in spans}
    names = sorted((name for name in spans if shares[name] > 0), key=lambda name: (-shares[name], name))
    lines = [
        (
            name,
            percent(shares[name]),
            percent(first.get(name, 0.0)),
            number(spans[name].least_with),
            "none" if shares[name] == 1 else number(spans[name].least_without),
        )
        for name in names[:_MOST_COLUMNS]
    ]
    disagree = ""
    if X is not None and len(trees) > 1:
        apart = int((trees.disagreement(X) > 0).sum())
        disagree = f"They do not all agree on {apart:,} of {len(X):,} training rows."
    return {"lines": lines, "disagree": disagree}
