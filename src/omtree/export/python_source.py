"""Models as Python source that needs nothing but Python."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from omtree.data.table import Feature
from omtree.export.logic import Branching, Logic, Rung, Test, members
from omtree.export.python_reading import read_cell, reading_helpers
from omtree.model.line import Line

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase

_TAKEN = frozenset(
    {
        "row",
        "rule",
        "predict",
        "predict_proba",
        "reasons",
        "failed",
        "str",
        "float",
        "int",
        "bool",
        "isinstance",
        "datetime",
    }
)

_HELPERS = '''
def _cell(value):
    """The cell, None where it is missing."""
    return None if value is None or value != value else value


def _text(value):
    """The text of a cell where numbers and texts share a column."""
    if value is None or isinstance(value, (str, bool)):
        return value if value is None else str(value)
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)
'''


def to_python(model: OptimalTreeBase, reasons: int = 0, reason_codes: Any = None) -> str:
    """The model as a Python module with ``predict(row)``, and ``predict_proba(row)`` for classes.

    A row is a mapping from the names of the columns to cells; None and NaN are missing, and so is a column that the
    row does not have.

    Parameters
    ----------
    model : fitted model
    reasons : int
        With a number, the module also has ``reasons(row)``: so many reasons for the answer, the weightiest first, as
        pairs of code and sentence.
    reason_codes : ReasonCodes or path, optional
        From conditions to codes and sentences.
    """
    logic = Logic.of(model)
    variables = _variables(logic.features)
    verdict = str(model.certificate_).splitlines()[0]
    parts = [
        f'"""{_doc(f"A model fitted by omtree; {verdict}")}.\n\nUse predict(row) with a dict of cells."""',
        "PREDICTIONS = (" + "".join(f"\n    {_said(value)!r}," for value in logic.predictions) + "\n)",
    ]
    if logic.shares:
        parts += [
            f"CLASSES = ({', '.join(map(repr, logic.classes))},)",
            "SHARES = (" + "".join(f"\n    {share!r}," for share in logic.shares) + "\n)",
        ]
    lines = ["def rule(row):", '    """The position of the rule that answers for a row."""']
    lines += [f"    {variables[feature.name]} = {_read(feature, logic)}" for feature in logic.features]
    if logic.root is not None:
        lines += _tree(logic.root, variables, "    ")
    else:
        lines += _ladder(logic.ladder, variables)
    along = list(logic.line_features.values())
    helpers = reading_helpers([logic.sources[feature.name] for feature in (*logic.features, *along)])
    parts += [_HELPERS.strip(), *helpers, "\n".join(lines)]
    parts += [_line_cells(along, logic), _PREDICT_LINE] if model.rules_.are_lines else [_PREDICT]
    if logic.shares:
        parts.append(_PROBA)
    if reasons:
        from omtree.model.reasons import leaf_reasons

        found = [tuple((each.code, each.sentence) for each in of) for of in leaf_reasons(model, reasons, reason_codes)]
        parts += ["REASONS = (" + "".join(f"\n    {pairs!r}," for pairs in found) + "\n)", _REASONS]
    return "\n\n\n".join(parts) + "\n"


_PREDICT = '''def predict(row):
    """What the model says of a row."""
    return PREDICTIONS[rule(row)]'''

_PREDICT_LINE = '''def predict(row):
    """What the model says of a row: the mean of its rule, and what its columns add to that."""
    answer, slopes = PREDICTIONS[rule(row)]
    cells = line_cells(row)
    for name, slope, at, missing in slopes:
        cell = cells[name]
        answer += slope * ((missing if cell is None else float(cell)) - at)
    return answer'''

_PROBA = '''def predict_proba(row):
    """The share of each class among the training rows of the row's rule."""
    return dict(zip(CLASSES, SHARES[rule(row)]))'''


_REASONS = '''def reasons(row):
    """Code and sentence of what decided about a row, the weightiest first."""
    return REASONS[rule(row)]'''


def _said(value: Any) -> Any:
    """What a rule predicts; of a line its mean, and name, slope, mean and value for missing cells of each column."""
    if not isinstance(value, Line):
        return value
    return value.mean, tuple((part.name, part.slope, part.at, part.missing) for part in value.slopes)


def _line_cells(features: Sequence[Feature], logic: Logic) -> str:
    """The function that reads the columns of lines."""
    cells = "".join(f"\n        {feature.name!r}: {_read(feature, logic)}," for feature in features)
    return f'def line_cells(row):\n    """The columns that lines go along."""\n    return {{{cells}\n    }}'


def _variables(features: tuple[Feature, ...]) -> dict[str, str]:
    """A variable per column: its name where that can be one."""
    fit = {
        feature.name: re.fullmatch(r"[a-z][a-z0-9_]*", feature.name) is not None
        and not keyword.iskeyword(feature.name)
        and not keyword.issoftkeyword(feature.name)
        and feature.name not in _TAKEN
        and re.fullmatch(r"x\d+", feature.name) is None
        for feature in features
    }
    return {feature.name: feature.name if fit[feature.name] else f"x{feature.column}" for feature in features}


def _read(feature: Feature, logic: Logic) -> str:
    reading, part = logic.sources[feature.name]
    cell = read_cell(f"_cell(row.get({reading.name!r}))", reading, part)
    if reading.how in ("number", "moment"):
        return cell
    levels = () if feature.levels is None else members(feature.levels)
    if not any(isinstance(level, str) for level in levels):
        return cell
    if all(isinstance(level, str) for level in levels):
        return f"_text({cell})"
    # A level is found as it is, or by its text.
    others = tuple(level for level in levels if not isinstance(level, str))
    return f"{cell} if {cell} in {others!r} else _text({cell})"


def _tree(node: Branching | int, variables: dict[str, str], lead: str) -> list[str]:
    if isinstance(node, int):
        return [f"{lead}return {node}"]
    lines = []
    for test, below in node.branches:
        lines += [f"{lead}if {_test(test, variables)}:", *_tree(below, variables, lead + "    ")]
    lines.append(f"{lead}# {_comment(node.otherwise_text)}, or never seen")
    return lines + _tree(node.otherwise, variables, lead)


def _ladder(ladder: tuple[Rung, ...], variables: dict[str, str]) -> list[str]:
    *rungs, last = ladder
    lines = []
    for rung in rungs:
        tests = [_test(test, variables) for test in rung.tests]
        if rung.failures == 0:
            question = " and ".join(f"({test})" if " or " in test else test for test in tests)
        else:
            question = f"sum((not ({'), not ('.join(tests)}))) <= {rung.failures}"
            if len(tests) == 1:
                question = f"(not ({tests[0]})) <= {rung.failures}"
        lines += [f"    if {question}:", f"        return {rung.rule}"]
    return [*lines, f"    return {last.rule}"]


def _test(test: Test, variables: dict[str, str]) -> str:
    name = variables[test.feature.name]
    parts = []
    for low, high in test.intervals:
        if low is None and high is None:
            parts.append(f"{name} is not None")
        elif low is None:
            parts.append(f"{name} is not None and {name} < {high!r}")
        elif high is None:
            parts.append(f"{name} is not None and {name} >= {low!r}")
        else:
            parts.append(f"{name} is not None and {low!r} <= {name} < {high!r}")
    if test.negated:
        parts.append(f"{name} is not None and {name} not in {test.values!r}")
    elif len(test.values) == 1:
        parts.append(f"{name} == {test.values[0]!r}")
    elif test.values:
        parts.append(f"{name} in {test.values!r}")
    if test.missing:
        parts.append(f"{name} is None")
    if not parts:
        return "False"
    return parts[0] if len(parts) == 1 else " or ".join(f"({part})" if " and " in part else part for part in parts)


def _comment(text: str) -> str:
    """Text that cannot end its comment, whatever a column is called."""
    return " ".join(text.split()) if text.isprintable() else repr(text)


def _doc(text: str) -> str:
    return text.replace("\\", " ").replace('"', "'")
