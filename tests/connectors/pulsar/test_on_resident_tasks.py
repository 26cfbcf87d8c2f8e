"""A Pulsar source on resident tasks: messages wake readers that rest."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from woken_job import LONG, NEVER, WokenJob, rests

from millrace.common import SimpleStringSchema
from millrace.connectors.pulsar import PulsarSource, reader
from millrace.connectors.wake_ups import MessageWaiter

pytestmark = pytest.mark.connectors


def source_of(topic: Any) -> Any:
    return (
        PulsarSource.builder()
        .set_service_url(topic.server.url)
        .set_admin_url(topic.server.admin_url)
        .set_topics(topic.name)
        .set_subscription_name("tests")
        .set_deserialization_schema(SimpleStringSchema())
        .build()
    )


def test_messages_pass_as_they_come(topics: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SAFETY_MS", NEVER)
    waits = rests(monkeypatch, MessageWaiter)
    topic = topics.create(2)
    sent: list[str] = []
    with WokenJob(source_of(topic)) as job:
        for number in range(6):
            for _ in range(2):  # both partitions wait
                assert waits.acquire(timeout=LONG)
            sent += [f"{number}a", f"{number}b"]
            topic.send(sent[-2:], number % 2)
            job.wait_for(len(sent))
    assert job.values == sent


def test_barriers_pass_a_reader_that_waits_for_messages(topics: Any) -> None:
    epochs = threading.Semaphore(0)
    topic = topics.create(1)
    with WokenJob(source_of(topic), 50, lambda _: epochs.release()) as job:
        for number in range(10):
            while epochs.acquire(blocking=False):
                pass
            topic.send([str(number)])
            job.wait_for(number + 1)
            assert epochs.acquire(timeout=LONG)
    assert job.values == [str(number) for number in range(10)]


def test_a_reader_of_many_partitions_is_polled(
    topics: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_MOST_WAITERS", 1)
    waits = rests(monkeypatch, MessageWaiter)
    topic = topics.create(2)
    with WokenJob(source_of(topic)) as job:
        for number in range(6):
            topic.send([str(number)], number % 2)
            job.wait_for(number + 1)
    assert job.values == [str(number) for number in range(6)]
    assert not waits.acquire(blocking=False)
