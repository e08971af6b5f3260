"""Models as SQL: one ``CASE`` expression over the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from omtree.data.wording import show_number
from omtree.export.logic import Branching, Logic, Rung, Test, plain
from omtree.export.sql_cells import Cells
from omtree.export.sql_dialects import Dialect, DialectName, find_dialect
from omtree.model.line import Line
from omtree.sources.several import JointClasses, NumberTargets

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase

#: Whole numbers up to here are written without a fraction: every SQL type of number holds them exactly.
_SAFE_WHOLE = 2**24


def to_sql(
    model: OptimalTreeBase,
    table: str | None = None,
    *,
    probability_of: Any = None,
    dialect: DialectName = "ansi",
    reasons: int = 0,
    reason_codes: Any = None,
) -> str:
    """The model as a ``CASE`` expression, or as a query over a table.

    Missing cells are NULL, or texts that mean missing. Text is compared as the database compares it; columns of text
    that were read as numbers are read so here. Dates are written for "ansi", "postgres" and "duckdb".

    Parameters
    ----------
    model : fitted model
    table : str, optional
        With a table, the result is a query with all its columns and one more, ``prediction`` (or ``probability``);
        of several targets one for each, ``prediction_`` and its name.
    probability_of : optional
        A class, for its share in the training rows of the row's rule in place of the prediction.
    dialect : {"ansi", "postgres", "sqlite", "duckdb", "mysql", "bigquery", "snowflake", "tsql"}
        The database it is for: they quote names and texts in different ways.
    reasons : int
        With a table: so many more columns, ``reason_1`` and so on, with the weightiest reasons for the prediction, as
        codes where the table of codes has one, else as sentences; NULL where there are fewer.
    reason_codes : ReasonCodes or path, optional
        From conditions to codes.
    """
    logic = Logic.of(model)
    written = _Writer(find_dialect(dialect), logic)
    answers = _answers(model, logic, probability_of)
    if table is None:
        if reasons:
            raise ValueError("Reasons are columns of a query; name the table it is over.")
        if len(answers) > 1:
            raise ValueError("Several targets are columns of a query; name the table it is over.")
    outputs = {
        name: written.expression(logic, [written.said(value, logic) for value in values])
        for name, values in answers.items()
    }
    if table is None:
        (expression,) = outputs.values()
        return expression
    if reasons:
        from omtree.model.reasons import leaf_reasons

        found = leaf_reasons(model, reasons, reason_codes)
        for place in range(reasons):
            texts = [written.value(of[place].short) if place < len(of) else "NULL" for of in found]
            # Where no leaf has so many, the database still has to know that it is a text.
            always = f"CAST(NULL AS {written.dialect.text_type})"
            outputs[f"reason_{place + 1}"] = always if set(texts) == {"NULL"} else written.expression(logic, texts)
    columns = ", ".join(f"{text} AS {written.name(name)}" for name, text in outputs.items())
    return f"SELECT *, {columns}\nFROM {written.name(table)}"


def _answers(model: OptimalTreeBase, logic: Logic, probability_of: Any) -> dict[str, Sequence[Any]]:
    """The columns of answers, and what each rule says in them."""
    targets: JointClasses | NumberTargets | None = vars(model).get("outputs_")
    if probability_of is not None:
        return {"probability": logic.values(probability_of)}
    if targets is None:
        return {"prediction": logic.predictions}
    said = logic.predictions
    if isinstance(targets, JointClasses):
        said = tuple(targets.answers(np.array([rule.label for rule in model.rules_])))
    return {f"prediction_{name}": [plain(each[place]) for each in said] for place, name in enumerate(targets.names)}


class _Writer:
    """Writes tests and values in a dialect."""

    def __init__(self, dialect: Dialect, logic: Logic) -> None:
        self.dialect = dialect
        self.name = dialect.name
        self.cells = Cells(dialect, logic.sources, self.value)

    def expression(self, logic: Logic, values: list[str]) -> str:
        """What to say of a row, given what to say of each rule."""
        if isinstance(logic.root, int):
            return values[logic.root]
        if logic.root is not None:
            return self.tree(logic.root, values, "")
        return self.ladder(logic.ladder, values)

    def tree(self, node: Branching | int, values: list[str], lead: str) -> str:
        """What is behind a node."""
        if isinstance(node, int):
            return values[node]
        inner = lead + "  "
        lines = ["CASE"]
        lines += [
            f"{inner}WHEN {self._test(test)} THEN {self.tree(below, values, inner)}" for test, below in node.branches
        ]
        lines.append(f"{inner}ELSE {self.tree(node.otherwise, values, inner)}")
        return "\n".join([*lines, f"{lead}END"])

    def ladder(self, ladder: tuple[Rung, ...], values: list[str]) -> str:
        """One question after the other."""
        *rungs, last = ladder
        if not rungs:
            return values[last.rule]
        lines = [f"  WHEN {self._rung(rung)} THEN {values[rung.rule]}" for rung in rungs]
        return "\n".join(["CASE", *lines, f"  ELSE {values[last.rule]}", "END"])

    def said(self, value: Any, logic: Logic) -> str:
        """What a rule says: a value, or a line along columns."""
        if not isinstance(value, Line):
            return self.value(value)
        features, text = logic.line_features, self.value(value.mean)
        for part in value.slopes:
            feature = features[part.column]
            missing, cell = self.cells.is_missing(feature), self.cells.cell(feature)
            there = f"CASE WHEN {missing} THEN {self.value(part.missing)} ELSE {cell} END"
            text += f" + {self.value(part.slope)} * ({there} - {self.value(part.at)})"
        return f"({text})" if value.slopes else text

    def value(self, value: Any) -> str:
        """A value as a literal."""
        if isinstance(value, bool):
            return self.dialect.true if value else self.dialect.false
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            if value.is_integer() and abs(value) <= _SAFE_WHOLE:
                return str(int(value))
            text = show_number(value)
            # The exponent makes it a floating-point literal; without one it is a decimal, which some round on the way.
            return text if "e" in text else f"{text}e0"
        return self.dialect.text(str(value))

    def _rung(self, rung: Rung) -> str:
        if rung.failures == 0:
            return " AND ".join(map(self._test, rung.tests))
        failed = " + ".join(f"CASE WHEN {self._test(test)} THEN 0 ELSE 1 END" for test in rung.tests)
        return f"{failed} <= {rung.failures}"

    def _test(self, test: Test) -> str:
        feature = test.feature
        cell = self.cells.cell(feature)
        parts = []
        for low, high in test.intervals:
            bounds = [] if low is None else [f"{cell} >= {self.cells.literal(feature, low)}"]
            bounds += [] if high is None else [f"{cell} < {self.cells.literal(feature, high)}"]
            parts.append(" AND ".join(bounds) or f"{cell} IS NOT NULL")
        values = [self.cells.literal(feature, value) for value in test.values]
        if test.negated:
            others = f" AND {cell} NOT IN ({', '.join(values)})" if values else ""
            parts.append(f"NOT ({self.cells.is_missing(feature)}){others}")
        elif len(values) == 1:
            parts.append(f"{cell} = {values[0]}")
        elif values:
            parts.append(f"{cell} IN ({', '.join(values)})")
        if test.missing:
            parts.append(self.cells.is_missing(feature))
        if len(parts) == 1:
            joined = (len(test.intervals) == 1 and " AND " in parts[0]) or test.negated or test.missing
            return f"({parts[0]})" if joined else parts[0]
        return f"({' OR '.join(parts)})"
