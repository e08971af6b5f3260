"""``omtree export`` and ``graph``: a saved model in another language or as a picture."""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import Any

from omtree.cli.modelling import check_writable, load_model
from omtree.export.sql_dialects import DialectName

_BY_SUFFIX = {
    ".sql": "sql",
    ".py": "python",
    ".pmml": "pmml",
    ".xml": "pmml",
    ".onnx": "onnx",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".dot": "dot",
    ".gv": "dot",
    ".svg": "svg",
    ".txt": "text",
    ".json": "json",
}


def run_export(
    model_path: str,
    format: str | None,
    out: str | None,
    table: str | None,
    dialect: DialectName | None,
    leaves: int | None,
    reasons: int = 0,
    codes: str | None = None,
) -> None:
    """Write the model in a format; by default the one of the file's name."""
    check_writable(out)
    if format is None:
        format = _BY_SUFFIX.get(PurePath(out).suffix.lower()) if out is not None else None
        if format is None:
            where = "there is no file name to tell it" if out is None else f"the name {out} does not tell it"
            raise ValueError(f"--format is needed: {where}.")
    for option, value in (("--table", table), ("--dialect", dialect)):
        if value is not None and format != "sql":
            raise ValueError(f"{option} is for --format sql only.")
    if codes is not None and not reasons:
        raise ValueError("--codes is for reasons; say how many with --reasons.")
    if reasons and format not in ("sql", "python"):
        raise ValueError("--reasons is for --format sql and python only.")
    if reasons and format == "sql" and table is None:
        raise ValueError("--reasons are columns of a query; name the table it is over with --table.")
    model: Any = load_model(model_path)
    if leaves is not None:
        model = model.with_leaves(leaves)
    if format == "onnx":
        content: bytes = model.to_onnx().SerializeToString()
        if out is None and sys.stdout.isatty():
            raise ValueError("ONNX is binary; name a file with --out.")
        _write(content, out)
        return
    if format == "text":
        from omtree.model.text import to_text

        text = to_text(model)
    elif format == "sql":
        text = model.to_sql(table, dialect=dialect or "ansi", reasons=reasons, reason_codes=codes)
    elif format == "python":
        text = model.to_python(reasons=reasons, reason_codes=codes)
    else:
        text = getattr(model, f"to_{format}")()
    _write((text.rstrip("\n") + "\n").encode("utf-8"), out)


def run_graph(model_path: str, out: str | None, features: tuple[str, ...]) -> None:
    """Draw the feature graph, as SVG where the file's name says so, else in the DOT language."""
    check_writable(out)
    model = load_model(model_path)
    if out is not None and out.lower().endswith(".svg"):
        from omtree.report.graph_picture import graph_to_svg

        text = graph_to_svg(model, list(features) or None)
    elif features:
        raise ValueError("--feature is for SVG files only; use --out graph.svg.")
    else:
        text = model.graph_.to_dot()
    _write((text.rstrip("\n") + "\n").encode("utf-8"), out)


def _write(content: bytes, out: str | None) -> None:
    from omtree.export.model_file import write_bytes

    if out is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    write_bytes(out, content)
    print(out)
