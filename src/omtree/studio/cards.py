"""The constraints that the page offers as cards: what each is called, and which values it takes."""

from __future__ import annotations

from typing import Any

from omtree.constraints.samples import MAX_GROUPS
from omtree.data.wording import text_of
from omtree.studio.source import Source
from omtree.studio.wishes import MOST_DEPTH, OBJECTIVES

#: So many rows are looked at first.
_SOME = 1_000


def _share(key: str, label: str, start: float) -> dict[str, Any]:
    return {"key": key, "label": label, "kind": "slider", "low": 0.0, "high": 1.0, "step": 0.01, "start": start}


def _one(key: str, label: str, of: str) -> dict[str, Any]:
    return {"key": key, "label": label, "kind": "one", "of": of}


def _some(key: str, label: str, least: int = 1) -> dict[str, Any]:
    return {"key": key, "label": label, "kind": "some", "of": "columns", "least": least}


_FOR_CLASSES: list[dict[str, Any]] = [
    {
        "type": "recall",
        "title": "Recall floor",
        "fields": [_one("class", "of class", "classes"), _share("at_least", "at least", 0.9)],
    },
    {
        "type": "precision",
        "title": "Precision floor",
        "fields": [_one("class", "of class", "classes"), _share("at_least", "at least", 0.9)],
    },
    {
        "type": "statistical_parity",
        "title": "Parity of answers",
        "fields": [_one("group", "between groups of", "groups"), _share("tolerance", "difference at most", 0.1)],
    },
    {
        "type": "equal_opportunity",
        "title": "Parity of recall",
        "fields": [_one("group", "between groups of", "groups"), _share("tolerance", "difference at most", 0.1)],
    },
]
_FOR_ALL: list[dict[str, Any]] = [
    {
        "type": "budget",
        "title": "Budget of tests",
        "fields": [
            {"key": "costs", "label": "price of each column", "kind": "prices"},
            {
                "key": "limit",
                "label": "a row's tests cost at most",
                "kind": "slider",
                "low": 0.0,
                "high": 10.0,
                "step": 0.5,
                "start": 3.0,
            },
        ],
    },
    {"type": "forbid", "title": "Not together", "fields": [_some("features", "columns", 2)]},
    {"type": "order", "title": "Order of questions", "fields": [_some("features", "first to last", 2)]},
    {"type": "root", "title": "First question", "fields": [_one("feature", "column", "columns")]},
]


def _monotone(two_classes: bool) -> dict[str, Any]:
    """Of two classes it is said which one's answers never fall."""
    picks = [[1, "never fall"], [-1, "never rise"]]
    way = {"key": "direction", "label": "they" if two_classes else "answers", "kind": "pick", "picks": picks}
    whose = [_one("class", "answers of", "classes")] if two_classes else []
    fields = [_one("feature", "along", "numbers"), *whose, way]
    return {"type": "monotone", "title": "Monotone", "fields": fields}


def page_facts(source: Source) -> dict[str, Any]:
    """What the page knows of the table: names and kinds, no rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def has_few(column: Any) -> bool:
        """Whether the values are groups to compare; of most columns some rows tell that there are too many."""
        some = pc.count_distinct(column.slice(0, _SOME)).as_py()
        return bool(some <= MAX_GROUPS and 2 <= pc.count_distinct(column).as_py() <= MAX_GROUPS)

    groups = [name for name in source.columns if has_few(source.X[name])]
    numbers = [
        str(field.name)
        for field in source.X.schema
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    ]
    lists = {"columns": source.columns, "numbers": numbers, "groups": groups}
    offered = [*(_FOR_CLASSES if source.task == "classification" else []), *_FOR_ALL]
    offered.insert(-3, _monotone(len(source.classes) == 2))
    return {
        **lists,
        "name": source.name,
        "target": source.target,
        "task": source.task,
        "rows": len(source.y),
        "classes": [{"value": label, "text": text_of(label)} for label in source.classes],
        "objectives": list(OBJECTIVES[source.task]),
        "most_depth": MOST_DEPTH,
        "tested": source.test is not None,
        "notes": list(source.notes),
        "cards": [card for card in offered if all(lists.get(field.get("of"), True) for field in card["fields"])],
    }
