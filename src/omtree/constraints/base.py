"""What a constraint tells the engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from omtree.data.table import Table
from omtree.problem import GlobalRow


@runtime_checkable
class Constraint(Protocol):
    """A constraint over the whole model, as linear rows over what the rules predict."""

    def rows(self, table: Table) -> Sequence[GlobalRow]:
        """The linear rows on this table; each names itself."""
