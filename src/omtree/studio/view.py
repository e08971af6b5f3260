"""What the page shows of a fitted model, as plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from omtree.constraints import Constraint, ConstraintCheck, Force
from omtree.constraints.words import constraint_words
from omtree.data.wording import number
from omtree.model.leading import expectation_on, leads, warning
from omtree.model.text import to_text
from omtree.model.tree import Tree
from omtree.report.page_data import loss_below
from omtree.report.proof import badge_words, gap_words, proof_sentences
from omtree.report.sections import outline, size_curve
from omtree.report.summary import Summaries
from omtree.report.svg import model_scene, render_svg
from omtree.report.words import answer, condition_words
from omtree.studio.edits import cuts_of
from omtree.studio.source import Source

#: What the column of wishes has room for.
_CURVE = (270.0, 180.0)


def view_of(model: Any, source: Source, *, most_leaves: int, phase: str) -> dict[str, Any]:
    """Everything that the page needs to show a model.

    Parameters
    ----------
    model : fitted model
    source : Source
    most_leaves : int
        The end of the slider.
    phase : str
        Which part of the work it comes from.
    """
    certificate = model.certificate_
    expected = vars(model).get("expectation_")
    tested = None
    if source.test is not None:
        name, _, X, y = source.test
        tested = expectation_on(model, X, y, None, f"a test on {name}")
    curve = size_curve(model, size=_CURVE)
    return {
        "phase": phase,
        "svg": render_svg(model_scene(model)),
        "outline": "" if model.tree_ is None else str(outline(model.tree_)),
        "text": to_text(model),
        "outlined": [] if model.tree_ is None else _depth_first(model.tree_, 0),
        "nodes": _nodes(model),
        "leaves": len(model.rules_),
        "most_leaves": max(most_leaves, len(model.rules_)),
        "curve": None if curve is None else render_svg(curve["scene"]),
        "leads": [vars(lead) for lead in leads(model, tested or expected)],
        "validated": expected is not None,
        "warnings": list(dict.fromkeys(filter(None, (warning(model, each) for each in (expected, tested))))),
        "status": certificate.status,
        "value": certificate.value,
        "loss": f"{number(certificate.value)} {certificate.unit_of(certificate.value)}",
        "gap": gap_words(certificate),
        "badge": badge_words(certificate),
        "proven": certificate.status == "optimal",
        "proof": proof_sentences(certificate),
        "constraints": [
            {
                "words": _words(check, model._constraints),
                "value": number(check.value) if math.isfinite(check.value) else "–",
                "limit": f"{check.sense} {number(check.limit)}" if math.isfinite(check.limit) else "",
                "met": check.met,
            }
            for check in certificate.constraints
        ],
        "notes": list(model.notes_),
        "seconds": certificate.total_seconds,
    }


def _words(check: ConstraintCheck, constraints: Sequence[Constraint]) -> str:
    """What a check is about; a part of a tree is shown elsewhere, as a card."""
    forced = any(isinstance(each, Force) and check.name.startswith(each.title) for each in constraints)
    return "Kept of the tree: nodes that differ" if forced else constraint_words(check.name, constraints)


def _depth_first(tree: Tree, index: int) -> list[int]:
    """The nodes in the order of the lines of the outline."""
    return [index, *(below for child in tree.nodes[index].children for below in _depth_first(tree, child))]


def _nodes(model: Any) -> list[dict[str, Any]]:
    """The nodes of the tree, in the order of ``tree_.nodes``, with what a person can do about them."""
    tree = model.tree_
    if tree is None:
        return []
    features, summaries = tree.rules.features, Summaries.of(tree.rules)
    losses = loss_below(tree)
    found = []
    for node in tree.nodes:
        condition = node.condition
        split = None if node.feature is None else features[node.feature]
        rule = None if node.rule is None else tree.rules[node.rule]
        found.append(
            {
                "parent": node.parent,
                "depth": node.depth,
                "words": "all rows" if condition is None else condition_words(condition, features[condition.feature]),
                "column": None if split is None else split.name,
                "cuts": cuts_of(tree, node),
                "rows": summaries.amount(node.support),
                "loss": number(losses[node.index]),
                "answer": None if rule is None else answer(rule.prediction, tree.rules.classes),
                "leaf": None if node.rule is None else node.rule + 1,
            }
        )
    return found
