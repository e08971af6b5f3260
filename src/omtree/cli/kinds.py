"""``--kind COLUMN=KIND``: what columns are, as a person says it."""

from __future__ import annotations

from typing import Any

from omtree.cli.tables import suggest

_KINDS = ("numeric", "ordinal", "nominal")


def column_kinds(options: tuple[str, ...]) -> dict[str, Any]:
    """``--kind column=kind`` as the estimator takes it."""
    kinds: dict[str, Any] = {}
    for option in options:
        column, sign, kind = option.rpartition("=")
        if not sign or not column or not kind:
            raise ValueError(f"--kind {option!r} is not COLUMN=KIND, such as size=ordinal or size=S,M,L.")
        if "," in kind:
            kinds[column] = kind.split(",")
        elif kind in _KINDS:
            kinds[column] = kind
        else:
            raise ValueError(f"--kind {option!r} names an unknown kind{suggest(kind, _KINDS)}.")
    return kinds
