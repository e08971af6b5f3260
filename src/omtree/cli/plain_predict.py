"""``omtree predict`` with everyday arguments, read without typer: importing that takes longer than the answers."""

from __future__ import annotations

import getopt
from collections.abc import Sequence
from typing import Any

_SWITCHES = {"-p": "probabilities", "--probabilities": "probabilities", "-k": "keep", "--keep": "keep"}
_TEXTS = {"-o": "out", "--out": "out", "--log": "log", "--delimiter": "delimiter", "--encoding": "encoding"}
_LISTS = {"--missing": "missing"}


def plain_arguments(given: Sequence[str]) -> dict[str, Any] | None:
    """The arguments of the command by name, as typer would hand them on.

    None where they are not just two files and options that exist: what there is to say then, typer says.

    Examples
    --------
    >>> plain_arguments(["model.json", "new.csv", "-k", "-o", "out.csv"])["out"]
    'out.csv'
    >>> plain_arguments(["model.json", "--help"])
    """
    names = [name for name in given if name.startswith("--")]
    known = {**_SWITCHES, **_TEXTS, **_LISTS}
    if any(name.partition("=")[0] not in known for name in names):
        return None  # also what getopt would take for the beginning of a longer name
    longs = [name[2:] + ("" if name in _SWITCHES else "=") for name in known if name.startswith("--")]
    try:
        options, files = getopt.gnu_getopt(list(given), "pko:", longs)
    except getopt.GetoptError:
        return None
    if len(files) != 2:
        return None
    read: dict[str, Any] = {**dict.fromkeys(_TEXTS.values()), **dict.fromkeys(_SWITCHES.values(), False)}
    read |= {"model": files[0], "data": files[1], "missing": []}
    for name, value in options:
        if name in _LISTS:
            read[_LISTS[name]].append(value)
        else:
            read[known[name]] = True if name in _SWITCHES else value
    return read


def run_plainly(read: dict[str, Any]) -> None:
    """Run the command with what was read."""
    from omtree.cli.predict_command import run_predict
    from omtree.cli.tables import FileOptions

    options = FileOptions(read["delimiter"], tuple(read["missing"]), read["encoding"])
    run_predict(read["model"], read["data"], read["out"], read["probabilities"], read["keep"], options, read["log"])
