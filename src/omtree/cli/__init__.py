"""The command line ``omtree``: exit code 0 is success, 1 a fault in data or files, 2 a wrong use of the command."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

from omtree.cli.plain_predict import plain_arguments, run_plainly

#: What typer makes of Ctrl-C.
_INTERRUPTED = 130
_OBJECTS_BETWEEN_COLLECTIONS = 100_000
_NEEDED = {"typer", "rich", "pyarrow"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; a fault is one sentence on standard error.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        # A process of its own: imports make many objects that stay, and looking through them again and again for
        # what can be freed takes a tenth of the time of a short command.
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        if given[:1] == ["predict"]:
            # Nobody else needs pandas.
            sys.meta_path.insert(0, _WithoutPandas())
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    try:
        read = plain_arguments(given[1:]) if given[:1] == ["predict"] else None
        code: object = 0
        if read is not None:
            run_plainly(read)
        else:
            from omtree.cli.commands import only

            code = only(given[:1])(args=given, prog_name="omtree", standalone_mode=False)
        sys.stdout.flush()
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        # Whoever read the output has seen enough; the interpreter must not stumble over the closed pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, KeyboardInterrupt) as fault:
        if debug:
            raise
        print(f"omtree: {_sentence(fault)}", file=sys.stderr)
        return int(getattr(fault, "exit_code", 1))


class _WithoutPandas:
    """Hides pandas: pyarrow asks it about arrays wherever it can be imported, which takes longer than predictions."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not used for predictions.", name=name)


def _sentence(fault: BaseException) -> str:
    """What went wrong, in one line."""
    if isinstance(fault, KeyboardInterrupt) or type(fault).__name__ == "Abort":
        return "interrupted; nothing was written."
    if hasattr(fault, "format_message"):
        context = getattr(fault, "ctx", None)
        command = context.command_path if context is not None else "omtree"
        return f"{_one_line(fault.format_message())} See {command} --help."
    if isinstance(fault, ModuleNotFoundError) and fault.name in _NEEDED:
        return f"the command line needs the package {fault.name}; install it with pip install 'omtree[cli]'."
    if isinstance(fault, OSError) and fault.strerror:
        return f"{fault.filename or 'the file'}: {fault.strerror.lower()}."
    if isinstance(fault, MemoryError):
        return "there is not enough memory."
    if isinstance(fault, (ValueError, ImportError)):
        return _one_line(str(fault))
    return f"unexpected {type(fault).__name__}: {_one_line(str(fault))} Run again with --debug for the details."


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if line.endswith((".", "?", "!")) else f"{line}."
