"""Remarks on data, beside the results."""

from __future__ import annotations


class Notes(list[str]):
    """What a person should know about how their data was read."""
