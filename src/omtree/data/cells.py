"""What a cell of a text file is, as regular expressions that Arrow and DuckDB understand alike."""

from __future__ import annotations

#: A number, with white space around it.
NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
#: A code rather than a number.
LEADING_ZERO = r"^\s*[+-]?0\d"
DATE = r"^\s*(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{4}|\d{4}/\d{1,2}/\d{1,2})([ T]\d{1,2}:.*)?\s*$"
#: What may stand between the cells of a line.
DELIMITERS = ",;\t|"
