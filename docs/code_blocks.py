"""Run the code of the pages: `python docs/code_blocks.py [--write] [page ...]`.

The Python blocks of a page share a namespace and a folder; lines of console blocks that start with ``$ omtree`` run in
that folder too. A text block that follows a block is what the block prints; ``--write`` puts there what it printed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(?P<kind>\w+)[^\n]*\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind, its text, the line it starts at and where its text is in the page."""

    kind: str
    body: str
    line: int
    span: tuple[int, int]


@dataclass(frozen=True)
class Ran:
    """A block that ran, what it printed, and the text block that says so, where there is one."""

    block: Block
    printed: str
    shown: Block | None


def pages() -> list[Path]:
    """README and all pages with code."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page."""
    return [
        Block(match["kind"], match["body"], text.count("\n", 0, match.start("body")) + 1, match.span("body"))
        for match in FENCE.finditer(text)
    ]


def run_page(page: Path) -> Iterator[Ran]:
    """Run what there is to run on a page, in an empty folder."""
    text = page.read_text(encoding="utf-8")
    blocks = blocks_of(text)
    # Dataclasses look up the module they are in.
    module = types.ModuleType(f"page_{page.stem}")
    sys.modules[module.__name__] = module
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for place, block in enumerate(blocks):
                if block.kind == "python":
                    printed = _run_python(block, page, vars(module))
                elif block.kind == "console":
                    printed = "".join(map(_run_command, re.findall(r"^\$ omtree (.*)$", block.body, re.MULTILINE)))
                else:
                    continue
                following = blocks[place + 1] if place + 1 < len(blocks) else None
                # Only white space and the two fences may stand between a block and what it prints.
                adjacent = following is not None and text[block.span[1] : following.span[0]].split() == [
                    "```",
                    "```text",
                ]
                yield Ran(block, printed, following if adjacent else None)
        finally:
            os.chdir(before)
            del sys.modules[module.__name__]


def same_output(printed: str, shown: str) -> bool:
    """Whether two outputs say the same; how long something took may differ."""
    return _timeless(printed) == _timeless(shown)


def _timeless(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines() if not line.lstrip().startswith("seconds")]


def _run_python(block: Block, page: Path, names: dict[str, Any]) -> str:
    out = io.StringIO()
    # Empty lines in front, so that a traceback has the line numbers of the page.
    code = compile("\n" * (block.line - 1) + block.body, str(page), "exec")
    with contextlib.redirect_stdout(out):
        exec(code, names)
    return out.getvalue()


def _run_command(arguments: str) -> str:
    from omtree.cli import main as omtree

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = omtree(shlex.split(arguments))
    if code:
        raise RuntimeError(f"omtree {arguments} ended with {code}: {err.getvalue()}")
    return out.getvalue()


def write_outputs(page: Path) -> None:
    """Replace the shown outputs of a page by what its blocks print now."""
    text = page.read_text(encoding="utf-8")
    for ran in reversed(list(run_page(page))):
        if ran.shown is not None and not same_output(ran.printed, ran.shown.body):
            start, end = ran.shown.span
            printed = "\n".join(line.rstrip() for line in ran.printed.strip().splitlines())
            text = text[:start] + printed + "\n" + text[end:]
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Run pages, and show or write what they print."""
    parser = argparse.ArgumentParser(description="Run the code of the pages.")
    parser.add_argument("pages", nargs="*", type=Path, help="default: all")
    parser.add_argument("--write", action="store_true", help="write the outputs into the pages")
    options = parser.parse_args()
    for page in [page.resolve() for page in options.pages] or pages():
        if options.write:
            write_outputs(page)
            continue
        for ran in run_page(page):
            print(f"{page.name}:{ran.block.line}\n{ran.printed}")


if __name__ == "__main__":
    main()
