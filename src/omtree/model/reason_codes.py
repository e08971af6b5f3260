"""Tables of reason codes: from a condition to a code and a sentence, in a TOML file."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from omtree.data.table import Feature
from omtree.data.wording import answer as answer_words
from omtree.problem.graph import Condition

#: What a condition asks of its column: small values, large ones, some in the middle, a missing cell, or certain values.
When = Literal["low", "high", "between", "missing", "among"]


@dataclass(frozen=True)
class ReasonCode:
    """One line of a table.

    Attributes
    ----------
    column : str
    sentence : str
        What a person is told.
    code : str
        Its short name.
    when : {"low", "high", "between", "missing", "among"} or None
        The conditions it is for; by default any on the column.
    condition : str or None
        The one condition it is for, in the words of the model.
    answer : str or None
        The answer it is a reason for; by default any.
    """

    column: str
    sentence: str
    code: str = ""
    when: When | None = None
    condition: str | None = None
    answer: str | None = None

    def fits(self, name: str, kind: When, words: str, answer: str) -> bool:
        """Whether it is for this condition and this answer."""
        return (
            self.column == name
            and self.when in (None, kind)
            and self.condition in (None, words)
            and self.answer in (None, answer)
        )


class ReasonCodes:
    """A table of reason codes; the first line that fits a condition speaks for it.

    Parameters
    ----------
    lines : sequence of ReasonCode

    Examples
    --------
    >>> codes = ReasonCodes.loads('''
    ... [[reason]]
    ... column = "income"
    ... when = "low"
    ... code = "R01"
    ... sentence = "The income is too low for this amount."
    ... ''')
    >>> codes.lines[0].code
    'R01'
    """

    def __init__(self, lines: Sequence[ReasonCode] = ()) -> None:
        self.lines = tuple(lines)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ReasonCodes:
        """The table in a TOML file; see `loads`."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            return cls.loads(text)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None

    @classmethod
    def loads(cls, text: str) -> ReasonCodes:
        """The table in a TOML text: one ``[[reason]]`` for each line, with the attributes of `ReasonCode` as keys."""
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"This is not TOML: {error}.") from None
        tables = content.get("reason", [])
        if set(content) - {"reason"} or not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
            raise ValueError("A table of reasons has nothing but tables [[reason]]; write each reason as one.")
        return cls([_line(table, number) for number, table in enumerate(tables, start=1)])

    def check(self, names: Sequence[str]) -> None:
        """Complain about a column that a model does not have."""
        for number, line in enumerate(self.lines, start=1):
            if line.column not in names:
                raise ValueError(f"Reason {number} names the column {line.column!r}, which the model does not know.")

    def find(self, condition: Condition, feature: Feature, prediction: Any, classes: Sequence[Any]) -> tuple[str, str]:
        """Code and sentence for a condition; no code and the condition itself where no line fits."""
        words = condition.text or feature.describe(condition.codes)
        kind, said = kind_of(feature, condition.codes), answer_words(prediction, classes)
        for line in self.lines:
            if line.fits(feature.name, kind, words, said):
                return line.code, line.sentence
        return "", words


def kind_of(feature: Feature, codes: Sequence[int]) -> When:
    """What a condition with these codes asks of the column.

    >>> import numpy as np
    >>> age = Feature("age", 0, "numeric", 3, True, thresholds=np.array([18.0, 35.0]))
    >>> [kind_of(age, codes) for codes in ((0,), (1,), (2, 3), (3,), (0, 2))]
    ['low', 'between', 'high', 'missing', 'among']
    """
    values = sorted(code for code in codes if code < feature.n_values)
    if not values:
        return "missing"
    if not feature.ordered or len(values) != values[-1] - values[0] + 1 or len(values) == feature.n_values:
        return "among"
    if values[0] == 0:
        return "low"
    return "high" if values[-1] == feature.n_values - 1 else "between"


def to_toml(lines: Sequence[ReasonCode]) -> str:
    """Lines as TOML text, from which `ReasonCodes.loads` makes equal ones."""
    tables = []
    for line in lines:
        keys: Mapping[str, Any] = {field.name: getattr(line, field.name) for field in fields(line)}
        order = ("column", "when", "condition", "answer", "code", "sentence")
        written = [f"{key} = {_text(keys[key])}" for key in order if keys[key] is not None]
        tables.append("\n".join(["[[reason]]", *written, ""]))
    return "\n".join(tables)


def _text(text: str) -> str:
    # JSON's texts are TOML's, but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _line(table: Mapping[str, Any], number: int) -> ReasonCode:
    known = [field.name for field in fields(ReasonCode)]
    for key, value in table.items():
        if key not in known:
            raise ValueError(f"Reason {number} has the unknown key {key!r}; it takes {', '.join(known)}.")
        if not isinstance(value, str):
            raise ValueError(f"Reason {number} has {value!r} as {key!r}; write a text.")
    for key in ("column", "sentence"):
        if key not in table:
            raise ValueError(f"Reason {number} lacks the key {key!r}.")
    if table.get("when") not in (None, *get_args(When)):
        raise ValueError(f"Reason {number} has when = {table['when']!r}; use one of {', '.join(get_args(When))}.")
    return ReasonCode(**table)
