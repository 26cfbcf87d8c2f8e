"""Objects of structured types are made, and made again with other fields."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common.errors import MillraceError
from millrace.common.types.row import Row
from millrace.table import TableEnvironment
from millrace.table.expressions import col, lit, object_of


def values(t_env: TableEnvironment, query: str) -> list[Any]:
    return [row[0] for row in t_env.sql_query(query).execute().collect()]


ITEMS = "(VALUES (1, 'pen'), (2, CAST(NULL AS STRING))) AS t (n, name)"


def test_objects_of_columns_and_constants(batch_env: TableEnvironment) -> None:
    query = f"SELECT OBJECT_OF('shop.Item', 'name', name, 'n', n * 2, 'kind', 'x') FROM {ITEMS}"
    assert (
        batch_env.sql_query(query).get_schema().get_field_data_types()[0].class_name == "shop.Item"
    )
    assert values(batch_env, query) == [
        Row(name="pen", n=2, kind="x"),
        Row(name=None, n=4, kind="x"),
    ]
    query = f"SELECT OBJECT_OF('shop.Item', 'name', name).name FROM {ITEMS}"
    assert values(batch_env, query) == ["pen", None]
    [empty] = values(batch_env, "SELECT OBJECT_OF('C')")
    assert tuple(empty) == ()


def test_updates(batch_env: TableEnvironment) -> None:
    made = f"SELECT OBJECT_OF('C', 'name', name, 'n', n) AS o FROM {ITEMS}"
    query = f"SELECT OBJECT_UPDATE(o, 'n', UPPER(o.name)) FROM ({made})"
    assert values(batch_env, query) == [Row(name="pen", n="PEN"), Row(name=None, n=None)]
    query = f"SELECT OBJECT_UPDATE(CASE WHEN o.n = 1 THEN o END, 'n', 7) FROM ({made})"
    assert values(batch_env, query) == [Row(name="pen", n=7), None]


def test_expressions(batch_env: TableEnvironment) -> None:
    table = batch_env.from_elements([(1, "pen")], ["n", "name"])
    made = object_of("C", "name", col("name"), "n", col("n"))
    [row] = table.select(made.object_update("n", lit(3))).execute().collect()
    assert row[0] == Row(name="pen", n=3)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("OBJECT_OF('C', 'a')", "a name and a value for each field"),
        ("OBJECT_OF('C', 'a', 1, 'a', 2)", "two values for field 'a'"),
        ("OBJECT_OF('C', name, 1)", "the name of a field is a text in quotes"),
        ("OBJECT_OF(name, 'a', 1)", "the name of the class is a text in quotes"),
        ("OBJECT_UPDATE(OBJECT_OF('C', 'a', 1), 'b', 2)", "no field 'b', only a"),
        ("OBJECT_UPDATE(OBJECT_OF('C', 'a', 1))", "needs a field to update"),
    ],
)
def test_mistakes(batch_env: TableEnvironment, expression: str, message: str) -> None:
    with pytest.raises(MillraceError, match=message):
        batch_env.sql_query(f"SELECT {expression} FROM {ITEMS}")
