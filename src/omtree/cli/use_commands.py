"""``omtree explain``, ``audit`` and ``report``: what is done with a saved model and a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omtree.cli import terminal
from omtree.cli.modelling import (
    check_different,
    check_writable,
    groups_in,
    load_model,
    read_answered,
    read_rows,
)
from omtree.cli.notes import Notes
from omtree.cli.tables import FileOptions
from omtree.constraints.words import constraint_words
from omtree.data.wording import amount, counts_rows, number, text_of

if TYPE_CHECKING:
    from omtree.constraints import Constraint, ConstraintCheck
    from omtree.estimators.base import OptimalTreeBase

#: Rows that `explain` shows when none are named.
_FIRST_ROWS = 5


def run_explain(model_path: str, data: str, numbers: tuple[int, ...], options: FileOptions) -> None:
    """Say why rows get their answer."""
    model = load_model(model_path)
    table, rows = read_rows(model, data, options)
    for row in numbers:
        if not 1 <= row <= table.num_rows:
            raise ValueError(f"--row {row} is not there; {data} has rows 1 to {table.num_rows}.")
    chosen = [row - 1 for row in numbers] or list(range(min(_FIRST_ROWS, table.num_rows)))
    part = rows.take(chosen) if isinstance(rows, pa.Table) else rows[chosen]
    for row, explanation in zip(chosen, model.explain(part), strict=True):
        print(f"row {row + 1}: {explanation}")
    left = table.num_rows - len(chosen)
    if not numbers and left:
        terminal.note(f"{left} more rows are not shown; choose with --row")


def score_line(model: OptimalTreeBase, X: Any, y: Any) -> str:
    """How well a model does on rows, in words."""
    fitted: Any = model
    predicted = fitted.predict(X)
    if model.rules_.are_curves:
        return f"concordance {fitted.score(X, y):.3f}, integrated Brier score {fitted.brier_score(X, y):.3f}"
    if "classes_" in vars(model):
        wrong = int((predicted != y).sum())
        return (
            f"{wrong:,} error{'' if wrong == 1 else 's'} in {len(y):,} rows ({100 * (1 - wrong / len(y)):.1f} % right)"
        )
    error = predicted - np.asarray(y, dtype=np.float64)
    spread = float(((y - np.mean(y)) ** 2).mean())
    fit = f", R2 {1 - float((error**2).mean()) / spread:.3f}" if spread > 0 else ""
    return (
        f"mean absolute error {number(float(np.abs(error).mean()))}, "
        f"root mean squared error {number(float(np.sqrt((error**2).mean())))}{fit}, {len(y):,} rows"
    )


def run_audit(
    model_path: str,
    data: str,
    target: str | None,
    options: FileOptions,
) -> bool:
    """Show errors and constraints on new data; whether all constraints hold.

    The columns that the constraints' groups are in are found in the data by name.
    """
    model: Any = load_model(model_path)
    notes = Notes()
    table, rows, y = read_answered(model, data, named_target(model, target), options, notes)
    for remark in notes:
        terminal.note(remark)
    print(score_line(model, rows, y))
    trained = model.certificate_
    if trained.weight > 0:
        size = amount(trained.weight, counts_rows([trained.weight]))
        print(f"in training: {number(trained.value)} {trained.unit_of(trained.value)} in {size}")
    if "classes_" in vars(model):
        _confusion(model, rows, y)
    return show_constraints(model.audit(rows, y, groups=groups_in(model, table)), model.constraints)


def _confusion(model: Any, rows: Any, y: Any) -> None:
    predicted = model.predict(rows)
    labels = model.classes_.tolist()
    unseen = sorted({value for value in y.tolist() if value not in labels}, key=str)
    true = [*labels, *unseen]
    counts = [[str(int(((y == t) & (predicted == p)).sum())) for p in labels] for t in true]
    terminal.show_table(
        "true class by predicted class",
        ["", *(text_of(label) for label in labels)],
        [[text_of(label), *row] for label, row in zip(true, counts, strict=True)],
    )
    if unseen:
        rows_of = int(np.isin(y, unseen).sum())
        named = ", ".join(map(text_of, unseen[:5])) + (" and more" if len(unseen) > 5 else "")
        terminal.note(
            f"{rows_of:,} {'row is' if rows_of == 1 else 'rows are'} of classes the model does not know ({named}), "
            "and count as errors"
        )


def show_constraints(checks: Sequence[ConstraintCheck], constraints: Sequence[Constraint]) -> bool:
    """The constraints with limit, value and slack; whether all of them hold."""
    if not checks:
        return True
    rows = []
    for check in checks:
        limit = f"{check.sense} {_shown(check.limit)}"
        rows.append([constraint_words(check.name, constraints), _shown(check.value), limit, _shown(check.slack)])
        rows[-1].append("yes" if check.met else "NO")
    terminal.show_table("constraints", ["constraint", "value", "limit", "slack", "holds"], rows)
    return all(row[-1] == "yes" for row in rows)


def _shown(value: float) -> str:
    return number(value) if math.isfinite(value) else "-" if math.isnan(value) else str(value)


def named_target(model: Any, target: str | None) -> str:
    """What the column with the true answers is called."""
    name = target if target is not None else vars(model).get("target_name_")
    if name is None:
        raise ValueError("The model does not say what its target was called; name its column with --target.")
    return str(name)


def run_report(
    model_path: str,
    data: str | None,
    out: str,
    test: str | None,
    target: str | None,
    options: FileOptions,
    title: str = "",
) -> None:
    """Write the HTML report."""
    check_writable(out)
    check_different({"the model": model_path, "the data": data, "--test": test, "--out": out})
    notes = Notes()
    model = load_model(model_path)
    X = y = X_test = y_test = groups_test = None
    if data is not None:
        _, X, y = read_answered(model, data, named_target(model, target), options, notes)
    if test is not None:
        table, X_test, y_test = read_answered(model, test, named_target(model, target), options, notes)
        groups_test = groups_in(model, table)
    for remark in notes:
        terminal.note(remark)
    model.report(out, X=X, y=y, X_test=X_test, y_test=y_test, groups_test=groups_test, title=title)
    print(f"report  {out}")
