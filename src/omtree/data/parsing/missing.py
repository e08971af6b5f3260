"""Texts that mean that a cell is missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable

#: What spreadsheets, databases and other programs write where they have nothing.
MISSING_WORDS = (
    "", "NA", "na", "N/A", "n/a", "NaN", "nan", "-nan", "<NA>", "#N/A", "#NA", "None", "NULL", "null", "NaT", "nil",
    "?", ".", "-", "--", "..", "...",
)  # fmt: skip


def missing_words(levels: Iterable[str], more: Collection[str] = (), *, signs: bool = True) -> frozenset[str]:
    """Those of the texts, blanks around them aside, that mean missing.

    Parameters
    ----------
    levels : iterable of str
    more : collection of str
        Texts that mean missing as well.
    signs : bool
        Whether signs such as ``-`` and ``?`` mean missing, too.

    Examples
    --------
    >>> sorted(missing_words(["12", "?", " NA", "-"])), sorted(missing_words(["+", "-", ""], signs=False))
    ([' NA', '-', '?'], [''])
    """
    known = _ALL if signs else _WITHOUT_SIGNS
    if more:
        known = known.union(more)
    return frozenset(level for level in levels if level.strip() in known)


def signs_are_values(levels: Iterable[str]) -> bool:
    """Whether a column has signs for values, as ``+`` and ``-``, so that ``-`` does not mean missing in it.

    >>> signs_are_values(["+", "-"]), signs_are_values(["12", "-"])
    (True, False)
    """
    return any(not _has_letters(level) and level.strip() not in _ALL for level in levels)


def _has_letters(text: str) -> bool:
    return text.isalnum() or any(map(str.isalnum, text))


_ALL = frozenset(MISSING_WORDS)
_WITHOUT_SIGNS = frozenset(word for word in MISSING_WORDS if not word or _has_letters(word))
