"""SQL for every database, as a parser of its dialect reads it."""

from __future__ import annotations

import sqlite3
from typing import get_args

import duckdb
import pandas as pd
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import expressions

from omtree import OptimalTreeClassifier
from omtree.export.sql_dialects import DialectName, find_dialect

DIALECTS = get_args(DialectName)
#: What the parser calls them; a plain one is standard SQL.
PARSERS = {"ansi": ""}
#: Texts that end a literal, or a query, in some database.
TEXTS = [
    "c\\",
    "it's",
    "x' OR 1=1 --",
    "\\' OR 1=1 --",
    "two\nlines",
    "join\\\nlines",
    "`a`",
    'say "hi"',
    "]; --",
    "\\n",
]
#: Everything that can be in a name or a text of a column, zero excepted.
ANYTHING = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)


def parsed(sql: str, dialect: str) -> expressions.Expression:
    """The only statement of the text."""
    (statement,) = sqlglot.parse(sql, read=PARSERS.get(dialect, dialect))
    assert statement is not None
    return statement


def texts_in(statement: expressions.Expression) -> set[str]:
    """What its text literals mean; literals that are added up are one."""
    found = {"".join(str(part.this) for part in added.flatten()) for added in statement.find_all(expressions.Add)}
    for kind in (expressions.Literal, expressions.National, expressions.ByteString):
        found |= {
            str(node.this)
            for node in statement.find_all(kind)
            if not isinstance(node.parent, expressions.Add) and (kind is not expressions.Literal or node.is_string)
        }
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=50, deadline=None)
@given(name=ANYTHING, text=ANYTHING)
def test_names_and_texts_mean_themselves(dialect: DialectName, name: str, text: str) -> None:
    """Whatever a column or a category is called, the database's parser reads just that, and nothing after it."""
    writer = find_dialect(dialect)
    statement = parsed(f"SELECT 1 FROM t WHERE {writer.name(name)} = {writer.text(text)}", dialect)
    (column,) = statement.find_all(expressions.Column)
    # BigQuery reads a dot within quotes as one between names.
    assert ".".join(part.name for part in column.parts) == name
    assert texts_in(statement) == {text}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_models_with_hostile_categories(dialect: DialectName) -> None:
    """Categories that would leave their literal stay within it: the query has these texts, and one table."""
    X = pd.DataFrame({"c": TEXTS * 3})
    y = [place % 2 for place in range(len(TEXTS))] * 3
    model = OptimalTreeClassifier(max_depth=1, max_leaves=len(TEXTS), categories="values", min_samples_leaf=1)
    model.fit(X, y)
    statement = parsed(model.to_sql("t", dialect=dialect), dialect)
    asked = {level for rule in model.rules_ for condition in rule.conditions for level in levels_of(model, condition)}
    assert texts_in(statement) <= asked
    assert len(texts_in(statement)) >= len(TEXTS) - 2
    assert [table.name for table in statement.find_all(expressions.Table)] == ["t"]


def levels_of(model: OptimalTreeClassifier, condition: object) -> list[str]:
    """The categories of a condition."""
    feature = model.rules_.features[condition.feature]  # type: ignore[attr-defined]
    return [feature.levels[code] for code in condition.codes]  # type: ignore[attr-defined]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_a_column_called_true(dialect: DialectName) -> None:
    """A column with the name of a keyword does not take the keyword's place."""
    X = pd.DataFrame({"true": [True, True, False, False], "false": [True, False, True, False]})
    y = [False, True, True, True]
    model = OptimalTreeClassifier(max_depth=2, min_samples_leaf=1).fit(X, y)
    query = model.to_sql("t", dialect=dialect)
    connection = sqlite3.connect(":memory:") if dialect == "sqlite" else duckdb.connect()
    try:
        connection.execute('CREATE TABLE t ("true" BOOLEAN, "false" BOOLEAN)')
        connection.executemany("INSERT INTO t VALUES (?, ?)", X.to_numpy().tolist())
        assert [bool(row[-1]) for row in connection.execute(query).fetchall()] == y
    finally:
        connection.close()


def test_unknown_dialects_and_zero_characters_are_refused() -> None:
    """A dialect that is not known is named, and so is a text that no database can hold."""
    with pytest.raises(ValueError, match="dialect='oracle' is not known; use one of 'ansi', 'postgres'"):
        find_dialect("oracle")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has a zero character"):
        find_dialect("ansi").text("a\0b")
