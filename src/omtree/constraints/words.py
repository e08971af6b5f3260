"""Constraints, and how they are met, in words."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from omtree.constraints import Constraint, ConstraintCheck
from omtree.data.wording import number, shorten, text_of

#: What limits are called, and how they are said.
_LIMITS = {"at_least": "at least", "at_most": "at most", "limit": "at most"}


def constraint_words(name: str, constraints: Sequence[Constraint]) -> str:
    """The name of a check with its constraint in words: no limits, which stand beside it."""
    for constraint in constraints:
        if name.startswith(constraint.title):
            return f"{in_words(constraint)}{name.removeprefix(constraint.title)}"
    return name


def with_limit(constraint: Constraint) -> str:
    """What a constraint asks for.

    >>> from omtree.constraints import Budget, Recall, StatisticalParity
    >>> with_limit(Recall("ill", at_least=0.9)), with_limit(StatisticalParity("sex", 0.1))
    ('Recall (class ill) at least 0.9', 'Statistical parity (group sex, tolerance 0.1)')
    >>> with_limit(Budget({"chol": 7.27, "fbs": 5.2}, 10))
    'Budget of tests at most 10'
    """
    limits = ((words, getattr(constraint, name, None)) for name, words in _LIMITS.items())
    said = [f"{words} {number(limit)}" for words, limit in limits if limit is not None]
    return " ".join([in_words(constraint), *said])


def in_words(constraint: Constraint) -> str:
    """What a constraint is about.

    >>> from omtree.constraints import Recall, StatisticalParity
    >>> in_words(Recall("ill", at_least=0.9)), in_words(StatisticalParity("sex", 0.1))
    ('Recall (class ill)', 'Statistical parity (group sex, tolerance 0.1)')
    """
    if constraint.asks:
        return shorten(constraint.asks)
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(constraint).__name__)
    name = name if name.isupper() else name[0] + name[1:].lower()
    facts = []
    for field in dataclasses.fields(constraint):  # type: ignore[arg-type]
        value = getattr(constraint, field.name)
        if field.name in _LIMITS or value is None or value == field.default:
            continue
        listed = isinstance(value, (tuple, list, set, frozenset))
        texts = [text_of(each) for each in value] if listed else [text_of(value)]
        shown = ", ".join(sorted(texts) if isinstance(value, (set, frozenset)) else texts)
        facts.append(f"{field.name.rstrip('_').replace('_', ' ')} {shown}")
    return shorten(f"{name} ({', '.join(facts)})" if facts else name)


def missed_sentences(
    trained: Sequence[ConstraintCheck], tested: Sequence[ConstraintCheck] | None, constraints: Sequence[Constraint]
) -> list[str]:
    """What is met in training and not on the test rows, in sentences."""
    if tested is None:
        return []
    sentences = []
    for before, after in zip(trained, tested, strict=True):
        if before.met and not after.met:
            sentences.append(
                f"{constraint_words(after.name, constraints)}: met in training ({number(before.value)}), not met on "
                f"the test rows ({number(after.value)}, wanted {after.sense} {number(after.limit)})."
            )
    return sentences
