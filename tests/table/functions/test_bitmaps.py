"""Bitmaps in SQL and the Table API."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from pyroaring import BitMap

from millrace.common import Row, RowKind, Types
from millrace.common.errors import MillraceError
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import (
    DataTypes,
    EnvironmentSettings,
    Schema,
    StreamTableEnvironment,
    TableEnvironment,
)
from millrace.table.expressions import array, col, lit
from millrace.table.udf import udf
from millrace.testing import run_local

INSERT, DELETE = RowKind.INSERT, RowKind.DELETE
UPDATE_BEFORE, UPDATE_AFTER = RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER
Change = tuple[RowKind, Any, str]


@pytest.fixture
def t_env() -> Iterator[TableEnvironment]:
    with run_local():
        yield TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def one(t_env: TableEnvironment, expression: str) -> Any:
    with t_env.sql_query(f"SELECT {expression}").execute().collect() as rows:
        return next(iter(rows))[0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (
            "BITMAP_TO_STRING(BITMAP_BUILD(ARRAY[1, 2, 3, -4, CAST(NULL AS INT)]))",
            "{1,2,3,4294967292}",
        ),
        ("BITMAP_BUILD(CAST(NULL AS ARRAY<INT>))", None),
        ("BITMAP_CARDINALITY(BITMAP_BUILD(ARRAY_REMOVE(ARRAY[1], 1)))", 0),
        ("BITMAP_TO_STRING(BITMAP_BUILD(ARRAY_REMOVE(ARRAY[1], 1)))", "{}"),
        (
            "BITMAP_TO_ARRAY(BITMAP_BUILD(ARRAY[-1, 1, 3, 2, -2147483648]))",
            [1, 2, 3, -2147483648, -1],
        ),
        ("BITMAP_CARDINALITY(CAST(NULL AS BITMAP))", None),
        ("BITMAP_AND(BITMAP_BUILD(ARRAY[1]), CAST(NULL AS BITMAP))", None),
        ("BITMAP_ANDNOT(NULL, BITMAP_BUILD(ARRAY[1]))", None),
        ("BITMAP_BUILD(ARRAY[1, 2]) = BITMAP_BUILD(ARRAY[2, 1, 2])", True),
        ("CAST(BITMAP_BUILD(ARRAY[5]) AS STRING)", "{5}"),
        ("CAST(BITMAP_BUILD(ARRAY[1]) AS BYTES) = BITMAP_TO_BYTES(BITMAP_BUILD(ARRAY[1]))", True),
        ("TRY_CAST(X'00' AS BITMAP)", None),
        ("CAST(ARRAY[BITMAP_BUILD(ARRAY[5])] AS STRING)", "[{5}]"),
    ],
)
def test_values(t_env: TableEnvironment, expression: str, expected: Any) -> None:
    assert one(t_env, expression) == expected


def test_bytes_are_those_of_other_libraries(t_env: TableEnvironment) -> None:
    numbers = BitMap([1, 2, 3])
    numbers.update(list(range(100_000, 200_000)))
    assert BitMap.deserialize(one(t_env, "BITMAP_BUILD(ARRAY[1, -1])")) == BitMap([1, 2**32 - 1])
    plain = numbers.serialize().hex()
    read = one(t_env, f"BITMAP_FROM_BYTES(X'{plain}')")
    numbers.run_optimize()
    assert read == numbers.serialize()
    assert len(read) < 100 < len(plain) // 2


def test_bitmaps_too_great_to_be_taken_apart(t_env: TableEnvironment) -> None:
    half = written(BitMap(range(2**31)))
    assert one(t_env, f"BITMAP_CARDINALITY(BITMAP_FROM_BYTES(X'{half}'))") == 2**31
    text = one(t_env, f"BITMAP_TO_STRING(BITMAP_FROM_BYTES(X'{half}'))")
    assert text.endswith(",...}")
    assert 0x80000 < len(text) < 0x80000 + 20
    with pytest.raises(MillraceError, match="Failed to convert bitmap to an array"):
        one(t_env, f"BITMAP_TO_ARRAY(BITMAP_FROM_BYTES(X'{half}'))")


def written(bitmap: BitMap) -> str:
    bitmap.run_optimize()
    return bytes(bitmap.serialize()).hex()


@pytest.mark.parametrize("raw", ["", "696e76616c6964", "3a300000020000000000020001"])
def test_bytes_that_are_no_bitmap(t_env: TableEnvironment, raw: str) -> None:
    place = r"line 1, column 8: [\s\S]*Failed to deserialize bitmap from bytes"
    with pytest.raises(MillraceError, match=place):
        one(t_env, f"BITMAP_FROM_BYTES(X'{raw}')")


@pytest.mark.parametrize(
    "expression",
    [
        "BITMAP_BUILD(ARRAY[CAST(1 AS BIGINT)])",
        "BITMAP_BUILD(1)",
        "BITMAP_CARDINALITY(ARRAY[1])",
        "BITMAP_AND(X'00', X'00')",
        "BITMAP_FROM_BYTES('{1}')",
        "CAST(BITMAP_BUILD(ARRAY[1]) AS VARBINARY(3))",
        "CAST('{1}' AS BITMAP)",
        "JSON_ARRAY(BITMAP_BUILD(ARRAY[1]))",
        "BITMAP_BUILD_AGG(CAST(1 AS BIGINT))",
        "BITMAP_OR_AGG(ARRAY[1])",
    ],
)
def test_refused_types(t_env: TableEnvironment, expression: str) -> None:
    with pytest.raises(MillraceError, match=r"line 1, column 8: |BITMAP"):
        one(t_env, expression)


def test_the_table_api(t_env: TableEnvironment) -> None:
    rows = t_env.from_elements([(1, 2), (1, 3), (2, 3)], ["k", "n"]).select(
        col("k"), col("n").cast(DataTypes.INT()).alias("n")
    )
    bitmap = array(col("n"), 7).bitmap_build()
    shown = rows.select(
        bitmap.bitmap_or(array(lit(1)).bitmap_build()).bitmap_to_string(),
        bitmap.bitmap_and(array(lit(7)).bitmap_build()).bitmap_to_array(),
        bitmap.bitmap_xor(bitmap).bitmap_cardinality(),
        bitmap.bitmap_andnot(array(lit(7)).bitmap_build())
        .bitmap_to_bytes()
        .bitmap_from_bytes()
        .bitmap_to_string(),
    )
    with shown.limit(1).execute().collect() as found:
        assert tuple(next(iter(found))) == ("{1,2,7}", [7], 0, "{2}")
    grouped = rows.group_by(col("k")).select(
        col("k"),
        col("n").bitmap_build_agg().bitmap_to_string(),
        col("n").bitmap_build_cardinality_agg(),
        bitmap.bitmap_and_agg().bitmap_to_string(),
        bitmap.bitmap_and_cardinality_agg(),
        bitmap.bitmap_or_agg().bitmap_to_string(),
        bitmap.bitmap_or_cardinality_agg(),
        bitmap.bitmap_xor_agg().bitmap_to_string(),
        bitmap.bitmap_xor_cardinality_agg(),
    )
    with grouped.execute().collect() as found:
        last = {row[0]: tuple(row)[1:] for row in found}
    assert last[1] == ("{2,3}", 2, "{7}", 1, "{2,3,7}", 3, "{2,3}", 2)
    assert last[2] == ("{3}", 1, "{3,7}", 2, "{3,7}", 2, "{3,7}", 2)


def test_functions_of_python_take_and_give_bytes(t_env: TableEnvironment) -> None:
    @udf(result_type=DataTypes.BITMAP())
    def doubled(raw: bytes) -> bytes:
        return bytes(BitMap(2 * n for n in BitMap.deserialize(raw)).serialize())

    t_env.create_temporary_function("doubled", doubled)
    assert one(t_env, "BITMAP_TO_STRING(doubled(BITMAP_BUILD(ARRAY[1, 2])))") == "{2,4}"


# What Flink's own tests say of these changes, a group at a time.
AND_XOR: list[Change] = [
    (INSERT, [2, 4, 6], "A"), (INSERT, None, "A"), (DELETE, [2, 4, 6], "A"),
    (INSERT, [1, 3, 5], "B"), (DELETE, [1, 3, 5], "B"), (INSERT, None, "B"),
    (INSERT, [-1, 0, 2, 3, 4], "B"), (DELETE, [2, 4, 6], "B"), (INSERT, [2, 3, 4, 5, 6], "B"),
    (INSERT, [2, 4, 6], "B"), (INSERT, [2, 4, 6], "B"), (INSERT, [1, 4, 7], "B"),
    (DELETE, [1, 4, 7], "B"), (UPDATE_BEFORE, [2, 4, 6], "B"), (UPDATE_AFTER, [3, 4, 5], "B"),
    (INSERT, [2, 3, 11], "C"), (INSERT, [1, 5, 13], "C"), (INSERT, [-1, -3, 0], "C"),
    (INSERT, None, "C"), (DELETE, [-1, -3, 0], "C"), (DELETE, [1, 5, 13], "C"),
    (DELETE, None, "C"), (UPDATE_BEFORE, [2, 3, 11], "C"), (UPDATE_AFTER, [1, 2], "C"),
]  # fmt: skip
BUILD: list[Change] = [
    (INSERT, 1, "A"), (INSERT, None, "A"), (DELETE, 1, "A"),
    (INSERT, 1, "B"), (DELETE, 1, "B"), (INSERT, None, "B"), (INSERT, 3, "B"), (DELETE, 2, "B"),
    (INSERT, -1, "B"), (INSERT, 2, "B"), (INSERT, 2, "B"), (INSERT, 1, "B"), (DELETE, 1, "B"),
    (UPDATE_BEFORE, 3, "B"), (UPDATE_AFTER, 1, "B"),
    (INSERT, 2, "C"), (INSERT, 1, "C"), (INSERT, -1, "C"), (INSERT, None, "C"), (DELETE, 1, "C"),
    (DELETE, -1, "C"), (DELETE, None, "C"), (UPDATE_BEFORE, 2, "C"), (UPDATE_AFTER, 1, "C"),
]  # fmt: skip


@pytest.mark.parametrize("epoch_records", [None, 1, 4])
@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("AND", AND_XOR, {"A": (None, None), "B": ("{3,4}", 2), "C": ("{1,2}", 2)}),
        ("XOR", AND_XOR, {"A": (None, None), "B": ("{0,3,4,6,4294967295}", 5), "C": ("{1,2}", 2)}),
        ("BUILD", BUILD, {"A": (None, None), "B": ("{1,2,4294967295}", 3), "C": ("{1}", 1)}),
    ],
)
def test_rows_are_taken_back(
    name: str, changes: list[Change], expected: dict[str, Any], epoch_records: int | None
) -> None:
    with run_local(workers=2, seed=3, epoch_records=epoch_records):
        env = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(env)
        element = Types.INT() if name == "BUILD" else Types.LIST(Types.INT())
        kinds = Types.ROW_NAMED(["v", "k"], [element, Types.STRING()])
        rows = [Row.of_kind(kind, value, key) for kind, value, key in changes]
        table = t_env.from_changelog_stream(env.from_collection(rows, kinds))
        t_env.create_temporary_view("t", table)
        value = "v" if name == "BUILD" else "BITMAP_BUILD(v)"
        query = (
            f"SELECT k, BITMAP_TO_STRING(BITMAP_{name}_AGG({value})), "
            f"BITMAP_{name}_CARDINALITY_AGG({value}) FROM t GROUP BY k"
        )
        with t_env.sql_query(query).execute().collect() as found:
            last = {row[0]: tuple(row)[1:] for row in found}
    assert last == expected


@pytest.mark.parametrize("epoch_records", [None, 1])
def test_over_windows(epoch_records: int | None) -> None:
    with run_local(epoch_records=epoch_records):
        t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        query = (
            "SELECT o, BITMAP_TO_STRING(BITMAP_BUILD_AGG(n) OVER (ORDER BY o)), "
            "BITMAP_BUILD_CARDINALITY_AGG(n) OVER (ORDER BY o DESC) "
            "FROM (VALUES (1, 1), (2, 2), (3, 1)) AS w (o, n)"
        )
        with t_env.sql_query(query).execute().collect() as found:
            assert sorted(map(tuple, found)) == [(1, "{1}", 2), (2, "{1,2}", 2), (3, "{1,2}", 1)]


@pytest.mark.parametrize("epoch_records", [None, 1])
def test_windows_of_time(epoch_records: int | None) -> None:
    """Slices of windows are put together; windows of sessions are merged."""
    with run_local(workers=2, seed=2, epoch_records=epoch_records):
        env = StreamExecutionEnvironment.get_execution_environment()
        t_env = StreamTableEnvironment.create(env)
        rows = [(n, 60_000 * minute) for minute, n in ((0, 1), (1, 2), (2, 1), (9, 5), (1, 3))]
        kinds = Types.ROW_NAMED(["n", "t"], [Types.INT(), Types.LONG()])
        schema = (
            Schema.new_builder()
            .column_by_expression("ts", "TO_TIMESTAMP_LTZ(t, 3)")
            .watermark("ts", "ts - INTERVAL '10' MINUTE")
            .build()
        )
        stream = env.from_collection(rows, kinds)
        t_env.create_temporary_view("t", t_env.from_data_stream(stream, schema))
        windows = {
            "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '2' MINUTE, INTERVAL '4' MINUTE)": [
                *("{1,2,3}", "{1,2,3}", "{1}", "{5}", "{5}")
            ],
            "SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '3' MINUTE)": ["{1,2,3}", "{5}"],
        }
        for window, expected in windows.items():
            for call in ("BITMAP_BUILD_AGG(n)", "BITMAP_OR_AGG(BITMAP_BUILD(ARRAY[n]))"):
                query = f"SELECT BITMAP_TO_STRING({call}) FROM TABLE({window})"
                result = t_env.sql_query(f"{query} GROUP BY window_start, window_end")
                with result.execute().collect() as found:
                    assert sorted(row[0] for row in found) == sorted(expected)


def test_without_the_library() -> None:
    program = (
        "import sys; sys.modules['pyroaring'] = None\n"
        "from millrace.common.types.bitmaps import bitmap_class\n"
        "bitmap_class()"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "bitmaps need the package pyroaring: pip install 'millrace[bitmaps]'" in run.stderr


def test_a_printed_table_shows_the_numbers(
    t_env: TableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    t_env.execute_sql("SELECT BITMAP_BUILD(ARRAY[2, 1])").print()
    assert "{1,2}" in capsys.readouterr().out
