"""Texts coded in the kernel, from Arrow's arrays as they are."""

import itertools

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omtree import _native

#: From nothing to more than a view holds inside, around the length up to which a text is its own key.
CELLS = st.one_of(
    st.none(),
    st.sampled_from(["", "a", "b", "\0", "\0\0", "ab", "1234567", "12345678", "123456789012", "1234567890123"]),
    st.text(max_size=20),
)


def coded(column):
    """What the kernel makes of a column, as plain Python."""
    codes, levels, has_missing = _native.code_texts(column.__arrow_c_stream__())
    assert codes.dtype == np.int32
    return codes.tolist(), levels, has_missing


def expected(cells):
    levels = sorted({cell for cell in cells if cell is not None})
    return [-1 if cell is None else levels.index(cell) for cell in cells], levels, None in cells


@settings(deadline=None, max_examples=150)
@given(
    cells=st.lists(CELLS, max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=3),
    before=st.lists(CELLS, max_size=10),
    kind=st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]),
)
def test_texts_are_coded_as_python_sorts_them(cells, cuts, before, kind):
    """Levels are the distinct texts in Python's order, whatever type, slice or number of chunks they come in."""
    whole = pa.array([*before, *cells, *before], type=kind).slice(len(before), len(cells))
    ends = [0, *sorted(min(cut, len(cells)) for cut in cuts), len(cells)]
    chunks = [whole.slice(low, high - low) for low, high in itertools.pairwise(ends)]
    assert coded(pa.chunked_array(chunks, type=kind)) == expected(cells)


@settings(deadline=None, max_examples=30)
@given(cells=st.lists(CELLS, max_size=30), start=st.integers(0, 30))
def test_texts_of_polars(cells, start):
    """A polars series, or a part of one, is read like the list of its cells."""
    assert coded(pl.Series(cells, dtype=pl.String)[start:]) == expected(cells[start:])


@pytest.mark.parametrize("length", [2, 7, 8, 30])
def test_many_different_texts(length):
    """Thousands of texts, short and long, are all told apart."""
    cells = [f"{i * 7919 % 5000:x}".rjust(length, "ü") for i in range(5000)] * 2
    assert coded(pa.chunked_array([cells])) == expected(cells)


def test_only_texts_are_coded():
    """Streams of other things, streams that were read, and what is no stream are refused."""
    for other in (pa.array([1, 2]), pa.array([b"a"]), pa.array(["a"]).dictionary_encode()):
        with pytest.raises(ValueError, match="holds no texts"):
            coded(pa.chunked_array([other]))
    stream = pa.chunked_array([["a"]]).__arrow_c_stream__()
    _native.code_texts(stream)
    with pytest.raises(ValueError, match="read before"):
        _native.code_texts(stream)
    with pytest.raises(ValueError, match="incorrect name"):
        _native.code_texts(pa.array(["a"]).__arrow_c_array__()[0])
    with pytest.raises(TypeError):
        _native.code_texts("a")
