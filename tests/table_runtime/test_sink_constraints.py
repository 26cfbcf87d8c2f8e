"""What may be written into a table: NULL, lengths, the fields of rows and the elements of
collections, as Flink enforces them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millrace.common.config.execution_mode import RuntimeExecutionMode
from millrace.common.errors import MillraceError
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.logical.python_values import arrow_column
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import (
    DataTypes,
    EnvironmentSettings,
    Schema,
    StreamTableEnvironment,
    TableEnvironment,
)
from millrace.table_runtime.sink_constraints import SinkConstraints
from millrace.testing import run_local

NOT_NULL = "is NOT NULL, however, a null value is being written into it"
NULLS: list[tuple[str, list[Any], str, str, list[Any]]] = [
    ("INT NOT NULL", [1, None, 3], "IGNORE", "c", [1, 3]),
    ("ROW<a INT NOT NULL, b INT>", [(1, 1), (None, 2), None], "ROWS", "c.a", [(1, 1), None]),
    ("ROW<a INT NOT NULL>", [(None,)], "IGNORE", "", [(None,)]),
    (
        "ROW<r ROW<x INT NOT NULL>, n INT>",
        [((1,), 1), ((None,), 2), (None, 3)],
        "ROWS",
        "c.r.x",
        [((1,), 1), (None, 3)],
    ),
    ("ARRAY<INT NOT NULL>", [[1], [2, None], None, []], "ROWS", "", [[1], [2, None], None, []]),
    (
        "ARRAY<INT NOT NULL>",
        [[1], [2, None], None, [], [None]],
        "ROWS_AND_COLLECTIONS",
        "c[element]",
        [[1], None, []],
    ),
    (
        "MAP<STRING, INT NOT NULL>",
        [{"a": 1}, {"a": 1, "b": None}, None, {}],
        "ROWS_AND_COLLECTIONS",
        "c[value]",
        [{"a": 1}, None, {}],
    ),
    (
        "MULTISET<STRING NOT NULL>",
        [{"a": 1}, {"a": 1, "b": 2}, None],
        "ROWS_AND_COLLECTIONS",
        "",
        [{"a": 1}, {"a": 1, "b": 2}, None],
    ),
    (
        "MAP<STRING, ROW<x INT NOT NULL>>",
        [{"a": (1,)}, {"a": (None,)}, {"b": None}],
        "ROWS_AND_COLLECTIONS",
        "c[value].x",
        [{"a": (1,)}, {"b": None}],
    ),
    (
        "ARRAY<ROW<x INT NOT NULL, y INT>>",
        [[(1, 1), (2, None)], [(None, 1)]],
        "ROWS_AND_COLLECTIONS",
        "c[element].x",
        [[(1, 1), (2, None)]],
    ),
]


def batch_of(kind: str, values: list[Any], kinds: list[int] | None = None) -> ColumnBatch:
    column = arrow_column(values, parse_type(kind))
    data = pa.RecordBatch.from_arrays([column], ["x"])
    return ColumnBatch(data, None, None if kinds is None else pa.array(kinds, pa.int8()), "row")


def constraints(kind: str, **settings: Any) -> SinkConstraints:
    return SinkConstraints("t", RowType.of(("c", parse_type(kind))), **settings)


@pytest.mark.parametrize(("kind", "values", "nested", "place", "kept"), NULLS)
def test_null_is_refused_or_left_out(
    kind: str, values: list[Any], nested: str, place: str, kept: list[Any]
) -> None:
    batch = batch_of(kind, values)
    strict = constraints(kind, nested=nested)
    if place:
        with pytest.raises(MillraceError, match=f"Column '{re.escape(place)}' of .*'t' {NOT_NULL}"):
            strict.enforced(batch)
        # a slice, whose buffers have rows before it
        assert strict.enforced(batch.slice(0, 1)).data.num_rows == 1
    else:
        assert strict.enforced(batch) is batch
    dropping = constraints(kind, nested=nested, drops=True)
    assert dropping.enforced(batch).data.column(0).equals(batch_of(kind, kept).data.column(0))
    rest = batch_of(kind, [values[0], *values]).slice(1, len(values) + 1)
    assert dropping.enforced(rest).data.column(0).equals(batch_of(kind, kept).data.column(0))


def test_what_deletes_a_key_needs_the_key_only() -> None:
    batch = batch_of("INT NOT NULL", [1, None, 3], [0, 3, 2])
    assert constraints("INT NOT NULL").enforced(batch) is batch
    with pytest.raises(MillraceError, match=NOT_NULL):
        constraints("INT NOT NULL", keys=frozenset({"c"})).enforced(batch)
    updated = batch_of("INT NOT NULL", [1, None], [0, 2])
    kept = constraints("INT NOT NULL", drops=True).enforced(updated)
    assert kept.data.column(0).to_pylist() == [1]
    assert kept.row_kinds is not None
    assert kept.row_kinds.to_pylist() == [0]


@pytest.mark.parametrize(
    ("kind", "values", "cut", "problem"),
    [
        ("CHAR(3)", ["abcd", "ab", "äöü", None], ["abc", "ab ", "äöü", None], "CHAR.3.*length 4"),
        ("CHAR(3)", ["abc", "ä"], ["abc", "ä  "], "CHAR.3.*length 1"),
        ("VARCHAR(2)", ["abc", "", "ä"], ["ab", "", "ä"], "VARCHAR.2.*length 3"),
        ("VARBINARY(2)", [b"abc", b"a"], [b"ab", b"a"], "VARBINARY.2.*length 3"),
        ("STRING", ["abc"], ["abc"], None),
        ("BYTES", [b"abc"], [b"abc"], None),
    ],
)
def test_lengths_are_those_of_the_column(
    kind: str, values: list[Any], cut: list[Any], problem: str | None
) -> None:
    batch = batch_of(kind, values)
    assert constraints(kind).enforced(batch) is batch
    made = constraints(kind, lengths="TRIM_PAD").enforced(batch)
    assert made.data.column(0).to_pylist() == cut
    strict = constraints(kind, lengths="ERROR")
    if problem is None:
        assert strict.enforced(batch) is batch
    else:
        with pytest.raises(MillraceError, match=f"Column 'c' of table 't' is {problem}"):
            strict.enforced(batch)
    row = f"ROW<a INT, s {kind}>"
    rows = batch_of(row, [(1, each) for each in values] + [None])
    below = constraints(row, lengths="TRIM_PAD", nested="ROWS").enforced(rows)
    expected = batch_of(row, [(1, each) for each in cut] + [None])
    assert below.data.column(0).equals(expected.data.column(0))
    assert constraints(row, lengths="TRIM_PAD").enforced(rows) is rows


def test_elements_of_a_multiset_have_the_length_of_their_type() -> None:
    strict = constraints("MULTISET<VARCHAR(2)>", lengths="ERROR", nested="ROWS_AND_COLLECTIONS")
    fitting = batch_of("MULTISET<VARCHAR(2)>", [{"ab": 3}, None, {}])
    assert strict.enforced(fitting) is fitting
    with pytest.raises(MillraceError, match=r"Column 'c\[element\]' of table 't' is VARCHAR.2"):
        strict.enforced(batch_of("MULTISET<VARCHAR(2)>", [{"ab": 3}, {"abc": 1}]))


def insert(path: Path, column: str, value: str, **settings: str) -> list[str]:
    """What is in a table after an INSERT."""
    with run_local():
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        for name, setting in settings.items():
            t_env.get_config().set(f"table.exec.sink.{name.replace('_', '-')}-enforcer", setting)
        t_env.execute_sql(
            f"CREATE TABLE t (n INT, c {column}) WITH ('connector' = 'filesystem', "
            f"'path' = '{path}', 'format' = 'csv')"
        )
        (path.parent / "s.csv").write_text("1,ab\n")
        t_env.execute_sql(
            "CREATE TABLE s (n INT, c CHAR(4)) WITH ('connector' = 'filesystem', "
            f"'path' = '{path.parent}/s.csv', 'format' = 'csv')"
        )
        t_env.execute_sql(f"INSERT INTO t SELECT n, {value} FROM s").wait()
    files = sorted(path.rglob("part-*"))
    return [line for file in files for line in file.read_text().splitlines()]


def test_a_null_that_a_function_makes_is_null(tmp_path: Path) -> None:
    """A decimal that overflows is NULL, though the cast of a constant is NOT NULL."""
    value = "CAST(123.456 AS DECIMAL(4, 2))"
    with pytest.raises(MillraceError, match=f"Column 'c' of table 't' {NOT_NULL}"):
        insert(tmp_path / "a", "DECIMAL(4, 2) NOT NULL", value)
    assert insert(tmp_path / "b", "DECIMAL(4, 2) NOT NULL", value, not_null="DROP") == []
    assert insert(tmp_path / "c", "DECIMAL(4, 2)", value) == ["1,"]


def test_settings_of_a_session_reach_the_sink(tmp_path: Path) -> None:
    assert insert(tmp_path / "e", "CHAR(4)", "c") == ["1,ab"]
    assert insert(tmp_path / "a", "CHAR(4)", "c", type_length="TRIM_PAD") == ["1,ab  "]
    with pytest.raises(MillraceError, match="however, a string of length 2"):
        insert(tmp_path / "b", "CHAR(4)", "c", type_length="ERROR")
    row, value = "ROW<x DECIMAL(4, 2) NOT NULL>", "ROW(CAST(123.456 AS DECIMAL(4, 2)))"
    with pytest.raises(MillraceError, match="Column 'c.x'"):
        insert(tmp_path / "c", row, value, nested_constraint="ROWS")
    with pytest.raises(MillraceError, match="not supported if constraint checking"):
        insert(
            tmp_path / "d",
            row,
            value,
            nested_constraint="ROWS_AND_COLLECTIONS",
            type_length="TRIM_PAD",
        )


OVERFLOW = "CAST(123.456 AS DECIMAL(4, 2))"


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_results_of_queries_satisfy_their_types(mode: str) -> None:
    """The client and a stream get no NULL of a type that is NOT NULL."""
    query = f"SELECT n, {OVERFLOW} AS d FROM (VALUES (1), (2)) AS v (n)"
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_runtime_mode(RuntimeExecutionMode[mode])
        t_env = StreamTableEnvironment.create(env)
        problem = f"Column 'd' of the query {NOT_NULL}"
        with pytest.raises(MillraceError, match=problem):
            list(t_env.sql_query(query).execute().collect())
        with pytest.raises(MillraceError, match=problem):
            list(t_env.to_data_stream(t_env.sql_query(query)).execute_and_collect())
        t_env.get_config().set("table.exec.sink.not-null-enforcer", "DROP")
        assert list(t_env.sql_query(query).execute().collect()) == []
        assert list(t_env.to_data_stream(t_env.sql_query(query)).execute_and_collect()) == []
        nullable = f"SELECT n, TRY_{OVERFLOW} AS d FROM (VALUES (1)) AS v (n)"
        [row] = t_env.sql_query(nullable).execute().collect()
        assert tuple(row) == (1, None)


def test_a_schema_declares_that_a_stream_has_no_null() -> None:
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(env)
        table = t_env.from_elements([(1,), (None,)], DataTypes.of("ROW<n INT>"))
        for kind, left in (("INT", [1, None]), ("INT NOT NULL", None)):
            schema = Schema.new_builder().column("n", kind).build()
            stream = t_env.to_changelog_stream(table, schema).map(lambda row: row.n)
            if left is None:
                with pytest.raises(MillraceError, match=f"Column 'n' of the query {NOT_NULL}"):
                    list(stream.execute_and_collect())
            else:
                assert list(stream.execute_and_collect()) == left
