"""``omtree reasons``, ``monitor`` and ``card``: what stands up to an audit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from omtree.cli import terminal
from omtree.cli.modelling import check_different, check_writable, groups_in, load_model, read_answered, read_rows
from omtree.cli.notes import Notes
from omtree.cli.predict_command import write_answers
from omtree.cli.tables import FileOptions, column_of
from omtree.cli.use_commands import named_target, show_constraints
from omtree.data.wording import number

if TYPE_CHECKING:
    from omtree.constraints import Constraint
    from omtree.papers.monitoring import Monitoring


def run_reasons(
    model_path: str, data: str | None, n: int, codes: str | None, out: str | None, options: FileOptions
) -> None:
    """Write the reasons for every row, or a table of codes to fill in."""
    from omtree.export.model_file import write_text
    from omtree.model.reasons import table_to_fill

    check_writable(out)
    check_different({"the data": data, "the model": model_path, "--codes": codes, "--out": out})
    model: Any = load_model(model_path)
    if data is None:
        text = table_to_fill(model)
        if out is None:
            print(text, end="")
        else:
            write_text(out, text)
            print(out)
        return
    _, rows = read_rows(model, data, options)
    found = model.reasons(rows, n, codes)
    columns: dict[str, Any] = {"prediction": pa.array(model.predict(rows).tolist())}
    for place in range(n):
        columns[f"reason {place + 1}"] = pa.array(
            [str(reasons[place]) if place < len(reasons) else None for reasons in found], pa.string()
        )
    write_answers(iter([pa.table(columns)]), out)


def run_monitor(
    model_path: str, data: str, against: str | None, out: str | None, target: str | None, options: FileOptions
) -> bool:
    """Show what new rows say about a model; whether something is alarming."""
    from omtree.export.model_file import write_text
    from omtree.papers.monitoring import monitor

    check_writable(out)
    check_different({"the model": model_path, "the data": data, "--against": against, "--out": out})
    model: Any = load_model(model_path)
    name = target if target is not None else vars(model).get("target_name_")
    notes = Notes()
    table, X, y = _perhaps_answered(model, data, name, target is not None, options, notes)
    X_before = y_before = None
    if against is not None:
        _, X_before, y_before = _perhaps_answered(model, against, name, False, options, notes)
    found = monitor(model, X, y, X_before=X_before, y_before=y_before, groups=groups_in(model, table))
    for remark in (*notes, *found.notes):
        terminal.note(remark.replace("give older rows", "give a file of older rows with --against"))
    _show(found, model.constraints, classes=bool(model.rules_.classes))
    if out is not None:
        content = {"model": _hash(model_path), "data": PurePath(data).name, **found.to_dict()}
        write_text(out, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
        print(f"\nwritten to {out}")
    return bool(found.alarms)


def _perhaps_answered(
    model: Any, path: str, target: str | None, wanted: bool, options: FileOptions, notes: Notes
) -> tuple[pa.Table, Any, Any]:
    """The rows, and their true answers where the file has them."""
    table, rows = read_rows(model, path, options, notes)
    if wanted and target is not None:
        column_of(table, target, "the target", path)
    if not wanted and (model.rules_.are_actions or model.rules_.are_curves):
        kind = "policies" if model.rules_.are_actions else "survival trees"
        notes.append(f"columns and leaves of {kind} are compared here; evaluate the model in Python for the rest")
        return table, rows, None
    if target is None or target not in table.column_names:
        notes.append(f"{path} has no column with the true answers: nothing is said about accuracy")
        return table, rows, None
    return read_answered(model, path, target, options, Notes())


def _show(found: Monitoring, constraints: Sequence[Constraint], *, classes: bool) -> None:
    print(f"{found.rows:,} rows")
    if found.columns:
        terminal.show_table(
            "columns, by population stability index",
            ["column", "index", "chance", "most changed", "before", "now", ""],
            [
                [
                    each.name,
                    f"{each.index:.3f}",
                    f"{each.chance:.3f}",
                    each.bins[each.most_changed],
                    _percent(each.before[each.most_changed]),
                    _percent(each.now[each.most_changed]),
                    each.words,
                ]
                for each in found.columns
            ],
        )
    shown = "right" if classes else "mean"
    terminal.show_table(
        "leaves" + (f", index {found.leaves.index:.3f}: {found.leaves.words}" if found.leaves is not None else ""),
        ["leaf", "answer", "rows", "before", "now", f"{shown} before", f"{shown} now", ""],
        [
            [
                str(leaf.number),
                leaf.answer,
                f"{leaf.rows:,}",
                _percent(leaf.share_before),
                _percent(leaf.share_now),
                _figure(leaf.before, classes),
                _figure(leaf.now, classes),
                "ALARM" if leaf.alarming else "",
            ]
            for leaf in found.by_leaf
        ],
    )
    if found.expectation is not None:
        print(str(found.expectation))
    show_constraints(found.constraints, constraints)
    print()
    for sentence in found.alarms:
        print(f"ALARM: {sentence}")
    if not found.alarms:
        print("no alarm")


def _percent(share: float) -> str:
    return "" if share != share else f"{100 * share:.1f} %"


def _figure(value: float | None, classes: bool) -> str:
    return "" if value is None else _percent(value) if classes else number(value)


def _hash(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@dataclass(frozen=True)
class CardRequest:
    """What a person asked for on the command line."""

    model: str
    test: str | None
    data: str | None
    groups: tuple[str, ...]
    out: str
    purpose: str = ""
    owner: str = ""
    target: str | None = None
    options: FileOptions = field(default_factory=FileOptions)


def run_card(request: CardRequest) -> None:
    """Write the model card."""
    from omtree.export.model_file import write_text
    from omtree.papers.card import Evidence, make_card
    from omtree.papers.card_pages import to_html, to_markdown

    suffix = PurePath(request.out).suffix.lower()
    if suffix not in (".html", ".htm", ".md"):
        raise ValueError(f"{request.out} is of no kind that cards are written in; use .html or .md.")
    check_writable(request.out)
    check_different({"the model": request.model, "--test": request.test, "--data": request.data, "--out": request.out})
    model: Any = load_model(request.model)
    notes = Notes()
    evidence = Evidence(model_hash=_hash(request.model), today=date.today().isoformat())
    if request.test is not None:
        table, X, y = read_answered(model, request.test, named_target(model, request.target), request.options, notes)
        columns = dict(_named_columns(table, request.groups, request.test))
        evidence = evidence.with_test(
            PurePath(request.test).name, _hash(request.test), X, y, columns, groups_in(model, table)
        )
    elif request.groups:
        raise ValueError("--group shows figures on test rows; give them with --test.")
    if request.data is not None:
        _, X, _ = read_answered(model, request.data, named_target(model, request.target), request.options, notes)
        evidence = evidence.with_training(
            X, matches=_hash(request.data) == vars(model).get("origin_", {}).get("sha256")
        )
    for remark in notes:
        terminal.note(remark)
    card = make_card(model, evidence, purpose=request.purpose, owner=request.owner)
    write_text(request.out, to_markdown(card) if suffix == ".md" else to_html(card))
    print(f"card    {request.out}")
    for sentence in card.open_points:
        terminal.note(sentence)


def _named_columns(table: pa.Table, names: tuple[str, ...], path: str) -> Iterator[tuple[str, Any]]:
    for name in names:
        yield name, column_of(table, name, "--group", path).to_pylist()
