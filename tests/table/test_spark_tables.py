"""DataFrames of Spark become tables, tables DataFrames; and all layers together are one job."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import cloudpickle
import pyarrow as pa
import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.typeinfo import Types
from millrace.common.types.row import Row
from millrace.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
from millrace.table import EnvironmentSettings, Schema, StreamTableEnvironment, TableEnvironment
from millrace.table.expressions import col

cloudpickle.register_pickle_by_value(sys.modules[__name__])
pytestmark = pytest.mark.spark


@pytest.fixture
def batch_env(spark: Any) -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_batch_mode())


@pytest.mark.turns(5)
def test_a_bounded_frame_there_and_back(spark: Any, batch_env: TableEnvironment) -> None:
    frame = spark.createDataFrame(
        [(1, "a", Decimal("1.50"), {"x": 1}), (2, None, None, None)],
        "id BIGINT, `na me` STRING, price DECIMAL(10, 2), m MAP<STRING, INT>",
    )
    table = batch_env.from_spark(frame, repeatable=True)
    assert str(table.get_schema()).splitlines()[3] == " |-- price: DECIMAL(10, 2)"
    found = table.where(col("id") < 2).to_dataframe()
    assert found.schema["price"].dataType.simpleString() == "decimal(10,2)"
    assert [tuple(row) for row in found.collect()] == [(1, "a", Decimal("1.50"), {"x": 1})]
    computed = Schema.new_builder().column_by_expression("more", "id + 1").build()
    copied = batch_env.from_spark(frame, computed).select(col("more"), col("na me")).to_arrow()
    assert sorted(copied.column("more").to_pylist()) == [2, 3]
    times = spark.sql("SELECT TIMESTAMP '2024-05-01 08:30:00Z' AS at, ARRAY(1, NULL) AS a")
    again = batch_env.from_spark(times, repeatable=True).to_arrow().to_pylist()
    assert again == [{"at": datetime(2024, 5, 1, 8, 30, tzinfo=UTC), "a": [1, None]}]


@pytest.mark.turns(5)
def test_what_cannot_be_said_of_a_frame(spark: Any, batch_env: TableEnvironment) -> None:
    with pytest.raises(JobDefinitionError, match="a trigger is for streaming DataFrames"):
        batch_env.from_spark(spark.range(3), trigger={"once": True})
    with pytest.raises(JobDefinitionError, match="DataFrame of PySpark"):
        batch_env.from_spark([1])
    rate = spark.readStream.format("rate").load()
    with pytest.raises(JobDefinitionError, match="never ends, so it cannot be read in batch mode"):
        batch_env.from_spark(rate).execute()


@pytest.mark.turns(5)
def test_a_streaming_frame_with_a_watermark(spark: Any) -> None:
    ticks = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    schema = (
        Schema.new_builder()
        .column("timestamp", "TIMESTAMP_LTZ(3)")
        .column("value", "BIGINT")
        .watermark("timestamp", "`timestamp` - INTERVAL '1' SECOND")
        .build()
    )
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.create_temporary_view("ticks", t_env.from_spark(ticks, schema))
    query = (
        "SELECT window_start, COUNT(*) FROM TUMBLE(TABLE ticks, DESCRIPTOR(`timestamp`), "
        "INTERVAL '1' SECOND) GROUP BY window_start, window_end"
    )
    with t_env.execute_sql(query).collect() as rows:
        assert next(rows)[1] > 0


class Split(ProcessFunction[Row, Any]):
    """Small numbers go on, large ones to the side."""

    def process_element(self, value: Row, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value.n >= 4:
            yield LARGE, value
        else:
            yield value


COLUMNS = Types.ROW_NAMED(["n", "word"], [Types.LONG(), Types.STRING()])
LARGE = OutputTag("large", COLUMNS)


@pytest.mark.turns(5)
def test_all_layers_are_one_job(spark: Any, tmp_path: Path) -> None:
    """A frame of Spark is joined with one of Arrow; its rows go through a process function with a
    side output and back into tables; a statement set writes two of these; the stream of a query
    over the other side is collected: one job runs all of it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    t_env = StreamTableEnvironment.create(env)
    numbers = t_env.from_spark(spark.range(6).withColumnRenamed("id", "n"), repeatable=True)
    words = t_env.from_arrow(pa.table({"k": [0, 1, 2], "word": ["zero", "one", "two"]}))
    joined = numbers.join(words, col("n") % 3 == col("k")).select(col("n"), col("word"))
    split = t_env.to_data_stream(joined).process(Split(), COLUMNS)
    small = t_env.from_data_stream(split)
    t_env.create_temporary_view("small_ones", small)
    t_env.create_temporary_view("large_ones", split.get_side_output(LARGE))
    for name in ("all_small", "counts"):
        columns = "n BIGINT, word STRING" if name == "all_small" else "n BIGINT"
        t_env.execute_sql(
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', "
            f"'path' = '{tmp_path / name}', 'format' = 'json')"
        )
    inserts = t_env.create_statement_set()
    inserts.add_insert("all_small", small)
    inserts.add_insert_sql("INSERT INTO counts SELECT n * 10 FROM small_ones WHERE n > 2")
    inserts.attach_as_datastream()
    counted = t_env.sql_query("SELECT word, COUNT(*) AS c FROM large_ones GROUP BY word")
    changes = t_env.to_changelog_stream(counted).map(lambda row: (row.word, row.c))
    with changes.execute_and_collect() as found:
        assert sorted(found) == [("one", 1), ("two", 1)]
    assert written(tmp_path / "all_small") == [
        {"n": 0, "word": "zero"},
        {"n": 1, "word": "one"},
        {"n": 2, "word": "two"},
        {"n": 3, "word": "zero"},
    ]
    assert written(tmp_path / "counts") == [{"n": 30}]


def written(directory: Path) -> list[Any]:
    lines = [
        line
        for path in directory.rglob("*")
        if path.is_file() and not path.name.startswith(".")
        for line in path.read_text().splitlines()
    ]
    return sorted(map(json.loads, lines), key=lambda row: row["n"])
