"""What is known around a tree: the other good ones, and what each wish costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from omtree.constraints.words import with_limit
from omtree.data.wording import number
from omtree.report.other_trees import what_they_tell
from omtree.report.svg import to_svg

#: So many are shown, up to so much worse, and so long is looked for them.
_MOST, _WITHIN, _SECONDS = 12, 0.02, 20.0


def trees_around(model: Any, X: Any = None) -> dict[str, Any]:
    """The best other trees of a fit, as small pictures with what there is to compare; or why there are none.

    Parameters
    ----------
    model : fitted model
        In the process that fitted it: the training rows are needed.
    X : table, optional
        The training rows, or some of them, on which the trees may disagree.
    """
    try:
        found = model.alternatives(n=_MOST + 1, within=_WITHIN, time_limit=_SECONDS)
        lines = found.facts()
    except ValueError as fault:
        return {"sentence": str(fault), "trees": [], "told": None}
    own = model.to_text()
    trees: list[dict[str, Any]] = []
    for other, line in zip(found, lines, strict=True):
        if other.to_text() == own or len(trees) == _MOST:
            continue
        trees.append(
            {
                "svg": to_svg(other, title=f"Tree {line['place']}"),
                "value": line["loss"],
                "loss": f"{number(line['loss'])} {other.certificate_.unit_of(line['loss'])}",
                "leaves": line["leaves"],
                "columns": line["columns"],
                "cost": line["cost"],
                "gap": line["gap"],
            }
        )
    return {"sentence": str(found), "trees": trees, "told": what_they_tell(found, X) if trees else None}


def prices_around(model: Any) -> list[str]:
    """What each wish costs, in a sentence: the model is solved without it, over the same cut points.

    Parameters
    ----------
    model : fitted model
        In the process that fitted it.
    """
    if not model._constraints:
        return []
    try:
        # A person who moved sliders never saw the constraint as it is written.
        said = {each.title: with_limit(each) for each in model._constraints}
        return [str(replace(price, wish=said.get(price.wish, price.wish))) for price in model.prices_]
    except (AttributeError, ValueError) as fault:
        return [str(fault)]
