"""Models as SQL: one ``CASE`` expression over the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omtree.data.wording import show_number
from omtree.export.logic import Branching, Logic, Rung, Test

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase

#: Whole numbers up to here are written without a fraction: every SQL type of number holds them exactly.
_SAFE_WHOLE = 2**24


def to_sql(model: OptimalTreeBase, table: str | None = None, *, probability_of: Any = None, quote: str = '"') -> str:
    """The model as a ``CASE`` expression, or as a query over a table.

    Missing cells are NULL. Text is compared as the database compares it.

    Parameters
    ----------
    model : fitted model
    table : str, optional
        With a table, the result is a query with all its columns and one more, ``prediction`` (or ``probability``).
    probability_of : optional
        A class, for its share in the training rows of the row's rule in place of the prediction.
    quote : str
        What names are quoted with; MySQL and BigQuery want a backtick.
    """
    logic = Logic.of(model)
    values = [_literal(value) for value in logic.values(probability_of)]
    names = _Names(quote)
    if isinstance(logic.root, int):
        expression = values[logic.root]
    elif logic.root is not None:
        expression = _tree(logic.root, values, names, "")
    else:
        expression = _ladder(logic.ladder, values, names)
    if table is None:
        return expression
    output = "prediction" if probability_of is None else "probability"
    return f"SELECT *, {expression} AS {names(output)}\nFROM {names(table)}"


class _Names:
    """Quotes names."""

    def __init__(self, quote: str) -> None:
        self.quote = quote

    def __call__(self, name: str) -> str:
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote


def _tree(node: Branching | int, values: list[str], names: _Names, lead: str) -> str:
    if isinstance(node, int):
        return values[node]
    inner = lead + "  "
    lines = ["CASE"]
    lines += [
        f"{inner}WHEN {_test(test, names)} THEN {_tree(below, values, names, inner)}" for test, below in node.branches
    ]
    lines.append(f"{inner}ELSE {_tree(node.otherwise, values, names, inner)}")
    return "\n".join([*lines, f"{lead}END"])


def _ladder(ladder: tuple[Rung, ...], values: list[str], names: _Names) -> str:
    *rungs, last = ladder
    if not rungs:
        return values[last.rule]
    lines = [f"  WHEN {_rung(rung, names)} THEN {values[rung.rule]}" for rung in rungs]
    return "\n".join(["CASE", *lines, f"  ELSE {values[last.rule]}", "END"])


def _rung(rung: Rung, names: _Names) -> str:
    if rung.failures == 0:
        return " AND ".join(_test(test, names) for test in rung.tests)
    failed = " + ".join(f"CASE WHEN {_test(test, names)} THEN 0 ELSE 1 END" for test in rung.tests)
    return f"{failed} <= {rung.failures}"


def _test(test: Test, names: _Names) -> str:
    column = names(test.feature.name)
    parts = []
    for low, high in test.intervals:
        bounds = [] if low is None else [f"{column} >= {_literal(low)}"]
        bounds += [] if high is None else [f"{column} < {_literal(high)}"]
        parts.append(" AND ".join(bounds) or f"{column} IS NOT NULL")
    if len(test.values) == 1:
        parts.append(f"{column} = {_literal(test.values[0])}")
    elif test.values:
        parts.append(f"{column} IN ({', '.join(map(_literal, test.values))})")
    if test.missing:
        parts.append(f"{column} IS NULL")
    if len(parts) == 1:
        return f"({parts[0]})" if " AND " in parts[0] else parts[0]
    return f"({' OR '.join(parts)})"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if value.is_integer() and abs(value) <= _SAFE_WHOLE:
            return str(int(value))
        text = show_number(value)
        # The exponent makes it a floating-point literal; without one it is a decimal, which some round on the way.
        return text if "e" in text else f"{text}e0"
    return "'" + str(value).replace("'", "''") + "'"
