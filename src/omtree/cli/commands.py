"""The commands, as a person sees them; the work is done by modules that are loaded when a command runs."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from omtree.export.sql_dialects import DialectName

if TYPE_CHECKING:
    from omtree.cli.tables import FileOptions

app = typer.Typer(
    name="omtree",
    help="Fit the best small decision tree to a table, with a proof of how good it is, and use it.",
    epilog="Start with: omtree demo. A fault gives one sentence; add --debug to any command for the details.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV (.gz too), Excel, JSON, Parquet or Arrow file; - is standard input.")
]
FitData = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV (.gz too), Excel, JSON, Parquet or Arrow file; - is standard input; or a folder or 'pattern*'.",
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model that omtree fit saved.")]
Out = Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write; default: the screen.")]
Delimiter = Annotated[
    str | None, typer.Option(metavar="CHAR", help="Between the cells of a CSV file; found by itself by default.")
]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="A cell that means missing, besides NA, ?, - and the like; may be repeated."),
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of a text file, such as cp1252; found by itself by default.")
]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COLUMN", help="The target's column, if its name has changed."),
]

Codes = Annotated[str | None, typer.Option(metavar="FILE", help="Codes and sentences of reasons, in a TOML file.")]


def _options(
    delimiter: str | None, missing: list[str] | None, encoding: str | None, decimal: Literal[".", ","] | None = None
) -> FileOptions:
    from omtree.cli.tables import FileOptions

    return FileOptions(delimiter, tuple(missing or ()), encoding, decimal)


def _show_version(wanted: bool) -> None:
    if wanted:
        from omtree import __version__

        print(f"omtree {__version__}")
        raise typer.Exit


@app.callback()
def omtree(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Fit the best small decision tree to a table, with a proof of how good it is, and use it."""


@app.command()
def fit(
    data: FitData,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", "-d", help="Most conditions in one rule; 3, or any with a --leaf-price.")
    ] = None,
    leaves: Annotated[
        str | None,
        typer.Option("--leaves", "-l", metavar="N", help="Most rules; auto, the usual: chosen by cross-validation."),
    ] = None,
    leaf_price: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="What one more leaf must save, as a share of all rows; auto chooses it."),
    ] = None,
    cv: Annotated[
        int | None, typer.Option(metavar="N", help="Folds of the cross-validation; 5 where the size is chosen.")
    ] = None,
    holdout: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Hold out this share of the rows, and try the model on them.")
    ] = None,
    test: Annotated[str | None, typer.Option(metavar="FILE", help="Rows to try the fitted model on.")] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="Save the model (JSON).")] = None,
    report: Annotated[str | None, typer.Option(metavar="FILE", help="Write an HTML report.")] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="The heading of the report.")] = "",
    alternatives: Annotated[int, typer.Option(min=0, help="So many other good trees in the report.")] = 0,
    min_leaf: Annotated[float, typer.Option(help="Fewest rows of a rule: a share below 1, or a number.")] = 0.01,
    structure: Annotated[
        Literal["tree", "rules"], typer.Option(help="A tree, or disjoint rules: those can be better, and take longer.")
    ] = "tree",
    task: Annotated[
        Literal["auto", "classification", "regression", "policy", "survival"],
        typer.Option(help="What the target is; auto: numbers with fractions or over 20 values are quantities."),
    ] = "auto",
    treatment: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --task policy: the action that was taken.")
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --task policy: what came of it; more is better.")
    ] = None,
    propensity: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --task policy: the chance of the action, if known.")
    ] = None,
    rewards: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="With --task policy, in their place: what an action brings; one each."),
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --task survival: time to the event or the last look.")
    ] = None,
    event: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --task survival: whether the event was seen.")
    ] = None,
    entry: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --task survival: from when on a row was seen.")
    ] = None,
    objective: Annotated[str | None, typer.Option(help="What to minimise, by name, such as error.")] = None,
    constraints: Annotated[
        str | None, typer.Option(metavar="FILE", help="What the model has to respect, in a TOML file.")
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds until the best model known is taken; 0: no limit.")] = 60.0,
    gap: Annotated[float, typer.Option(help="Stop when this close to the optimum, as a share.")] = 0.0,
    bins: Annotated[int, typer.Option(help="About how many bins a numeric column has.")] = 8,
    binning: Annotated[
        Literal["adaptive", "quantile", "supervised", "exact"], typer.Option(help="Where numbers may be cut.")
    ] = "adaptive",
    categories: Annotated[
        Literal["groups", "values"], typer.Option(help="Whether a condition may name several categories.")
    ] = "groups",
    splits: Annotated[Literal["multiway", "binary"], typer.Option(help="Children of a tree's node.")] = "multiway",
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=KIND", help="numeric, nominal, ordinal, or levels in order: size=S,M,L."),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out; may be repeated.")
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column for constraints on groups only, not for conditions."),
    ] = None,
    weight: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column with the weight of a row.")] = None,
    balanced: Annotated[bool, typer.Option("--balanced", help="Give every class the same total weight.")] = False,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other parameter of the estimator, such as quantile=0.9."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1: all. The model is the same.")] = -1,
    memory_limit: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Most memory, such as 2GB: rows stay on disk. So they do for folders."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of what is random in the search.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but faults.")] = False,
    delimiter: Delimiter = None,
    missing: Missing = None,
    encoding: Encoding = None,
    decimal: Annotated[
        Literal[".", ","] | None, typer.Option(help="The sign before fractions; found by itself by default.")
    ] = None,
    month_first: Annotated[bool, typer.Option("--month-first", help="3/4/2024 is the fourth of March.")] = False,
    positive: Annotated[
        str | None, typer.Option(metavar="CLASS", help="The class that F1, recall and colours are about.")
    ] = None,
) -> None:
    """Fit a model to a table, show it, and save it.

    The number of leaves is chosen by cross-validation, which also says what to expect on new rows; --leaves 8 sets it.
    Numbers and dates in a text file are read as what they are, also with decimal commas, and it is said how; codes with
    leading zeros stay text, columns that number or name the rows are left out. Ctrl-C ends the fit and keeps the best
    model found so far.

    Example: omtree fit patients.csv --target outcome --depth 3 --out model.json
    """
    from omtree.cli.fit_command import FitRequest, run_fit
    from omtree.cli.model_size import size_parameters
    from omtree.cli.task_columns import TaskColumns

    named = {"treatment": treatment, "outcome": outcome, "propensity": propensity, "time": time, "event": event}
    columns = TaskColumns.of(task, {**named, "entry": entry}, rewards or ())
    if columns is not None and target is not None:
        raise ValueError(f"--target is not for --task {task}; its columns have options of their own.")
    if columns is None and target is None:
        raise typer.BadParameter("--target is missing; name the column to predict.")
    run_fit(
        FitRequest(
            data=data,
            target=target or (columns.target if columns is not None else ""),
            task=task,
            columns=columns,
            parameters={
                **size_parameters(depth, leaves, leaf_price),
                "cv": cv,
                "min_samples_leaf": int(min_leaf) if min_leaf >= 1 else min_leaf,
                "structure": structure,
                "time_limit": time_limit or None,
                "gap": gap,
                "n_bins": bins,
                "binning": binning,
                "categories": categories,
                "splits": splits,
                "n_jobs": jobs,
                "random_state": seed,
                **({"objective": objective} if objective is not None else {}),
                **({"class_weight": "balanced"} if balanced else {}),
            },
            constraints=constraints,
            kinds=tuple(kind or ()),
            settings=tuple(setting or ()),
            drop=tuple(drop or ()),
            groups=tuple(groups or ()),
            weight=weight,
            memory_limit=memory_limit,
            test=test,
            holdout=holdout,
            out=out,
            report=report,
            title=title,
            alternatives=alternatives,
            quiet=quiet,
            options=_options(delimiter, missing, encoding, decimal),
            month_first=month_first,
            positive=positive,
        )
    )


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

    run_predict(model, data, out, probabilities, keep, _options(delimiter, missing, encoding), log)


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

    run_explain(model, data, tuple(row or ()), _options(delimiter, missing, encoding))


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

    run_reasons(model, data, n, codes, out, _options(delimiter, missing, encoding))


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

    if not run_audit(model, data, target, _options(delimiter, missing, encoding)):
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

    if run_monitor(model, data, against, out, target, _options(delimiter, missing, encoding)):
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
            model, test, data, tuple(group or ()), out, purpose, owner, target, _options(delimiter, missing, encoding)
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

    run_report(model, data, out, test, target, _options(delimiter, missing, encoding), title)


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
        options=_options(delimiter, missing, encoding),
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
