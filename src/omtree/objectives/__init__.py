"""What a model is to minimise: one small file per objective, named after it."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any

from omtree.objectives.base import Objective

__all__ = ["Objective", "find_objective"]


def find_objective(objective: str | Objective) -> Objective:
    """The objective of this name, or the object itself when it is one.

    The objective ``"x"`` is the attribute ``objective`` of the module ``omtree.objectives.x``, so that a new file is
    all a new objective takes.

    Examples
    --------
    >>> find_objective("error").unit
    'errors'
    """
    if isinstance(objective, Objective):
        return objective
    if objective not in _names():
        raise ValueError(f"objective={objective!r} is not known; use one of {', '.join(map(repr, _names()))}.")
    module: Any = importlib.import_module(f"{__name__}.{objective}")
    found: Objective = module.objective
    return found


@functools.cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base"))
