"""A module that reads from Kafka and writes to it."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.common import Configuration
from millrace.common.errors import SerializationError, UserFunctionError
from millrace.datastream import StreamExecutionEnvironment
from millrace.statefun.address import Address, FunctionType, TypedValue
from millrace.statefun.application.kafka_components import (
    RoutedRecords,
    kafka_sink,
    kafka_source,
    topic_key_value,
)
from millrace.statefun.application.module_job import add_module, embedded_functions
from millrace.statefun.module import KafkaEgress, KafkaIngress, Routed, StartupPosition, read_module
from millrace.statefun.protocol import KAFKA_RECORD, KafkaProducerRecord
from millrace.statefun.types import STRING, typed
from millrace.testing import run_local
from millrace.testing.resident_tasks import local_resident_executor

pytest.importorskip("statefun")
pytest.importorskip("confluent_kafka")
MODULE = """\
kind: io.statefun.kafka.v1/ingress
spec:
  id: test/in
  address: {address}
  consumerGroupId: test
  startupPosition:
    type: {position}
  topics:
    - topic: {source}
      valueType: test/bytes
      targets: [test/echo]
---
kind: io.statefun.kafka.v1/egress
spec:
  id: test/kafka
  address: {address}
  deliverySemantic:
    type: {semantic}{more}
"""
TARGETS = FunctionType("test", "a"), FunctionType("test", "b")
ROUTED = (Routed("in", "test/bytes", TARGETS),)


def record(key: bytes | None, value: bytes | None) -> Any:
    return SimpleNamespace(
        topic=lambda: "in",
        key=lambda: key,
        value=lambda: value,
        partition=lambda: 2,
        offset=lambda: 7,
    )


def test_a_record_goes_to_all_targets_of_its_topic() -> None:
    batch, indexes = RoutedRecords(ROUTED).deserialize_flat(
        [record(b"1", b"x"), record(b"2", None)]
    )
    assert [(m.target, m.argument) for m in batch.values] == [
        (Address("test", name, id), TypedValue("test/bytes", value is not None, value or b""))
        for id, value in (("1", b"x"), ("2", None))
        for name in ("a", "b")
    ]
    assert indexes == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("key", "error"), [(None, "in-2 at 7 has no key"), (b"\xff", "in-2 at 7 is not UTF-8")]
)
def test_a_record_without_an_id_fails(key: bytes | None, error: str) -> None:
    with pytest.raises(SerializationError, match=error):
        RoutedRecords(ROUTED).deserialize_flat([record(key, b"x")])


def test_records_of_the_egress() -> None:
    content = KafkaProducerRecord(key="k", topic="t", value_bytes=b"v").SerializeToString()
    assert topic_key_value(TypedValue(KAFKA_RECORD, True, content)) == ("t", b"k", b"v")
    content = KafkaProducerRecord(topic="t").SerializeToString()
    assert topic_key_value(TypedValue(KAFKA_RECORD, True, content)) == ("t", None, b"")
    for value, error in (
        (typed(STRING, "x"), "an egress of Kafka takes records of type type.googleapis"),
        (
            TypedValue(KAFKA_RECORD, True, b"\xff"),
            "1 bytes are not a record of type type.googleapis",
        ),
        (
            TypedValue(KAFKA_RECORD, True, b""),
            "a record for an egress of Kafka lacks the field topic",
        ),
    ):
        with pytest.raises(SerializationError, match=error):
            topic_key_value(value)


@pytest.mark.parametrize(
    ("position", "kind"),
    [
        (StartupPosition("earliest"), "EARLIEST"),
        (StartupPosition("latest"), "LATEST"),
        (StartupPosition("group-offsets"), "COMMITTED"),
        (StartupPosition("specific-offsets", (("in", 0, 5),)), "OFFSETS"),
        (StartupPosition("date", (), 1000), "TIMESTAMP"),
    ],
)
def test_all_positions(position: StartupPosition, kind: str) -> None:
    id = FunctionType("test", "in")
    ingress = KafkaIngress(id, "localhost:1", ROUTED, "group", position)
    offsets = kafka_source(ingress)._reading.starting_offsets
    assert offsets.kind.name == kind
    assert offsets.at == (1000 if kind == "TIMESTAMP" else 0)


def test_an_exactly_once_egress_has_a_prefix_of_its_own() -> None:
    id = FunctionType("test.x", "out")
    assert kafka_sink(KafkaEgress(id, "localhost:1")).exclusive_id is None
    one = kafka_sink(KafkaEgress(id, "localhost:1", "exactly-once", 60_000))
    assert one.exclusive_id == "transactional id prefix 'statefun-test.x_out-1078ae81'"
    prefixes = {one.exclusive_id}
    for other, job in ((FunctionType("test", "x_out"), ""), (id, "shop (/srv)"), (id, "shop_/srv")):
        sink = kafka_sink(KafkaEgress(other, "localhost:1", "exactly-once", 60_000), job)
        prefixes.add(sink.exclusive_id)
    assert len(prefixes) == 4
    assert one._writing.properties["transaction.timeout.ms"] == "60000"
    own = (("transactional.id", "own"),)
    named = kafka_sink(KafkaEgress(id, "localhost:1", "exactly-once", 60_000, own))
    assert named.exclusive_id == "transactional id prefix 'own'"


@pytest.mark.parametrize("running", ["resident"], indirect=True)
@pytest.mark.parametrize("semantic", ["at-least-once", "exactly-once"])
def test_records_go_through_functions(
    kafka_broker: Any, running: Any, semantic: str, tmp_path: Path
) -> None:
    from kafka_topics import Topics
    from statefun.egress_io import kafka_egress_message

    from statefun import StatefulFunctions

    functions = StatefulFunctions()

    @functions.bind("test/echo")
    def echo(context: Any, message: Any) -> None:
        value = context.address.id.encode() + b" " + message.raw_value()
        context.send_egress(kafka_egress_message(typename="test/kafka", topic=target, value=value))

    topics = Topics(kafka_broker.bootstrap_servers)
    source, target = topics.create(), topics.create()
    for n in range(20):
        topics.send(source, [f"v{n}"], key=f"a{n % 3}")
    path = tmp_path / "module.yaml"
    more = "\n    transactionTimeout: 1m" if semantic == "exactly-once" else ""
    path.write_text(
        MODULE.format(
            address=kafka_broker.bootstrap_servers,
            position="earliest",
            source=source,
            semantic=semantic,
            more=more,
        )
    )
    config = Configuration(
        {
            "execution.checkpointing.interval": "0 ms",  # transactions end with checkpoints
            "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        }
    )
    with running():
        env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(2)
        add_module(env, read_module(path), embedded_functions({"functions": functions}))
        client = env.execute_async("module")
        try:
            deadline = monotonic() + 60
            while len(written := topics.values(target)) < 20:
                assert monotonic() < deadline, written
        finally:
            client.cancel().result()
    for id in range(3):
        own = [text for text in written if text.startswith(f"a{id} ")]
        assert own == [f"a{id} v{n}" for n in range(id, 20, 3)]


class ReadAgain:
    """A module whose ingress has other topics in each run. It reads what is there, and ends."""

    def __init__(self, topics: Any, directory: Path, **local: Any) -> None:
        self.topics = topics
        self.one, self.other, self.target = (topics.create() for _ in range(3))
        self._local = {**local, "checkpoint_dir": str(directory / "checkpoints"), "resume": True}
        self._path = directory / "module.yaml"

    def run(self, *sources: str) -> None:
        from statefun.egress_io import kafka_egress_message

        from statefun import StatefulFunctions

        functions, target = StatefulFunctions(), self.target

        @functions.bind("test/echo")
        def echo(context: Any, message: Any) -> None:
            value = message.raw_value()
            record = kafka_egress_message(typename="test/kafka", topic=target, value=value)
            context.send_egress(record)

        first, *others = sources
        module = MODULE.format(
            address=self.topics.bootstrap_servers,
            position="latest",
            source=first,
            semantic="at-least-once",
            more="",
        )
        mark = "    - topic:"
        entry = mark + module.partition(mark)[2].partition("---")[0]
        more = "".join(entry.replace(first, other) for other in others)
        self._path.write_text(module.replace(entry, entry + more))
        config = {"execution.checkpointing.interval": "0 ms", "millrace.available-now": "true"}
        with run_local(**self._local):
            env = StreamExecutionEnvironment.get_execution_environment(Configuration(config))
            env.set_parallelism(2)
            add_module(env, read_module(self._path), embedded_functions({"functions": functions}))
            env.execute("module")


@pytest.mark.parametrize("executor", ["epochs", "resident"])
def test_a_topic_that_leaves_the_module_and_comes_back_is_read_from_where_it_was_left(
    kafka_broker: Any, tmp_path: Path, executor: str
) -> None:
    from kafka_topics import Topics
    from wall_clock import WallClock

    topics = Topics(kafka_broker.bootstrap_servers)
    local: dict[str, Any] = {"clock": WallClock()}
    if executor == "resident":
        local = {"executor": lambda: local_resident_executor(2)}
    module = ReadAgain(topics, tmp_path, **local)
    module.run(module.one, module.other)
    expected: list[str] = []
    for round, sources in enumerate([2, 1, 1, 2, 2]):
        for topic, name in ((module.one, "a"), (module.other, "b")):
            topics.send(topic, [f"{name}{round}"], key="k")
        module.run(*(module.one, module.other)[:sources])
        expected += [f"a{round}"] + [f"b{n}" for n in range(round + 1) if sources == 2]
        assert sorted(topics.values(module.target)) == sorted({*expected})
    # in a topic that is not read, retention deletes what was not read
    module.run(module.one)
    topics.send(module.other, ["b5", "b6"], key="k")
    topics.delete_before(module.other, 6)
    with pytest.raises(UserFunctionError, match="up to offset 5, and the brokers have deleted"):
        module.run(module.one, module.other)
