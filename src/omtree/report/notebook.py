"""What a notebook shows of a fitted model."""

from __future__ import annotations

from typing import Any

from omtree.model.leading import leads, warning
from omtree.report.svg import escape, to_svg


def to_html(model: Any) -> str:
    """The figures that lead and the picture of a fitted model, with what is proven about it below.

    Parameters
    ----------
    model : fitted model

    Returns
    -------
    str
        A piece of HTML that carries all it needs; a wide picture scrolls.
    """
    verdict = escape(str(model.certificate_).splitlines()[0])
    figures = "".join(
        f'<span style="margin-right:26px">{escape(lead.name)}: <b>{escape(lead.figure)}</b></span>'
        for lead in leads(model)
    )
    said = escape(warning(model, vars(model).get("expectation_")))
    alarm = f'<p style="margin:0;padding:4px 18px;font:13px sans-serif;color:#9a4a1f">{said}</p>' if said else ""
    frame = "overflow:auto;max-height:46em;background:#fff;color:#1c2733;border:1px solid #d3dce5;border-radius:6px"
    line = "margin:0;padding:8px 18px;border-top:1px solid #d3dce5;font:13px sans-serif;color:#566473"
    first = "margin:0;padding:8px 18px;font:13px sans-serif;color:#1c2733"
    above = f'<p style="{first}">{figures}</p>{alarm}'
    return f'<div style="{frame}">{above}{to_svg(model)}<p style="{line}">{verdict}</p></div>'
