"""States of functions in a checkpoint, without Spark."""

from __future__ import annotations

from pathlib import Path
from time import sleep
from typing import Any

import pytest
from pyarrow.parquet import read_table

from millrace.common import Configuration, WatermarkStrategy
from millrace.common.errors import StateError
from millrace.connectors import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.snapshot_reader import SnapshotReader
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder, routable_message
from millrace.statefun.endpoint_update import MODULE_NAME
from millrace.statefun.function_state_reader import FunctionStatesQuery, read_function_states
from millrace.statefun.types import LONG, STRING, typed
from millrace.testing import CollectingSink, run_local

statefun = pytest.importorskip("statefun")
SLOWLY = RateLimiterStrategy.per_second(100)


def greeting(env: Any, functions: Any, name: str) -> None:
    """Add functions under a builder's name to a job."""
    ingress = env.from_collection(["a", "b", "a"]).map(
        lambda id: routable_message("test/greeter", id, typed(STRING, id))
    )
    builder = StatefulFunctionDataStreamBuilder.builder(name).with_egress_id("test/out")
    builder.with_data_stream_as_ingress(ingress).with_function_provider("test/*", functions)
    builder.build(env).get_data_stream_for_egress_id("test/out").sink_to(CollectingSink())


def rows_of(query: FunctionStatesQuery) -> list[tuple[Any, ...]]:
    return [tuple(row) for task in range(query.tasks) for row in query.rows(task)]


def test_states_are_read_by_function_id_and_name(tmp_path: Path) -> None:
    functions = statefun.StatefulFunctions()
    specs = [
        statefun.ValueSpec("seen", statefun.IntType),
        statefun.ValueSpec("own", statefun.make_json_type("test/own")),
    ]

    @functions.bind("test/greeter", specs)
    def greeter(context, message) -> None:
        context.storage.seen = (context.storage.seen or 0) + 1
        context.storage.own = {"text": message.as_string()}

    with run_local(workers=2):
        settings = Configuration({"execution.checkpointing.dir": str(tmp_path)})
        env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)
        greeting(env, functions, "test")
        env.execute("greet")
    (job,) = tmp_path.glob("greet-*")
    rows = rows_of(FunctionStatesQuery.of(SnapshotReader(open_snapshot(job, True))))
    own = {id: b'{"text": "%s"}' % id.encode() for id in "ab"}
    assert sorted((*row[:4], row[5]) for row in rows if row[2] == "seen") == [
        ("test/greeter", "a", "seen", "io.statefun.types/int", "2"),
        ("test/greeter", "b", "seen", "io.statefun.types/int", "1"),
    ]
    assert {row[1]: (row[3], row[4], row[5]) for row in rows if row[2] == "own"} == {
        id: ("test/own", value, None) for id, value in own.items()
    }


@pytest.fixture
def savepoint(tmp_path: Path) -> str:
    """A canonical savepoint of a job that runs a module's functions."""
    functions, sink = statefun.StatefulFunctions(), CollectingSink[Any]()
    specs = [
        statefun.ValueSpec("seen", statefun.LongType),
        statefun.ValueSpec("name", statefun.StringType),
    ]

    @functions.bind("test/greeter", specs)
    @functions.bind("test/counter", specs[:1])
    def function(context, message) -> None:
        context.storage.seen = 1
        if context.address.typename == "test/greeter":
            context.storage.name = message.as_string()
            context.send(statefun.message_builder("test/counter", context.address.id, int_value=1))
        else:
            egress = statefun.egress_message_builder("test/out", "x", statefun.StringType)
            context.send_egress(egress)

    with run_local(workers=2, epoch_records=10):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        source = DataGeneratorSource(lambda n: "ab"[n % 2], rate_limiter_strategy=SLOWLY)
        ids = env.from_source(source, WatermarkStrategy.no_watermarks(), "ids")
        messages = ids.map(lambda id: routable_message("test/greeter", id, typed(STRING, id)))
        builder = StatefulFunctionDataStreamBuilder.builder(MODULE_NAME).with_egress_id("test/out")
        builder.with_data_stream_as_ingress(messages).with_function_provider("test/*", functions)
        builder.build(env).get_data_stream_for_egress_id("test/out").sink_to(sink)
        client = env.execute_async("greet")
        while len(sink.values()) < 10:
            assert not client.get_job_execution_result().done()
            sleep(0.01)
        return str(client.stop_with_savepoint(False, str(tmp_path)).result())


SEEN = {("test/greeter", "a"), ("test/greeter", "b"), ("test/counter", "a"), ("test/counter", "b")}


def test_other_tools_read_states_in_a_savepoint_by_type_and_id(savepoint: str) -> None:
    table = read_table(f"{savepoint}/states/statefun-module/states")
    rows = {
        (row["map_key"]["f0"], row["key"], row["map_key"]["f1"]): row["value"]
        for row in table.to_pylist()
    }
    names = {(*address, "seen") for address in SEEN} | {("test/greeter", id, "name") for id in "ab"}
    assert rows.keys() == names
    assert rows["test/greeter", "b", "name"]["f0"] == STRING
    assert rows["test/greeter", "b", "name"]["f1"] == typed(STRING, "b").value


@pytest.mark.spark
def test_states_in_a_savepoint_as_parquet(spark: Any, savepoint: str, tmp_path: Path) -> None:
    states = read_function_states(spark, savepoint)
    states.where("function = 'test/greeter' AND id = 'b'").write.parquet(str(tmp_path / "b"))
    rows = read_table(tmp_path / "b").to_pylist()
    assert sorted((row["state"], row["typename"], row["decoded"]) for row in rows) == [
        ("name", STRING, "b"),
        ("seen", LONG, "1"),
    ]


def naming(name: str) -> Any:
    """A function whose state is a name."""
    functions = statefun.StatefulFunctions()

    @functions.bind("test/greeter", [statefun.ValueSpec("name", statefun.StringType)])
    def greeter(context, message) -> None:
        context.storage.name = name

    return functions


def test_functions_of_several_builders_are_read_by_name(tmp_path: Path) -> None:
    with run_local():
        settings = Configuration({"execution.checkpointing.dir": str(tmp_path)})
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        for name in ("one", "other"):
            greeting(env, naming(name), name)
        env.execute("greet")
    (job,) = tmp_path.glob("greet-*")
    reader = SnapshotReader(open_snapshot(job, True))
    for name in ("one", "other"):
        assert {row[5] for row in rows_of(FunctionStatesQuery.of(reader, name))} == {name}
    with pytest.raises(StateError, match=r"of 2 builders \('one', 'other'\)"):
        FunctionStatesQuery.of(reader)
    with pytest.raises(StateError, match=r"has no functions 'third', only: 'one', 'other'"):
        FunctionStatesQuery.of(reader, "third")


def test_a_checkpoint_without_functions_is_refused(tmp_path: Path) -> None:
    with run_local():
        settings = Configuration({"execution.checkpointing.dir": str(tmp_path)})
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        env.from_collection([1]).sink_to(CollectingSink())
        env.execute("plain")
    (job,) = tmp_path.glob("plain-*")
    with pytest.raises(StateError, match="has functions of 0 builders"):
        FunctionStatesQuery.of(SnapshotReader(open_snapshot(job, True)))
