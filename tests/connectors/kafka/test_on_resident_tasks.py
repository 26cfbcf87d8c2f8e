"""A Kafka source on resident tasks: records pass without a barrier, also after a rest."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from woken_job import LONG, NEVER, WokenJob, rests

from millrace.common import SimpleStringSchema
from millrace.connectors.kafka import KafkaOffsetsInitializer, KafkaSource, reader
from millrace.connectors.wake_ups import MessageWaiter


def source_of(topics: Any, topic: str, **properties: str) -> KafkaSource[str]:
    builder = KafkaSource.builder().set_bootstrap_servers(topics.bootstrap_servers)
    builder.set_topics(topic).set_value_only_deserializer(SimpleStringSchema())
    builder.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    for name, value in properties.items():
        builder.set_property(name.replace("_", "."), value)
    return builder.build()


def test_records_pass_as_they_come(topics: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SAFETY_MS", NEVER)
    waits = rests(monkeypatch, MessageWaiter)
    topic = topics.create()
    sent: list[str] = []
    with WokenJob(source_of(topics, topic)) as job:
        for number in range(5):
            assert waits.acquire(timeout=LONG)  # nothing polls the consumer now
            sent += [f"{number}a", f"{number}b"]
            topics.send(topic, sent[-2:])
            job.wait_for(len(sent))
    assert job.values == sent


def test_barriers_pass_a_reader_that_waits_for_messages(topics: Any) -> None:
    """At a barrier, the metrics ask for the partition's end, and positions are committed."""
    epochs = threading.Semaphore(0)
    topic = topics.create()
    source = source_of(topics, topic, group_id=topic)
    with WokenJob(source, 50, lambda _: epochs.release()) as job:
        for number in range(10):
            while epochs.acquire(blocking=False):
                pass
            topics.send(topic, [str(number)])
            job.wait_for(number + 1)
            assert epochs.acquire(timeout=LONG)
    assert job.values == [str(number) for number in range(10)]
