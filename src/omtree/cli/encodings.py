"""The letters of a text file: which encoding it is in, found by its bytes unless it is said."""

from __future__ import annotations

import codecs

from omtree.cli.notes import Notes

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Encodings that files of programs of some age are in, besides UTF-8.
_OLDER = ["cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "shift_jis", "gb18030", "big5", "euc_kr"]
_LOOK = 1 << 18


def decode(content: bytes, encoding: str | None, name: str, notes: Notes | None) -> str:
    """The text of a file.

    Parameters
    ----------
    content : bytes
    encoding : str, optional
        As Python calls it; by default it is found: by a mark at the beginning, UTF-8, UTF-16, or an older one.
    name : str
        Of the file, in an error.
    notes : Notes, optional
        Where it is said that an encoding was guessed.
    """
    if encoding is not None:
        try:
            return codecs.lookup(encoding).decode(content)[0].removeprefix("\ufeff")
        except LookupError:
            raise ValueError(f"--encoding {encoding!r} is not known; use such as utf-8, utf-16 or cp1252.") from None
        except UnicodeDecodeError:
            raise ValueError(f"{name} is not {encoding} text; leave out --encoding, or name another one.") from None
    found = _certain(content)
    if found is not None:
        try:
            return content.decode(found)
        except UnicodeDecodeError:
            raise ValueError(f"{name} begins as {found} text but is damaged.") from None
    if b"\x00" in content[:_LOOK]:
        raise ValueError(f"{name} is not a table: it is neither text, nor Parquet, Arrow, Excel or JSON.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        guessed = _guess(content)
        if notes is not None:
            notes.append(f"{name} is read as {guessed} text; if letters look wrong, name its --encoding")
        return content.decode(guessed)


def _certain(content: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    # Without a mark, UTF-16 of any but Asian text has a zero in every second place.
    start = content[:2000]
    for encoding, zeros, letters in (("utf-16-le", start[1::2], start[::2]), ("utf-16-be", start[::2], start[1::2])):
        if len(start) >= 4 and zeros.count(0) > 0.8 * len(zeros) and not letters.count(0):
            return encoding
    return None


def _guess(content: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(content[:_LOOK], cp_isolation=_OLDER).best()
    likely = "cp1252" if best is None or "cp1252" in best.could_be_from_charset else best.encoding
    for encoding in (likely, "cp1252"):
        try:
            content.decode(encoding)
            return encoding
        except UnicodeDecodeError:
            continue
    return "latin-1"
