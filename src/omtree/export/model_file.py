"""Files of models, and other files: read without running anything in them, written whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

FORMAT = "omtree-model"
VERSION = 2
_FAULTS = (KeyError, TypeError, ValueError, IndexError, AttributeError, AssertionError, OverflowError, RecursionError)

Made = TypeVar("Made")


def read_model(text: str, source: str, make: Callable[[dict[str, Any]], Made]) -> Made:
    """What is made of the document of a model.

    Parameters
    ----------
    text : str
    source : str
        What to call the text in an error.
    make : callable
        Its errors are those of Python where the document makes no sense.

    Raises
    ------
    ValueError
        When the text is no model of this package, is damaged, or comes from a newer version.
    """
    try:
        document = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ValueError(f"{source} is not a model of omtree: it is no JSON.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{source} is JSON, but not a model of omtree; models are written by save().")
    version = document.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ValueError(f"{source} is a damaged model of omtree: its version is {version!r}.")
    if version > VERSION:
        written_by = document.get("omtree", "a later release")
        raise ValueError(
            f"{source} has version {version} of the model format, and this release reads up to {VERSION}; "
            f"install omtree {written_by} or newer."
        )
    try:
        return make(document)
    except KeyError as fault:
        raise ValueError(f"{source} is a damaged model of omtree: {fault} is missing.") from None
    except _FAULTS as fault:
        reason = str(fault).rstrip(".") or type(fault).__name__
        raise ValueError(f"{source} is a damaged model of omtree: {reason}.") from None


def model_text(path: str | os.PathLike[str]) -> str:
    """The text in a file of a model."""
    try:
        return Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{os.fspath(path)} is not a model of omtree: it is no text.") from None


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file so that whoever reads it, even after a kill, finds the old content or the new, never half of it."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that whoever reads it, even after a kill, finds the old content or the new, never half of it."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of the one at the path when the block ends without a fault."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        # A device or a pipe, such as /dev/stdout, cannot be replaced.
        with open(target, "wb") as file:
            yield file
        return
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The rights the file would have if it were written in place."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
