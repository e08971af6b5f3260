"""Whatever is in a file, it is a table or gets a sentence."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

from fuzz.damage import check_sentence, damaged_bytes
from omtree.cli.notes import Notes
from omtree.cli.tables import read_table

FOLDER = Path(tempfile.mkdtemp(prefix="omtree-fuzz-"))
CELLS = (
    "1",
    "2,5",
    "1.000,5",
    "€ 3",
    "45%",
    "2021-03-04",
    "08:15",
    "",
    "NA",
    '"',
    "'",
    "ü",
    "a;b",
    "a,b",
    "\t",
    "=1+1",
    "-",
)


def check(number: int) -> None:
    """Read file `number`, which was a table before it was damaged."""
    rng = random.Random(number)
    rows = [[rng.choice(CELLS) for _ in range(rng.randrange(1, 6))] for _ in range(rng.randrange(1, 8))]
    if number % 4 == 0:
        text = "\n".join(json.dumps({f"c{i}": cell for i, cell in enumerate(row)}) for row in rows)
    else:
        delimiter = rng.choice(",;\t|")
        head = delimiter.join(f"c{i}" for i in range(5))
        text = rng.choice(("\n", "\r\n", "\r")).join([head, *(delimiter.join(row) for row in rows)])
    content = text.encode(rng.choice(("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252")), "replace")
    if number % 2:
        content = damaged_bytes(content, rng)
    path = FOLDER / f"table{rng.choice(('.csv', '.txt', '.jsonl', '.json', '.parquet', '.xlsx', '.csv.gz'))}"
    path.write_bytes(content)
    try:
        table = read_table(str(path), notes=Notes())
    except ValueError as fault:
        check_sentence(fault)
        return
    assert table.num_rows > 0
    assert len(set(table.column_names)) == table.num_columns
