"""What a model is to minimise: one small file per objective, named after it."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

from omtree.objectives.objective import LabelCosts, Objective, RuleStatistics, Score, Task

__all__ = ["LabelCosts", "Objective", "RuleStatistics", "Score", "find_objective"]


def find_objective(
    objective: str | Objective | Callable[[RuleStatistics], float],
    task: Task = "classification",
    options: Mapping[str, Any] | None = None,
) -> Objective:
    """The objective of this name, or the object itself when it is one.

    The objective ``"x"`` is the class ``objective`` of the module ``omtree.objectives.x``, so that a new file is all a
    new objective takes.

    Parameters
    ----------
    objective : str, Objective or callable
        A callable is the loss of a rule.
    task : {"classification", "regression"}
    options : mapping, optional
        Parameters of the estimator that some objectives have as their own.

    Examples
    --------
    >>> find_objective("error").unit
    'errors'
    >>> find_objective("quantile", "regression", {"quantile": 0.9})
    Quantile(quantile=0.9)
    """
    found: Objective
    if isinstance(objective, Objective):
        found = objective
    elif isinstance(objective, str):
        names = _names(task)
        if objective not in names:
            raise ValueError(f"objective={objective!r} is not known; use one of {', '.join(map(repr, names))}.")
        kind = _kind(objective)
        wanted: set[str] = {f.name for f in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
        found = kind(**{name: value for name, value in (options or {}).items() if name in wanted})
    elif callable(objective):
        from omtree.objectives.own import Own

        found = Own(objective)
    else:
        raise ValueError(f"objective={objective!r} is not possible; use a name, an Objective or a function of a rule.")
    if task not in found.tasks:
        raise ValueError(
            f"objective={objective!r} is for {' and '.join(found.tasks)}, not for {task}; use another one."
        )
    return found


def _kind(name: str) -> type[Objective]:
    module: Any = importlib.import_module(f"{__name__}.{name}")
    kind: type[Objective] = module.objective
    return kind


@functools.cache
def _names(task: Task) -> tuple[str, ...]:
    modules = (
        module.name for module in pkgutil.iter_modules(__path__) if module.name not in ("objective", "own", "ratio")
    )
    return tuple(sorted(name for name in modules if task in _kind(name).tasks))
