"""Fields of a dataclass that may be given as a function: it is called when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class Later(Generic[T]):
    """A field whose value, or a function that gives it, is kept; None by default."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, holder: Any, kind: type) -> T | None:
        if holder is None:
            return None  # the default
        value = vars(holder)[self._name]
        if callable(value):
            value = vars(holder)[self._name] = value()
        return cast(T | None, value)

    def __set__(self, holder: Any, value: T | Callable[[], T | None] | None) -> None:
        vars(holder)[self._name] = value


class HasLater:
    """What has such fields: copies and pickles know their values."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in vars(self)}
