"""TLS and SASL against a real broker: everything that asks it does so with the job's properties."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_secured import PASSWORD, USER, SecuredKafkaBroker
from running import fixture_of

from millrace.common import Configuration, SimpleStringSchema, WatermarkStrategy
from millrace.common.sink import DeliveryGuarantee
from millrace.connectors.kafka import (
    KafkaError,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

TEXT = SimpleStringSchema()

pytestmark = pytest.mark.connectors  # a broker of its own


secured = fixture_of(SecuredKafkaBroker, "module")


def properties(broker: SecuredKafkaBroker, mechanism: str = "SCRAM-SHA-256") -> dict[str, str]:
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.username": USER,
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(broker.certificate),
    }


def copy(given: dict[str, str], source: str, sink: str, directory: Path, clock: Any) -> str:
    """From topic to topic, exactly once; returns the plan."""
    read = KafkaSource.builder().set_topics(source).set_group_id(f"group-{source}")
    read.set_bounded(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(TEXT)
    schema = KafkaRecordSerializationSchema.builder().set_topic(sink)
    written = KafkaSink.builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    written.set_record_serializer(schema.set_value_serialization_schema(TEXT).build())
    written.set_transactional_id_prefix(f"copy-{sink}")
    for name, value in given.items():
        read.set_property(name, value)
        written.set_property(name, value)
    with run_local(clock=clock, checkpoint_dir=str(directory)):
        settings = Configuration({"execution.checkpointing.interval": "0 ms"})
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        stream = env.from_source(read.build(), WatermarkStrategy.no_watermarks(), "read")
        stream.sink_to(written.build())
        plan = str(env.get_execution_plan())
        env.execute("copy")
    return plan


@pytest.fixture
def source(secured: SecuredKafkaBroker) -> str:
    """A topic with two records."""
    config = properties(secured)
    topic = f"secret-{time.time_ns()}"
    admin = AdminClient(config)
    for name in (topic, f"{topic}-out"):
        admin.create_topics([NewTopic(name, 1, 1)])[name].result(60)
    producer = Producer(config)
    for value in ("a", "b"):
        producer.produce(topic, value)
    assert producer.flush(60) == 0
    return topic


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_topic_to_topic_and_the_password_is_nowhere(
    secured: SecuredKafkaBroker,
    source: str,
    mechanism: str,
    tmp_path: Path,
    wall_clock: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    given = properties(secured, mechanism)
    with caplog.at_level(logging.DEBUG):
        plan = copy(given, source, f"{source}-out", tmp_path, wall_clock)
    [reader] = [KafkaSource.builder().set_topics(f"{source}-out")]
    reader.set_bounded(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(TEXT)
    reader.set_properties({**given, "isolation.level": "read_committed"})
    with run_local(clock=wall_clock):
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_source(reader.build(), WatermarkStrategy.no_watermarks(), "read")
        assert list(stream.execute_and_collect()) == ["a", "b"]
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert not any(PASSWORD.encode() in data for data in written)
    assert PASSWORD not in plan
    assert PASSWORD not in caplog.text


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"sasl.password": "wrong-but-secret"}, "SASL authentication error"),
        ({"ssl.ca.location": ""}, "certificate"),
    ],
)
def test_who_is_not_let_in_is_told_why(
    secured: SecuredKafkaBroker,
    source: str,
    wrong: dict[str, str],
    reason: str,
    tmp_path: Path,
    wall_clock: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("millrace.connectors.kafka.subscription.REQUEST_TIMEOUT_S", 3)
    given = {**properties(secured), **wrong}
    given = {name: value for name, value in given.items() if value}
    with pytest.raises(KafkaError, match=f"refuses the job: .*({reason})") as refused:
        copy(given, source, f"{source}-out", tmp_path, wall_clock)
    assert "wrong-but-secret" not in str(refused.value)
    assert secured.bootstrap_servers in str(refused.value)
