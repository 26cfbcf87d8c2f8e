"""The producer of Flink 1's programs: its defaults, and a real broker for what it writes."""

from __future__ import annotations

import time
from typing import Any

import pytest

from millrace.common import SimpleStringSchema, WatermarkStrategy
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import DeliveryGuarantee
from millrace.common.types.batch import RowBatch
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors import FlinkKafkaProducer, Semantic
from millrace.testing import run_local

SERVERS = {"bootstrap.servers": "127.0.0.1:9"}
EXACTLY = SERVERS | {"transactional.id": "shop-totals"}
TEXT = SimpleStringSchema()


def producer(semantic: Semantic = Semantic.AT_LEAST_ONCE, **more: Any) -> FlinkKafkaProducer:
    config = EXACTLY if semantic is Semantic.EXACTLY_ONCE else SERVERS
    return FlinkKafkaProducer("totals", TEXT, config, semantic=semantic, **more)


@pytest.mark.parametrize("semantic", list(Semantic))
def test_its_semantic_is_the_guarantee(semantic: Semantic) -> None:
    writing = producer(semantic)._sink()._writing
    assert writing.guarantee is DeliveryGuarantee[semantic.name]
    assert dict(writing.properties) == SERVERS
    exactly = semantic is Semantic.EXACTLY_ONCE
    assert writing.transactional_id_prefix == ("shop-totals" if exactly else None)


def test_what_it_does_not_flush_is_not_guaranteed() -> None:
    made = producer()
    assert made.set_flush_on_checkpoint(False) is made
    assert made._sink()._writing.guarantee is DeliveryGuarantee.NONE
    made.set_flush_on_checkpoint(True).set_log_failures_only(False)
    made.ignore_failures_after_transaction_timeout()
    assert made._sink()._writing.guarantee is DeliveryGuarantee.AT_LEAST_ONCE
    exactly = producer(Semantic.EXACTLY_ONCE).set_flush_on_checkpoint(True)
    assert exactly._sink()._writing.guarantee is DeliveryGuarantee.EXACTLY_ONCE


def test_event_times_are_written_if_it_is_asked_to() -> None:
    """Else a record has the time of its writing."""
    batch = RowBatch(["a", "b"], [1_000, 2_000])
    made = producer()
    assert made._sink()._writing.schema.serialize_batch(batch) == {
        "totals": [{"value": b"a"}, {"value": b"b"}]
    }
    made.set_write_timestamp_to_kafka(True).set_flush_on_checkpoint(True)
    assert made._sink()._writing.schema.serialize_batch(batch) == {
        "totals": [{"value": b"a", "timestamp": 1_000}, {"value": b"b", "timestamp": 2_000}]
    }


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FlinkKafkaProducer("a/b", TEXT, SERVERS), "the name of a topic, not 'a/b'"),
        (lambda: FlinkKafkaProducer("t", str, SERVERS), "needs a SerializationSchema"),
        (lambda: FlinkKafkaProducer("t", TEXT, {}), "the property 'bootstrap.servers'"),
        (
            lambda: FlinkKafkaProducer("t", TEXT, SERVERS, semantic=Semantic.EXACTLY_ONCE),
            "the property 'transactional.id', for exactly-once, a name",
        ),
        (
            lambda: FlinkKafkaProducer("t", TEXT, SERVERS, semantic=DeliveryGuarantee.NONE),
            "is a Semantic",
        ),
        (lambda: producer(kafka_producer_pool_size=0), "kafka_producer_pool_size must be"),
        (lambda: producer().set_log_failures_only(True), "would lose records"),
        (lambda: producer(Semantic.EXACTLY_ONCE).set_flush_on_checkpoint(False), "exclude each"),
    ],
)
def test_what_it_refuses(make: Any, said: str) -> None:
    with pytest.raises(JobDefinitionError, match=said):
        make()


@pytest.mark.parametrize("semantic", list(Semantic))
def test_records_arrive(topics: Any, semantic: Semantic) -> None:
    topic = topics.create(partitions=2)
    config = {
        "bootstrap.servers": topics.bootstrap_servers,
        "transactional.id": f"former-{time.time_ns()}",
    }
    made = FlinkKafkaProducer(topic, TEXT, config, semantic=semantic)
    values = [f"value {i}" for i in range(200)]
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda *_: 1_000)
    with run_local(epoch_records=50):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(1)
        stream = env.from_collection(values).assign_timestamps_and_watermarks(timed)
        stream.add_sink(made)
        env.execute("write")
    found = topics.read(topic)
    assert sorted(message.value().decode() for message in found) == sorted(values)
    assert all(message.timestamp()[1] > 1_000 for message in found)
