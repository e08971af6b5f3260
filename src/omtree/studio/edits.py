"""Edits by pointing: what is wanted of one node, as a `Force` that keeps the way to it and leaves the rest open."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from omtree.data.table import Feature
from omtree.data.wording import text_of
from omtree.export.logic import members
from omtree.model.tree import Tree, TreeNode

#: What can be done to a node.
ACTIONS = ("lock", "ban", "change", "move", "collapse", "answer", "grow")
#: Most cuts that can be given to one node.
_MOST_CUTS = 8


def with_edit(
    constraints: Sequence[Mapping[str, Any]], tree: Tree, node: int, action: str, value: Any = None
) -> list[Mapping[str, Any]]:
    """Constraints, as tables, with an edit of one node of a tree that meets them.

    Parameters
    ----------
    constraints : sequence of mappings
        As tables of a TOML file; those of earlier edits are taken over.
    tree : Tree
    node : int
        Its position in ``tree.nodes``.
    action : {"lock", "ban", "change", "move", "collapse", "answer", "grow"}
        Keep its question and cuts; never ask about a column from here on; ask about another column; cut its column
        elsewhere; make it a leaf; say what the leaf answers; do not leave it a leaf.
    value : object
        The column, the cuts, or the class.
    """
    if isinstance(node, bool) or not isinstance(node, int) or not 0 <= node < len(tree.nodes):
        raise ValueError(f"There is no node {node!r} in the tree.")
    here = tree.nodes[node]
    wanted = _wanted(tree, here, action, value)
    others = [table for table in constraints if table.get("type") != "force"]
    before: Mapping[str, Any] = next((table["tree"] for table in constraints if table.get("type") == "force"), {})
    return [*others, {"type": "force", "tree": _merged(before, tree, _path(tree, here), wanted)}]


def without_columns(constraints: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Mapping[str, Any]]:
    """Constraints, as tables, of which what is kept of a tree names none of some columns any more.

    Parameters
    ----------
    constraints : sequence of mappings
    names : sequence of str
        Columns that may not be asked about from now on.
    """
    kept = [
        {**table, "tree": _never_asking(table["tree"], names)} if table.get("type") == "force" else table
        for table in constraints
    ]
    return [table for table in kept if table.get("type") != "force" or _says_something(table["tree"])]


def edit_words(tree: Tree, node: int, action: str, value: Any) -> str:
    """What an edit is called in the history."""
    here = tree.nodes[node]
    where = "at the root" if here.condition is None else f"where {here.condition}"
    asked = "" if here.feature is None else tree.rules.features[here.feature].name
    said = {
        "lock": f"keep {asked}",
        "ban": f"not {value} from here on",
        "change": f"ask about {value}",
        "move": f"cut {asked} at {value}",
        "collapse": "end",
        "grow": "ask one more question",
        "answer": f"answer {value}",
    }
    return f"{said[action]} {where}"


def _wanted(tree: Tree, node: TreeNode, action: str, value: Any) -> dict[str, Any]:
    """What is said of the node itself."""
    names = [feature.name for feature in tree.rules.features]
    if action in ("ban", "change") and value not in names:
        raise ValueError(f"There is no column {value!r} to ask about.")
    match action:
        case "lock":
            if node.feature is None:
                raise ValueError("A leaf has no question to keep; keep its answer.")
            return _split(tree, node)[0]
        case "ban":
            return {"without": [value]}
        case "change":
            return {"split": value}
        case "move":
            if node.feature is None or tree.rules.features[node.feature].thresholds is None:
                raise ValueError("Only a question about a number has cuts that can be moved.")
            return {"split": names[node.feature], "at": _cuts(value, tree.rules.features[node.feature])}
        case "collapse":
            return {"leaf": True}
        case "grow":
            return {"leaf": False}
        case "answer":
            known = [label for label in tree.rules.classes if text_of(label) == text_of(value)]
            if not known:
                raise ValueError(f"There is no class {value!r} to answer.")
            return {"answer": known[0]}
    raise ValueError(f"{action!r} is nothing that can be done to a node; use one of {', '.join(ACTIONS)}.")


def cuts_of(tree: Tree, node: TreeNode) -> str | None:
    """Where a node cuts its column, as a person may write it; None where it asks about no number."""
    if node.feature is None or tree.rules.features[node.feature].thresholds is None:
        return None
    cuts = _split(tree, node)[0]["at"]
    if tree.rules.features[node.feature].unit == "date":
        moments = [str(np.datetime64(0, "s") + np.timedelta64(round(86_400 * cut), "s")) for cut in cuts]
        return ", ".join(moment.removesuffix("T00:00:00") for moment in moments)
    return ", ".join(map(text_of, cuts))


def _cuts(value: Any, feature: Feature) -> list[Any]:
    """The cuts in a text with commas or blanks between them."""
    cuts: list[Any] = str(value).replace(",", " ").split()
    if feature.unit != "date":
        try:
            cuts = sorted({float(part) for part in cuts})
        except ValueError:
            cuts = []
    if not 1 <= len(cuts) <= _MOST_CUTS or not all(isinstance(cut, str) or math.isfinite(cut) for cut in cuts):
        example = "2024-01-31" if feature.unit == "date" else "3.5, 7"
        raise ValueError(
            f"{value!r} are no cuts of {feature.name!r}; use 1 to {_MOST_CUTS} of them, such as {example}."
        )
    return cuts


def _path(tree: Tree, node: TreeNode) -> list[TreeNode]:
    """The nodes from the root to this one."""
    path = [node]
    while path[0].parent is not None:
        path.insert(0, tree.nodes[path[0].parent])
    return path


def _merged(before: Mapping[str, Any], tree: Tree, path: list[TreeNode], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What was given earlier, with the questions on the way to the node, and what is wanted of it."""
    here, *rest = path
    if not rest:
        if "without" in wanted:
            known = _never_asking(before, wanted["without"])
            return {**known, "without": sorted({*before.get("without", ()), *wanted["without"]})}
        kept = _banned(before, wanted)
        # The same question with the same cuts keeps what is known below it.
        if all(before.get(key) == wanted.get(key) for key in ("split", "at", "groups")) and "below" in before:
            kept["below"] = before["below"]
        return {**kept, **wanted}
    split, children = _split(tree, here)
    below = [dict(each) for each in before.get("below", ())]
    below += [{} for _ in range(len(children) - len(below))]
    place = children.index(rest[0].index)
    below[place] = _merged(below[place], tree, rest, wanted)
    return {**_banned(before, wanted), **split, "below": below}


def _banned(before: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that were banned from a node on, but for one that is asked for now: the last wish counts."""
    names = [name for name in before.get("without", ()) if name != wanted.get("split")]
    return {"without": names} if names else {}


def _never_asking(before: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """What was given earlier without questions about columns that are banned now, and without what hangs on those."""
    known = {key: value for key, value in before.items() if key != "without"}
    if known.get("split") in names:
        known = {key: value for key, value in known.items() if key not in ("split", "at", "groups", "below")}
    if "below" in known:
        known["below"] = [_never_asking(each, names) for each in known["below"]]
    others = [name for name in before.get("without", ()) if name not in names]
    return {**known, "without": others} if others else known


def _says_something(kept: Mapping[str, Any]) -> bool:
    """Whether anything is asked of a tree."""
    return any(key != "below" for key in kept) or any(map(_says_something, kept.get("below", ())))


def _split(tree: Tree, node: TreeNode) -> tuple[dict[str, Any], list[int]]:
    """The question of a node with its cuts or groups, and its children in their order."""
    assert node.feature is not None
    feature = tree.rules.features[node.feature]
    codes = {child: sorted(_codes(tree, child, feature)) for child in node.children}
    children = sorted(codes, key=lambda child: codes[child] or [feature.n_values])
    if feature.thresholds is not None:
        # A child of missing cells alone has no cut of its own.
        ends = [codes[child][-1] for child in children if codes[child]][:-1]
        return {"split": feature.name, "at": [float(feature.thresholds[end]) for end in ends]}, children
    last = max(children, key=lambda child: (_has_rest(feature, codes[child]), codes[child]))
    named = [child for child in children if child != last]
    groups = [_values(feature, tree, child, codes[child]) for child in named]
    return {"split": feature.name, "groups": groups}, [*named, last]


def _codes(tree: Tree, child: int, feature: Feature) -> list[int]:
    condition = tree.nodes[child].condition
    assert condition is not None
    return [code for code in condition.codes if code < feature.n_values]


def _has_rest(feature: Feature, codes: Sequence[int]) -> bool:
    """Whether a child takes every value that no other one has."""
    assert feature.levels is not None
    return any(getattr(feature.levels[code], "rest", False) for code in codes)


def _values(feature: Feature, tree: Tree, child: int, codes: Sequence[int]) -> list[Any]:
    assert feature.levels is not None
    condition = tree.nodes[child].condition
    values = list(members(feature.levels[code] for code in codes))
    if condition is not None and feature.n_values in condition.codes and not feature.ordered:
        values.append("missing")
    return values
