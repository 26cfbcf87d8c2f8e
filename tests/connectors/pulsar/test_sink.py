"""The Pulsar sink against a real broker."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pulsar
import pytest

from millrace.common import Duration, SimpleStringSchema
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import CommitRequest, CommitterContext, DeliveryGuarantee
from millrace.connectors.pulsar import (
    MessageDelayer,
    PulsarMessage,
    PulsarSerializationSchema,
    PulsarSink,
    TopicRoutingMode,
)
from millrace.connectors.pulsar.client import PulsarProperties
from millrace.connectors.pulsar.producers import COMPRESSION, exact_options

ONCE = DeliveryGuarantee.EXACTLY_ONCE
LEAST = DeliveryGuarantee.AT_LEAST_ONCE


def builder(topic: Any, guarantee: Any = ONCE, schema: Any = None) -> Any:
    return (
        PulsarSink.builder()
        .set_service_url(topic.server.url)
        .set_admin_url(topic.server.admin_url)
        .set_topics(topic.name)
        .set_producer_name(f"sink-{topic.name}")
        .set_serialization_schema(schema or SimpleStringSchema())
        .set_delivery_guarantee(guarantee)
    )


def contents(topic: Any) -> list[str]:
    return [message.data().decode() for message in topic.read()]


def texts(count: int, first: int = 0) -> list[str]:
    return [f"message-{number:05}" for number in range(first, first + count)]


class Keyed(PulsarSerializationSchema[Any]):
    def serialize(self, record: Any) -> PulsarMessage:
        return PulsarMessage(
            record.encode(),
            key=record[:1],
            ordering_key="o",
            event_time=77,
            properties={"length": str(len(record))},
        )


@pytest.mark.connectors
@pytest.mark.parametrize("guarantee", [LEAST, ONCE], ids=["least", "once"])
def test_epochs_are_written(topics: Any, sink_harness: Any, guarantee: Any) -> None:
    topic = topics.create(2)
    harness = sink_harness(builder(topic, guarantee).build())
    harness.run_epoch(texts(50))
    harness.run_epoch(texts(50, 50))
    assert sorted(contents(topic)) == texts(100)


@pytest.mark.connectors
class TestExactlyOnce:
    def test_a_repeated_commit_writes_nothing(self, topics: Any, sink_harness: Any) -> None:
        topic = topics.create(2)
        harness = sink_harness(builder(topic).build())
        staged = harness.write_epoch(texts(40)) + harness.write_epoch(texts(40, 40), subtask=1)
        harness.commit()
        harness.committables = staged
        harness.commit()
        assert sorted(contents(topic)) == texts(80)

    @pytest.mark.parametrize(
        ("records", "done", "schema"),
        [
            (texts(40), 13, Keyed()),
            (texts(2_500), 1_000, None),
            (texts(2_500), 2_000, None),
            (["x" * (1 << 20) + text for text in texts(11)], 3, None),
        ],
        ids=["alone", "together", "nearly-done", "large"],
    )
    def test_a_commit_that_was_cut_short_is_completed(
        self, topics: Any, sink_harness: Any, records: list[str], done: int, schema: Any
    ) -> None:
        """Somebody has sent a part of it."""
        topic = topics.create()
        harness = sink_harness(builder(topic, ONCE, schema).build())
        staged = harness.write_epoch(records)
        half = sink_harness(builder(topic, ONCE, schema).build())
        half.write_epoch(records[:done])
        half.commit()
        assert len(contents(topic)) == done
        harness.committables = staged
        harness.commit()
        assert contents(topic) == records

    def test_epochs_that_are_committed_together(self, topics: Any, sink_harness: Any) -> None:
        topic = topics.create()
        harness = sink_harness(builder(topic).build())
        for epoch in range(4):
            harness.write_epoch(texts(1_400, 1_400 * epoch))
        staged = list(harness.committables)
        harness.commit()
        again = sink_harness(builder(topic).build())
        again.committables = staged
        again.commit()
        assert contents(topic) == texts(5_600)

    def test_another_run_may_have_the_same_epochs(self, topics: Any, sink_harness: Any) -> None:
        topic = topics.create()
        for run in range(3):
            harness = sink_harness(builder(topic).build(), run_id=f"run-{run}")
            harness.run_epoch(texts(10, 10 * run))
        assert contents(topic) == texts(30)

    def test_attempts_that_failed_leave_nothing(self, topics: Any, sink_harness: Any) -> None:
        topic = topics.create()
        harness = sink_harness(builder(topic).build())
        harness.fail_epoch(["never"])
        harness.run_epoch(texts(3))
        assert contents(topic) == texts(3)

    def test_the_broker_dies_before_the_commit(self, topics: Any, sink_harness: Any) -> None:
        topic = topics.create()
        harness = sink_harness(builder(topic).build())
        harness.run_epoch(texts(20))
        staged = harness.write_epoch(texts(20, 20))
        committer = harness.sink.create_committer(CommitterContext())
        committer.commit([CommitRequest(item) for item in staged])
        topic.server.restart()
        committer.commit([CommitRequest(item) for item in staged])
        committer.close()
        harness.commit()
        assert contents(topic) == texts(40)

    def test_brokers_that_keep_duplicates_are_refused(self, topics: Any, sink_harness: Any) -> None:
        topic = topics.create()
        place = "namespaces/public/keeping"
        topic.server.ask("PUT", place, {"replication_clusters": ["standalone"]})
        topic.server.ask("POST", f"{place}/deduplication", False)
        topic.server.ask("PUT", "persistent/public/keeping/t")
        sink = builder(topic).set_topics("public/keeping/t").build()
        harness = sink_harness(sink)
        harness.write_epoch(["a"])
        with pytest.raises(Exception, match="exactly-once needs brokers that drop duplicates"):
            harness.commit()


@pytest.mark.connectors
def test_keys_times_and_properties(topics: Any, sink_harness: Any) -> None:
    topic = topics.create(3)
    made = builder(topic, LEAST, Keyed()).set_topic_routing_mode(TopicRoutingMode.MESSAGE_KEY_HASH)
    harness = sink_harness(made.build())
    harness.run_epoch(["a1", "b1", "a2", "c1", "b22"])
    found = topic.read()
    by_key: dict[str, set[str]] = {}
    for message in found:
        by_key.setdefault(message.partition_key(), set()).add(message.topic_name())
        assert message.ordering_key() == "o"
        assert message.event_timestamp() == 77
        assert message.properties() == {"length": str(len(message.data()))}
    assert sorted(by_key) == ["a", "b", "c"]
    assert all(len(places) == 1 for places in by_key.values())


@pytest.mark.connectors
@pytest.mark.parametrize("guarantee", [LEAST, ONCE], ids=["least", "once"])
def test_options_of_producers(topics: Any, sink_harness: Any, guarantee: Any) -> None:
    topic = topics.create()
    made = builder(topic, guarantee).set_properties(
        {
            "pulsar.producer.maxPendingMessages": 1_000,
            "pulsar.producer.batchingMaxMessages": "7",
            "pulsar.producer.compressionType": "LZ4",
        }
    )
    sink_harness(made.build()).run_epoch(texts(1_500))
    found = topic.read()
    assert [message.data().decode() for message in found] == texts(1_500)
    together = max(message.message_id().batch_index() for message in found) + 1
    assert together == (7 if guarantee is LEAST else 1_000)


@pytest.mark.connectors
def test_a_router_of_ones_own(topics: Any, sink_harness: Any) -> None:
    topic = topics.create(3)
    made = builder(topic, LEAST).set_topic_router(lambda key, partitions: partitions[-1])
    sink_harness(made.build()).run_epoch(texts(5))
    assert {message.topic_name() for message in topic.read()} == {f"{topic.full_name}-partition-2"}


@pytest.mark.connectors
def test_delays(topics: Any, sink_harness: Any) -> None:
    topic = topics.create()
    consumer = topics.client.subscribe(topic.name, "late", pulsar.ConsumerType.Shared)
    harness = sink_harness(
        builder(topic, LEAST)
        .delay_sending_message(MessageDelayer.fixed(Duration.of_days(1)))
        .build()
    )
    harness.clock.now = time.time_ns() // 1_000_000
    harness.run_epoch(["tomorrow"])
    with pytest.raises(pulsar.Timeout):
        consumer.receive(300)
    assert contents(topic) == ["tomorrow"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: PulsarSink.builder().build(), r"needs set_service_url\(\)"),
        (lambda: PulsarSink.builder().set_topics([]), "takes names of topics"),
        (lambda: PulsarSink.builder().set_serialization_schema(str), "needs a SerializationSch"),
        (lambda: PulsarSink.builder().set_delivery_guarantee("once"), "takes a DeliveryGuarantee"),
        (lambda: PulsarSink.builder().set_topic_routing_mode("hash"), "takes a TopicRoutingMode"),
        (lambda: PulsarSink.builder().set_topic_router("a"), "takes a function"),
        (
            lambda: PulsarSink.builder().set_config("pulsar.sink.deliveryGuarantee", "none"),
            r"is not supported: call set_delivery_guarantee\(\)",
        ),
        (lambda: exact_options(PulsarProperties({COMPRESSION: "rar"}), True), "is one of NONE"),
        (lambda: PulsarSink.builder().delay_sending_message(7), "MessageDelayer.fixed"),
        (
            lambda: (
                PulsarSink.builder()
                .set_service_url("pulsar://localhost")
                .set_topics("a")
                .set_serialization_schema(SimpleStringSchema())
                .set_delivery_guarantee(ONCE)
                .build()
            ),
            r"needs set_producer_name\(\) for exactly-once",
        ),
    ],
)
def test_what_cannot_be(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(JobDefinitionError, match=said):
        make()
