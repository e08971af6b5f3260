"""The commands, as a person sees them; the work is done by modules that are loaded when a command runs."""

from __future__ import annotations

import copy
from typing import Annotated, Literal

import typer

from omtree.cli.app import Codes, Data, Delimiter, Encoding, Missing, Model, Out, Target, app, file_options
from omtree.cli.fit_options import fit as fit
from omtree.export.sql_dialects import DialectName


@app.command()
def predict(
    model: Model,
    data: Data,
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="A CSV or Parquet file.")] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", "-p", help="Add a column per class.")] = False,
    keep: Annotated[bool, typer.Option("--keep", "-k", help="Keep the columns of the data.")] = False,
    log: Annotated[
        str | None, typer.Option(metavar="FILE", help="Append every decision to this file, one JSON object a line.")
    ] = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    encoding: Encoding = None,
) -> None:
    """Predict for every row of a table.

    Columns that the model does not know are ignored. Without --out the predictions are CSV on the screen.

    Example: omtree predict model.json new.csv --keep --out answers.csv
    """
    from omtree.cli.predict_command import run_predict

    run_predict(model, data, out, probabilities, keep, file_options(delimiter, missing, encoding), log)


@app.command()
def explain(
    model: Model,
    data: Data,
    row: Annotated[
        list[int] | None,
        typer.Option("--row", "-r", help="Number of a row, from 1; may be repeated. Default: the first 5."),
    ] = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    encoding: Encoding = None,
) -> None:
    """Say why rows get their answer, and what would change it.

    Example: omtree explain model.json new.csv --row 17
    """
    from omtree.cli.use_commands import run_explain

    run_explain(model, data, tuple(row or ()), file_options(delimiter, missing, encoding))


@app.command()
def reasons(
    model: Model,
    data: Annotated[str | None, typer.Argument(metavar="[DATA]", help="The rows; without, a table to fill in.")] = None,
    n: Annotated[int, typer.Option("-n", help="At most so many for a row.")] = 4,
    codes: Codes = None,
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="A CSV or Parquet file.")] = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    encoding: Encoding = None,
) -> None:
    """Give the reasons for every answer, the weightiest first, as codes and sentences.

    Without rows it writes a table of codes (TOML) with a line for every reason the model can give, to be reworded.

    Example: omtree reasons model.json --out codes.toml, then omtree reasons model.json new.csv --codes codes.toml
    """
    from omtree.cli.paper_commands import run_reasons

    run_reasons(model, data, n, codes, out, file_options(delimiter, missing, encoding))


@app.command()
def audit(
    model: Model,
    data: Data,
    target: Target = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    encoding: Encoding = None,
) -> None:
    """Check a model on new data: its errors and its constraints.

    The exit code is 1 when a constraint does not hold on these data.

    Example: omtree audit model.json new.csv
    """
    from omtree.cli.use_commands import run_audit

    if not run_audit(model, data, target, file_options(delimiter, missing, encoding)):
        raise typer.Exit(1)


@app.command()
def monitor(
    model: Model,
    data: Data,
    against: Annotated[
        str | None, typer.Option(metavar="FILE", help="Older rows to compare with; default: the training rows.")
    ] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="Also write it as JSON.")] = None,
    target: Target = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    encoding: Encoding = None,
) -> None:
    """Compare new rows with those of the training: columns, leaves, accuracy, constraints.

    The exit code is 3 when something asks for attention; each alarm is one sentence. Rows need no target; without one
    nothing is said about accuracy and constraints.

    Example: omtree monitor model.json today.csv --against last-year.csv
    """
    from omtree.cli.paper_commands import run_monitor

    if run_monitor(model, data, against, out, target, file_options(delimiter, missing, encoding)):
        raise typer.Exit(3)


@app.command()
def card(
    model: Model,
    test: Annotated[str | None, typer.Option(metavar="FILE", help="Data the model has not seen.")] = None,
    data: Annotated[str | None, typer.Option(metavar="FILE", help="The training data, for missing cells.")] = None,
    group: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Show figures for each of its values; may be repeated.")
    ] = None,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="An .html or .md file.")] = "card.html",
    purpose: Annotated[str, typer.Option(metavar="TEXT", help="What the model is for; left blank by default.")] = "",
    owner: Annotated[str, typer.Option(metavar="TEXT", help="Who answers for it; left blank by default.")] = "",
    target: Target = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    encoding: Encoding = None,
) -> None:
    """Write a model card: data, figures on new rows, by group, constraints, proof, limits, how to reproduce it.

    A table says where items of TRIPOD+AI and of Annex IV of the EU AI Act are answered, and which are open.

    Example: omtree card model.json --test new.csv --group sex --out card.html
    """
    from omtree.cli.paper_commands import CardRequest, run_card

    run_card(
        CardRequest(
            model,
            test,
            data,
            tuple(group or ()),
            out,
            purpose,
            owner,
            target,
            file_options(delimiter, missing, encoding),
        )
    )


@app.command()
def report(
    model: Model,
    data: Annotated[str | None, typer.Argument(metavar="[DATA]", help="The training data, for its tables.")] = None,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The HTML file to write.")] = "report.html",
    title: Annotated[str, typer.Option(metavar="TEXT", help="The heading of the report.")] = "",
    test: Annotated[str | None, typer.Option(metavar="FILE", help="Data the model has not seen.")] = None,
    target: Target = None,
    delimiter: Delimiter = None,
    missing: Missing = None,
    encoding: Encoding = None,
) -> None:
    """Write a report: one HTML file with the tree, its proof and its errors.

    Example: omtree report model.json train.csv --test test.csv --out report.html
    """
    from omtree.cli.use_commands import run_report

    run_report(model, data, out, test, target, file_options(delimiter, missing, encoding), title)


@app.command()
def export(
    model: Model,
    format: Annotated[
        Literal["sql", "python", "pmml", "onnx", "mermaid", "dot", "svg", "text", "json"] | None,
        typer.Option("--format", "-f", help="Default: what the name of the file says."),
    ] = None,
    out: Out = None,
    table: Annotated[str | None, typer.Option(help="SQL: a query over this table, not only an expression.")] = None,
    dialect: Annotated[DialectName | None, typer.Option(help="SQL: the database it is for; default: ansi.")] = None,
    leaves: Annotated[int | None, typer.Option("--leaves", "-l", help="The best tree with at most so many.")] = None,
    reasons: Annotated[int, typer.Option(metavar="N", help="SQL, Python: also the N weightiest reasons.")] = 0,
    codes: Codes = None,
) -> None:
    """Write a model in another language.

    Example: omtree export model.json --out model.sql --table patients
    """
    from omtree.cli.export_command import run_export

    run_export(model, format, out, table, dialect, leaves, reasons, codes)


@app.command()
def graph(
    model: Model,
    out: Out = None,
    feature: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Show only this column; may be repeated (SVG).")
    ] = None,
) -> None:
    """Draw the feature graph: every condition that a rule could use (SVG or DOT).

    Example: omtree graph model.json --out graph.svg
    """
    from omtree.cli.export_command import run_graph

    run_graph(model, out, tuple(feature or ()))


@app.command()
def studio(
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="A table, as for fit; without one, data that come along.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")
    ] = None,
    test: Annotated[str | None, typer.Option(metavar="FILE", help="Rows to try every tree on.")] = None,
    session: Annotated[
        str | None, typer.Option(metavar="FILE", help="A session that was saved, to go on with.")
    ] = None,
    port: Annotated[int, typer.Option(help="Of the address; 0 is any that is free.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    time_limit: Annotated[float, typer.Option(help="Most seconds of one fit.")] = 60.0,
    memory: Annotated[
        int, typer.Option(metavar="MB", help="Most memory of one fit beyond the rows; 0: no limit.")
    ] = 4096,
    delimiter: Delimiter = None,
    missing: Missing = None,
    encoding: Encoding = None,
) -> None:
    """Open a page on which to ask for a tree, see it at once, change it and save it.

    The page is served by this machine to this machine only. Ctrl-C ends it.

    Example: omtree studio patients.csv --target outcome --test new.csv
    """
    try:
        from omtree.studio.launch import run_studio
    except ModuleNotFoundError as fault:
        raise ValueError(
            f"The studio needs the package {fault.name}; install it with pip install 'omtree[studio]'."
        ) from None

    run_studio(
        data,
        target,
        test,
        session,
        port=port,
        browser=browser,
        seconds=time_limit,
        memory=memory,
        options=file_options(delimiter, missing, encoding),
    )


@app.command()
def demo(
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FOLDER", help="Where to keep the files.")] = None,
) -> None:
    """Fit a tree to data that comes along, and show what can be done with it."""
    from omtree.cli.demo import run_demo

    run_demo(out)


def only(name: list[str]) -> typer.Typer:
    """The command line with the one command of this name, or with all: making them takes longer than running one."""
    asked = [each for each in app.registered_commands if each.callback is not None and [each.callback.__name__] == name]
    if not asked:
        return app
    small = copy.copy(app)
    small.registered_commands = asked
    return small
