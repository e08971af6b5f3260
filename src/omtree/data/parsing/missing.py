"""Texts that mean that a cell is missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable

#: What spreadsheets, databases and other programs write where they have nothing.
MISSING_WORDS = (
    "", "NA", "na", "N/A", "n/a", "NaN", "nan", "-nan", "<NA>", "#N/A", "#NA", "None", "NULL", "null", "NaT", "nil",
    "?", ".", "-", "--", "..", "...",
)  # fmt: skip


#: What people write among numbers or dates where they have none, in small letters without points and blanks. A column
#: of other texts may mean something by them, so that they are values there.
AMONG_NUMBERS = frozenset(
    {
        *("missing", "unknown", "notavailable", "notapplicable", "nodata", "na"),
        *("ka", "keineangabe", "keineangaben", "oa", "ohneangabe", "unbekannt", "fehlt", "entfällt", "nv", "nb"),
        *("nd", "n/d", "nc", "n/c", "so", "s/o", "sd", "s/d", "sansobjet", "inconnu", "nonrenseigné", "nondisponible"),
        *("sindato", "sindatos", "nodisponible", "desconocido", "nondisponibile", "sconosciuto", "onbekend"),
    }
)


def mean_no_number(levels: Iterable[str]) -> frozenset[str]:
    """Those of the texts that mean missing where all others are numbers or dates.

    >>> sorted(mean_no_number(["12", "k. A.", "S/O", "#DIV/0!", "yes"]))
    ['#DIV/0!', 'S/O', 'k. A.']
    """
    return frozenset(level for level in levels if _bare(level) in AMONG_NUMBERS or level.strip() in _FAULTS)


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


def _bare(text: str) -> str:
    return "".join(text.lower().replace(".", "").split())


#: What spreadsheets write where a formula has no result.
_FAULTS = frozenset({"#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#WERT!", "#BEZUG!", "#ZAHL!"})
_ALL = frozenset(MISSING_WORDS)
_WITHOUT_SIGNS = frozenset(word for word in MISSING_WORDS if not word or _has_letters(word))
