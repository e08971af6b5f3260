"""What a policy brings, as a part of a document, and back."""

from __future__ import annotations

from typing import Any

from omtree.export.plain import from_plain, listed, number, to_plain
from omtree.model.expectation import Figure
from omtree.model.policy_value import PolicyValue


def value_out(value: PolicyValue | None) -> Any:
    """The value of a policy as plain lists; None where the model is none."""
    if value is None:
        return None
    return {
        "policy": _figure_out(value.policy),
        "single": [[to_plain(action), _figure_out(figure)] for action, figure in value.single.items()],
        "history": None if value.history is None else _figure_out(value.history),
        "gain": [[name, _figure_out(figure)] for name, figure in value.gain.items()],
        "shares": [[to_plain(action), share] for action, share in value.shares.items()],
        "rows": value.rows,
        "how": value.how,
    }


def value_in(document: Any) -> PolicyValue:
    """The value behind such lists."""
    return PolicyValue(
        _figure_in(document["policy"]),
        {from_plain(action): _figure_in(figure) for action, figure in map(listed, listed(document["single"]))},
        None if document["history"] is None else _figure_in(document["history"]),
        {str(name): _figure_in(figure) for name, figure in map(listed, listed(document["gain"]))},
        {from_plain(action): number(share) for action, share in map(listed, listed(document["shares"]))},
        int(document["rows"]),
        str(document["how"]),
    )


def _figure_out(figure: Figure) -> list[Any]:
    return [to_plain(figure.value), to_plain(figure.low), to_plain(figure.high)]


def _figure_in(document: Any) -> Figure:
    value, low, high = listed(document)
    return Figure(number(value), number(low), number(high))
