"""What a person asks of a tree: plain values that can be saved, compared, undone, and written as a script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from omtree.constraints import Constraint, from_tables
from omtree.constraints.words import with_limit
from omtree.data.wording import text_of

if TYPE_CHECKING:
    from omtree.studio.source import Source

#: What can be minimised, by task.
OBJECTIVES = {
    "classification": ("error", "balanced_error", "gini", "entropy", "f1", "mcc"),
    "regression": ("squared", "absolute", "poisson"),
}
#: The slider of leaves ends here.
MOST_LEAVES, MOST_DEPTH = 16, 6
_MOST_CONSTRAINTS = 40
#: The limits of constraints: stricter the higher they are, and the lower.
_FLOORS, _CEILINGS = ("at_least",), ("at_most", "tolerance", "limit")


@dataclass(frozen=True)
class Wishes:
    """What is asked for.

    Attributes
    ----------
    depth : int
    leaves : int or None
        None is chosen by cross-validation.
    objective : str
    positive : str or None
        Of two classes, the one that scores and recall are about, by its text.
    min_leaf : float
        Least share of the rows in a leaf.
    left_out : tuple of str
        Columns that may not be asked about.
    constraints : tuple of mappings
        As tables of a TOML file.
    """

    depth: int = 3
    leaves: int | None = None
    objective: str = "error"
    positive: str | None = None
    min_leaf: float = 0.01
    left_out: tuple[str, ...] = ()
    constraints: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def first(cls, source: Source) -> Wishes:
        """What a studio opens with."""
        return cls(objective=OBJECTIVES[source.task][0])

    @classmethod
    def of(cls, document: Any, source: Source) -> Wishes:
        """Those in a document from a page or a file; a sentence where they make no sense."""
        if not isinstance(document, Mapping):
            raise ValueError("Wishes are an object with depth, leaves, objective and the rest.")
        known = {item.name for item in fields(cls)}
        unknown = sorted(set(document) - known)
        if unknown:
            raise ValueError(f"{unknown[0]!r} is nothing that can be wished for.")
        wishes = replace(cls.first(source), **document)
        return replace(wishes, **wishes._checked(source))

    def _checked(self, source: Source) -> dict[str, Any]:
        if not _whole(self.depth, 1, MOST_DEPTH):
            raise ValueError(f"depth {self.depth!r} is not possible; use 1 to {MOST_DEPTH}.")
        if self.leaves is not None and not _whole(self.leaves, 1, MOST_LEAVES):
            raise ValueError(f"leaves {self.leaves!r} is not possible; use 1 to {MOST_LEAVES}.")
        if self.objective not in OBJECTIVES[source.task]:
            raise ValueError(f"{self.objective!r} is no objective; use one of {', '.join(OBJECTIVES[source.task])}.")
        if self.positive is not None and self.positive not in map(text_of, source.classes):
            raise ValueError(f"positive {self.positive!r} is no class of {source.target!r}.")
        number = isinstance(self.min_leaf, (int, float)) and not isinstance(self.min_leaf, bool)
        if not number or not 0 < self.min_leaf <= 0.5:
            raise ValueError(f"min_leaf {self.min_leaf!r} is not possible; use a share above 0 and up to 0.5.")
        left_out = _listed(self.left_out, "left_out")
        unknown = [name for name in left_out if name not in source.columns]
        if unknown:
            raise ValueError(f"left_out names the column {unknown[0]!r}, which is not in the table.")
        if len(set(left_out)) >= len(source.columns):
            raise ValueError("Every column is left out; keep at least one.")
        tables = _listed(self.constraints, "constraints")
        if len(tables) > _MOST_CONSTRAINTS or not all(isinstance(table, Mapping) for table in tables):
            raise ValueError(f"constraints are at most {_MOST_CONSTRAINTS} tables, as in a TOML file.")
        from_tables(tables)
        return {
            "left_out": tuple(dict.fromkeys(left_out)),
            "constraints": tuple(dict(table) for table in tables),
            "min_leaf": float(self.min_leaf),
        }

    @property
    def most_leaves(self) -> int:
        """The end of the slider."""
        return int(min(MOST_LEAVES, 2**self.depth))

    @property
    def whole(self) -> Wishes:
        """The same for every number of leaves."""
        return replace(self, leaves=None)

    def implies(self, other: Wishes) -> bool:
        """Whether every tree that meets these wishes meets the others as well; sizes are left out of it.

        Examples
        --------
        >>> loose = Wishes(constraints=({"type": "recall", "class": "a", "at_least": 0.8},))
        >>> strict = Wishes(constraints=({"type": "recall", "class": "a", "at_least": 0.9},), min_leaf=0.05)
        >>> strict.implies(loose), loose.implies(strict)
        (True, False)
        """
        return (
            (self.objective, self.positive) == (other.objective, other.positive)
            and self.depth <= other.depth
            and self.min_leaf >= other.min_leaf
            and set(self.left_out) >= set(other.left_out)
            and all(any(_as_strict(mine, theirs) for mine in self.constraints) for theirs in other.constraints)
        )

    def constraint_objects(self) -> tuple[Constraint, ...]:
        """The constraints as the estimators take them."""
        return from_tables(self.constraints)

    def parameters(self, source: Source) -> dict[str, Any]:
        """The parameters of an estimator, but for leaves, limits and folds."""
        given: dict[str, Any] = {
            "max_depth": self.depth,
            "min_samples_leaf": self.min_leaf,
            "objective": self.objective,
            "constraints": self.constraint_objects(),
        }
        if self.positive is not None:
            given["positive"] = next(label for label in source.classes if text_of(label) == self.positive)
        return given

    def to_plain(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        plain = asdict(self)
        return {**plain, "left_out": list(self.left_out), "constraints": [dict(each) for each in self.constraints]}

    def changed_from(self, other: Wishes) -> tuple[str, ...]:
        """The names of what differs."""
        return tuple(item.name for item in fields(self) if getattr(self, item.name) != getattr(other, item.name))

    def words_from(self, other: Wishes | None) -> str:
        """What was changed, in a few words."""
        if other is None:
            return "start"
        said = {
            "depth": f"depth {self.depth}",
            "leaves": "leaves chosen" if self.leaves is None else f"{self.leaves} leaves",
            "objective": self.objective,
            "positive": f"about {self.positive}",
            "min_leaf": f"leaves of {100 * self.min_leaf:g} %",
            "left_out": f"without {', '.join(self.left_out)}" if self.left_out else "all columns",
            "constraints": _constraint_words(self, other),
        }
        return "; ".join(said[name] for name in self.changed_from(other)) or "again"


def _constraint_words(wishes: Wishes, other: Wishes) -> str:
    added = [each for each in wishes.constraints if each not in other.constraints]
    if added:
        return ", ".join(with_limit(each) for each in from_tables(added))
    return "a constraint less"


def _as_strict(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether a constraint is another one, or that with a stricter limit."""
    if one.keys() != other.keys():
        return False

    def allows(key: str) -> bool:
        mine, theirs = one[key], other[key]
        if mine == theirs:
            return True
        if not isinstance(mine, (int, float)) or not isinstance(theirs, (int, float)):
            return False
        return mine > theirs if key in _FLOORS else mine < theirs if key in _CEILINGS else False

    return all(map(allows, one))


def _whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _listed(value: Any, name: str) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{name} is no list.")
    return list(value)
