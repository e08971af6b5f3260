"""Small pictures of many trees side by side, sorted as one likes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from omtree.data.wording import number
from omtree.report.svg import escape, to_svg

if TYPE_CHECKING:
    from omtree.estimators.alternatives import Alternatives

#: Orders to choose from: the fact, and what a person calls it.
ORDERS = (
    ("place", "loss"),
    ("leaves", "leaves"),
    ("n_columns", "columns tested"),
    ("cost", "cost of tests"),
    ("gap", "gap between groups"),
)
_STYLE = (
    ".omt-gallery figure{display:inline-block;vertical-align:top;width:240px;margin:0 12px 12px 0;padding:8px;"
    "border:1px solid #d3dce5;border-radius:6px;background:#fff;color:#1c2733}"
    ".omt-gallery figure svg{width:100%;height:150px}"
    ".omt-gallery figcaption{font:13px sans-serif}.omt-gallery p{font:13px sans-serif}"
)
_SORT = (
    "const box=this.closest('.omt-gallery');const key=this.value;"
    "[...box.querySelectorAll('figure')].sort((a,b)=>a.dataset[key]-b.dataset[key]||a.dataset.place-b.dataset.place)"
    ".forEach(f=>box.append(f));"
)


def gallery(trees: Alternatives, gaps: Sequence[float] | None = None) -> str:
    """The trees as a piece of HTML that needs nothing else.

    Parameters
    ----------
    trees : Alternatives
    gaps : sequence of float, optional
        What differs between groups, by tree; by default what the constraints of the fit measure.

    Returns
    -------
    str
    """
    every = trees.facts()
    for facts, gap in zip(every, gaps if gaps is not None else [facts["gap"] for facts in every], strict=True):
        facts["gap"] = gap
    orders = [order for order in ORDERS if order[0] != "gap" or (every and every[0]["gap"] is not None)]
    choices = "".join(f'<option value="{key}">{name}</option>' for key, name in orders)
    head = (
        f"<p>{escape(str(trees))}</p>"
        f'<p><label>In the order of <select onchange="{escape(_SORT)}">{choices}</select></label></p>'
    )
    figures = []
    for model, facts in zip(trees, every, strict=True):
        values = {"place": facts["place"], "leaves": facts["leaves"], "cost": facts["cost"]}
        values["n_columns"] = len(facts["columns"])
        if facts["gap"] is not None:
            values["gap"] = float(facts["gap"])
        data = " ".join(f'data-{key}="{json.dumps(value)}"' for key, value in values.items())
        size = f"{facts['leaves']} lea{'f' if facts['leaves'] == 1 else 'ves'}"
        text = f"{facts['rank']}. {number(facts['loss'])} {model.certificate_.unit_of(facts['loss'])}, {size}"
        columns = ", ".join(facts["columns"]) or "no column"
        if facts["gap"] is not None:
            columns += f"; gap between groups {number(facts['gap'])}"
        title = f"Tree {facts['place']}: {text}"
        figures.append(
            f"<figure {data}>{to_svg(model, title=title)}"
            f"<figcaption><b>{escape(text)}</b><br>{escape(columns)}</figcaption></figure>"
        )
    return f'<div class="omt-gallery"><style>{_STYLE}</style>{head}{"".join(figures)}</div>'
