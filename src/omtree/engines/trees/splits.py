"""The ways to split a feature, and the trees of the kernel with conditions that every code of a feature meets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from omtree.data.table import Feature
from omtree.problem.graph import MAX_FULL_SUBSETS, Categories, Condition
from omtree.problem.problem import Node

Splits = Literal["multiway", "binary"]
#: Label, level, whether the last branch is all other codes, and the codes and the place of each child, by node.
PackedTree = Sequence[tuple[int, int, bool, Sequence[tuple[Sequence[int], int]]]]


def family_of(feature: Feature, categories: Categories) -> str:
    """How the codes of a feature may be grouped into branches."""
    if feature.ordered or feature.n_codes == 2:
        return "interval"
    if categories != "groups":
        return "value" if categories == "values" else "single"
    return "subset" if feature.n_codes <= MAX_FULL_SUBSETS else "run"


def order_of(feature: Feature, categories: Categories) -> list[int]:
    """Codes in the order of their runs; empty where that is their own order."""
    if family_of(feature, categories) == "run" and feature.target_order is not None:
        return list(feature.target_order)
    return []


def unpack(
    tree: PackedTree | None, columns: Sequence[int], features: Sequence[Feature], categories: Categories
) -> Node | None:
    """A tree of the kernel in our terms; its conditions have no text yet, since most trees are never shown."""
    if tree is None:
        return None

    def node(position: int, domains: dict[int, tuple[int, ...]]) -> Node:
        label, level, complement, branches = tree[position]
        if not branches:
            return Node(label)
        column = columns[level]
        feature = features[column]
        domain = domains.get(column, tuple(range(feature.n_codes)))
        parts = widen(feature, categories, domain, [tuple(codes) for codes, _ in branches], complement)
        return Node(
            label,
            tuple(
                (Condition(column, codes), node(child, {**domains, column: codes}))
                for codes, (_, child) in zip(parts, branches, strict=True)
            ),
        )

    return node(0, {})


def widen(
    feature: Feature,
    categories: Categories,
    domain: tuple[int, ...],
    parts: Sequence[tuple[int, ...]],
    complement: bool,
) -> list[tuple[int, ...]]:
    """Give each code of the domain that no row of the node has to a part, so that the parts stay conditions."""
    if sum(map(len, parts)) == len(domain):
        return [tuple(sorted(part)) for part in parts]
    family = family_of(feature, categories)
    if complement:
        single = parts[0] if len(parts[0]) == 1 else parts[1]
        rest = tuple(code for code in domain if code not in single)
        return [single if part == single else rest for part in parts]
    if family not in ("interval", "run"):
        return [tuple(sorted(part)) for part in parts]
    missing = feature.n_values if feature.has_missing and feature.ordered and feature.n_codes > 2 else None
    order = [c for c in (order_of(feature, categories) or range(feature.n_codes)) if c in domain and c != missing]
    owner = {code: i for i, part in enumerate(parts) for code in part}
    wide: list[list[int]] = [[] for _ in parts]
    current = next((owner[code] for code in order if code in owner), None)
    for code in order:
        current = owner.get(code, current)
        if current is not None:
            wide[current].append(code)
    if missing in owner:
        wide[owner[missing]].append(missing)
    return [tuple(sorted(codes)) for codes in wide]
