"""DataFrames as sources, on Spark: bounded ones, copied or not, and streams with positions."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from pyspark.sql import functions as F

from millrace.common import Configuration, Duration, Encoder, Row, Types, WatermarkStrategy
from millrace.common.errors import JobDefinitionError
from millrace.common.job import JobStatus
from millrace.connectors import FileSink
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.testing import run_local

pytestmark = pytest.mark.spark
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROWS = 50
"""Rows of a micro-batch."""


@pytest.fixture
def make_env(tmp_path: Path) -> Callable[..., StreamExecutionEnvironment]:
    def make(**settings: Any) -> StreamExecutionEnvironment:
        configuration = {
            "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
            "execution.checkpointing.savepoint-dir": str(tmp_path / "savepoints"),
            "execution.checkpointing.interval": "50 ms",
            **settings,
        }
        env = StreamExecutionEnvironment.get_execution_environment(Configuration(configuration))
        return env.set_parallelism(2)

    return make


@pytest.mark.turns(7)
@pytest.mark.parametrize(
    ("repeatable", "mode"), [(True, "STREAMING"), (True, "BATCH"), (False, "STREAMING")]
)
def test_bounded(spark: Any, make_env: Callable[..., Any], repeatable: bool, mode: str) -> None:
    """More partitions than lanes and epochs, one of them empty; rows become dicts; event time."""
    frame = spark.range(0, 4000, 1, 5).where("id < 3000").selectExpr("id", "id % 4 AS k")
    env = make_env(**{"execution.runtime-mode": mode})
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(3000))
    timed = strategy.with_timestamp_assigner(lambda row, _: row["id"])
    rows = env.from_spark(frame, timed, repeatable=repeatable, record_type=dict)
    counts = (
        rows.map(lambda row: (row["k"], 1, row["id"]))
        .key_by(lambda pair: pair[0], Types.LONG())
        .window(TumblingEventTimeWindows.of(Duration.of_millis(1000)))
        .reduce(lambda a, b: (a[0], a[1] + b[1], min(a[2], b[2])))
    )
    with counts.execute_and_collect() as results:
        found = sorted(results)
    assert found == [(k, 250, 1000 * w + k) for k in range(4) for w in range(3)]


def test_nothing_in_it(spark: Any, make_env: Callable[..., Any]) -> None:
    env = make_env()
    with env.from_spark(spark.range(0), repeatable=True).execute_and_collect() as results:
        assert list(results) == []


def test_types(spark: Any, make_env: Callable[..., Any]) -> None:
    """What Spark's types are in Python."""
    query = "SELECT 1 AS i, 'a' AS s, DATE'2026-01-02' AS d, ARRAY(1, 2) AS l, CAST(NULL AS INT) n"
    with make_env().from_spark(spark.sql(query), repeatable=True).execute_and_collect() as results:
        (row,) = list(results)
    assert isinstance(row, Row)
    assert (row.i, row.s, row.d.isoformat(), row.l, row.n) == (1, "a", "2026-01-02", [1, 2], None)


def ticks(spark: Any) -> Any:
    return spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).load()


def start_writing(env: StreamExecutionEnvironment, spark: Any, out: Path) -> Any:
    """Write the values of a stream to files, a line each."""
    sink = FileSink.for_row_format(str(out), Encoder.simple_string_encoder()).build()
    values = env.from_spark(ticks(spark), source_name="ticks").uid("ticks")
    values.map(lambda row: str(row.value)).sink_to(sink).uid("out")
    return env.execute_async("values")


def values_in(out: Path) -> list[int]:
    files = [p for p in out.rglob("*") if p.is_file() and not p.name.startswith(("_", "."))]
    return sorted(int(line) for path in files for line in path.read_text().split())


def stopped_after(env: Any, client: Any, epochs: int) -> str:
    """Let a job run for some epochs; returns its savepoint."""
    enough = threading.Event()
    env.launcher.listeners.append(lambda details: details.epochs >= epochs and enough.set())
    assert enough.wait(120), client.get_job_status().result()
    path: str = client.stop_with_savepoint(False).result(120)
    client.get_job_execution_result().result(120)
    return path


@pytest.mark.turns(7)
def test_goes_on_from_any_savepoint(
    spark: Any, make_env: Callable[..., Any], tmp_path: Path
) -> None:
    """Each value once, when a second run goes on from the savepoint of the first, and again when a
    third one does, which is behind where Spark has got to meanwhile."""
    first = tmp_path / "first"
    env = make_env()
    savepoint = stopped_after(env, start_writing(env, spark, first), 6)
    read = values_in(first)
    assert read == list(range(len(read)))
    assert read
    assert len(read) % ROWS == 0
    for name in ("second", "third"):
        env = make_env(
            **{
                "execution.state-recovery.path": savepoint,
                "execution.checkpointing.dir": str(tmp_path / name / "checkpoints"),
            }
        )
        stopped_after(env, start_writing(env, spark, tmp_path / name / "out"), 6)
        more = values_in(tmp_path / name / "out")
        assert more == list(range(len(read), len(read) + len(more)))
        assert more
    assert not spark.streams.active


@pytest.mark.turns(7)
def test_the_query_fails(spark: Any, make_env: Callable[..., Any]) -> None:
    """The job fails with what Spark says of it."""
    env = make_env()
    broken = ticks(spark).selectExpr("value", "raise_error(concat('no ', value)) AS e")
    env.from_spark(broken).map(lambda row: row.value).print()
    with pytest.raises(Exception, match="no "):
        env.execute("broken")


def stateful() -> Iterator[tuple[str, Callable[[Any], Any], str]]:
    yield "duplicates", lambda rows: rows.dropDuplicates(["value"]), "drops duplicates"
    yield "distinct", lambda rows: rows.distinct(), "drops duplicates"
    yield "groups", lambda rows: rows.groupBy("value").count(), "aggregates"
    yield "limit", lambda rows: rows.limit(3), "has a limit"
    yield "join", lambda rows: rows.join(rows.withColumnRenamed("timestamp", "t"), "value"), "joins"


@pytest.mark.parametrize(("state", "text"), [pytest.param(*c[1:], id=c[0]) for c in stateful()])
def test_state_belongs_to_the_job(
    spark: Any, make_env: Callable[..., Any], state: Callable[[Any], Any], text: str
) -> None:
    """Refused where the program reads the DataFrame, before anything runs."""
    with pytest.raises(JobDefinitionError, match=rf"keeps state in Spark \(it {text}"):
        make_env().from_spark(state(ticks(spark)))


def test_a_bounded_side_may_aggregate(spark: Any, make_env: Callable[..., Any]) -> None:
    """A stream that is joined with a table keeps no state, whatever the table is made of."""
    table = spark.range(9).groupBy((F.col("id") % 3).alias("value")).count()
    assert make_env().from_spark(ticks(spark).join(table, "value"))


def test_cancelled(spark: Any, make_env: Callable[..., Any]) -> None:
    env = make_env()
    env.from_spark(ticks(spark)).print()
    client = env.execute_async("cancelled")
    seen = threading.Event()
    env.launcher.listeners.append(lambda details: details.epochs >= 2 and seen.set())
    assert seen.wait(120)
    client.cancel().result(60)
    with pytest.raises(Exception, match="cancel"):
        client.get_job_execution_result().result(60)
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert not spark.streams.active


def read_with_trigger(trigger: dict[str, Any], env: Any, spark: Any) -> object:
    return env.from_spark(ticks(spark), trigger=trigger)


def refused() -> Iterator[tuple[str, Callable[[Any, Any], object], str]]:
    yield "no DataFrame", lambda env, spark: env.from_spark([1], repeatable=True), "a DataFrame of"
    yield "trigger", lambda env, spark: env.from_spark(spark.range(1), trigger={}), "is bounded"
    for trigger, text in (
        ({"procesingTime": "1 second"}, "'procesingTime'.* did you mean 'processingTime'?"),
        ({"every": "1 second"}, "'every'.* there are processingTime, availableNow"),
        ({"continuous": "1 second"}, "cannot use the trigger 'continuous'"),
        ({"processingTime": "1 second", "availableNow": True}, "takes one trigger"),
    ):
        yield str(trigger), partial(read_with_trigger, trigger), text
    yield "stream", lambda env, spark: env.from_spark(ticks(spark), repeatable=True), "bounded Data"


@pytest.mark.parametrize(("call", "text"), [pytest.param(*c[1:], id=c[0]) for c in refused()])
def test_refused(
    spark: Any, make_env: Callable[..., Any], call: Callable[[Any, Any], object], text: str
) -> None:
    with pytest.raises(JobDefinitionError, match=text):
        call(make_env(), spark)


def test_not_in_the_program_itself(spark: Any, make_env: Callable[..., Any]) -> None:
    """Without Spark nothing would be delivered, and the job would end with nothing."""
    with run_local():
        env = make_env()
        env.from_spark(spark.range(10), repeatable=True).print()
        with pytest.raises(Exception, match="on Spark only"):
            env.execute()
