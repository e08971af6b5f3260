"""Texts in Arrow's arrays of every layout are coded as Python sorts them."""

from __future__ import annotations

import itertools
import random

import pyarrow as pa

from omtree import _native

PIECES = ("", "a", "b", "\0", "ab", "1234567", "12345678", "123456789012", "1234567890123", "ü", "😀", "\u0301")
KINDS = (pa.string(), pa.large_string(), pa.string_view())


def check(number: int) -> None:
    """Code column `number`."""
    rng = random.Random(number)
    pool = [*(rng.choice(PIECES) + rng.choice(PIECES) for _ in range(rng.randrange(1, 9))), None]
    cells = [rng.choice(pool) for _ in range(rng.choice((0, 1, 5, 30, 80)))]
    kind = rng.choice(KINDS)
    before = rng.randrange(4)
    whole = pa.array([*cells[:before], *cells, *cells[:3]], type=kind).slice(len(cells[:before]), len(cells))
    cuts = sorted(rng.randrange(len(cells) + 1) for _ in range(rng.randrange(3)))
    ends = [0, *cuts, len(cells)]
    chunks = [whole.slice(low, high - low) for low, high in itertools.pairwise(ends)]
    codes, levels, has_missing = _native.code_texts(pa.chunked_array(chunks, type=kind).__arrow_c_stream__())
    known = sorted({cell for cell in cells if cell is not None})
    place = {text: code for code, text in enumerate(known)}
    assert levels == known
    assert has_missing == (None in cells)
    assert codes.tolist() == [-1 if cell is None else place[cell] for cell in cells]
