"""The command line itself, and the arguments and options that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

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


def file_options(
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
