"""Small pictures of many trees side by side, sorted as one likes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from omtree.data.wording import number
from omtree.report.svg import escape, to_svg

if TYPE_CHECKING:
    from omtree.estimators.alternatives import Alternatives

#: Orders to choose from: the fact, and what a person calls it.
ORDERS = (("place", "loss"), ("leaves", "leaves"), ("n_columns", "columns tested"), ("cost", "cost of tests"))
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


def gallery(trees: Alternatives) -> str:
    """The trees as a piece of HTML that needs nothing else.

    Parameters
    ----------
    trees : Alternatives

    Returns
    -------
    str
    """
    choices = "".join(f'<option value="{key}">{name}</option>' for key, name in ORDERS)
    head = (
        f"<p>{escape(str(trees))}</p>"
        f'<p><label>In the order of <select onchange="{escape(_SORT)}">{choices}</select></label></p>'
    )
    figures = []
    for model, facts in zip(trees, trees.facts(), strict=True):
        values = {"place": facts["place"], "leaves": facts["leaves"], "cost": facts["cost"]}
        values["n_columns"] = len(facts["columns"])
        data = " ".join(f'data-{key}="{json.dumps(value)}"' for key, value in values.items())
        size = f"{facts['leaves']} lea{'f' if facts['leaves'] == 1 else 'ves'}"
        text = f"{facts['rank']}. {number(facts['loss'])} {model.certificate_.unit_of(facts['loss'])}, {size}"
        columns = ", ".join(facts["columns"]) or "no column"
        title = f"Tree {facts['place']}: {text}"
        figures.append(
            f"<figure {data}>{to_svg(model, title=title)}"
            f"<figcaption><b>{escape(text)}</b><br>{escape(columns)}</figcaption></figure>"
        )
    return f'<div class="omt-gallery"><style>{_STYLE}</style>{head}{"".join(figures)}</div>'
