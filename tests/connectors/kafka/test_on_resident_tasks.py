"""A Kafka source on resident tasks: records pass without a barrier, also after a rest."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from millrace.common import Configuration, SimpleStringSchema, WatermarkStrategy
from millrace.common.job_client import JobClient
from millrace.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from millrace.connectors.kafka.message_waiter import MessageWaiter
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.resident.tasks import ResidentSettings
from millrace.testing.resident_tasks import local_resident_executor

HOUR = 3_600_000
LONG = 60
"""Seconds after which a test fails instead of waiting on."""


class Seen:
    """Values that have passed the job."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self.changed = threading.Condition()

    def note(self, value: str) -> str:
        with self.changed:
            self.values.append(value)
            self.changed.notify_all()
        return value

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.values) >= count, timeout=LONG)


SEEN = Seen()


def noted(value: str) -> str:
    return SEEN.note(value)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """What passes jobs on resident tasks whose barriers are an hour apart."""
    fresh = Seen()
    monkeypatch.setitem(globals(), "SEEN", fresh)
    with barriers_every(HOUR):
        yield fresh


@contextmanager
def barriers_every(milliseconds: int) -> Iterator[JobLauncher]:
    before = JobLauncher.current()
    settings = ResidentSettings(barrier_interval=milliseconds)
    launcher = JobLauncher(executor=lambda *_: local_resident_executor(2, settings))
    JobLauncher.install(launcher)
    yield launcher
    JobLauncher.install(before)


def begin(topics: Any, topic: str, **properties: str) -> JobClient:
    """A job that notes the values of a topic."""
    builder = KafkaSource.builder().set_bootstrap_servers(topics.bootstrap_servers)
    builder.set_topics(topic).set_value_only_deserializer(SimpleStringSchema())
    builder.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    for name, value in properties.items():
        builder.set_property(name.replace("_", "."), value)
    config = Configuration({"execution.runtime-mode": "STREAMING"})
    env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(1)
    stream = env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "kafka")
    stream.map(noted).print()
    return env.execute_async()


def test_records_pass_as_they_come(
    topics: Any, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests = threading.Semaphore(0)
    wait = MessageWaiter.wait

    def noted_wait(waiter: MessageWaiter) -> None:
        wait(waiter)
        rests.release()

    monkeypatch.setattr(MessageWaiter, "wait", noted_wait)
    topic = topics.create()
    client = begin(topics, topic)
    sent: list[str] = []
    for number in range(5):
        assert rests.acquire(timeout=LONG)  # nothing polls the consumer now
        sent += [f"{number}a", f"{number}b"]
        topics.send(topic, sent[-2:])
        seen.wait_for(len(sent))
    client.cancel().result()
    assert seen.values == sent


def test_barriers_pass_a_reader_that_waits_for_messages(
    topics: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a barrier, the metrics ask for the partition's end, and positions are committed."""
    fresh = Seen()
    monkeypatch.setitem(globals(), "SEEN", fresh)
    epochs = threading.Semaphore(0)
    topic = topics.create()
    with barriers_every(50) as launcher:
        launcher.listeners.append(lambda job: epochs.release())
        client = begin(topics, topic, group_id=topic)
        for number in range(10):
            while epochs.acquire(blocking=False):
                pass
            topics.send(topic, [str(number)])
            fresh.wait_for(number + 1)
            assert epochs.acquire(timeout=LONG)
        client.cancel().result()
    assert fresh.values == [str(number) for number in range(10)]
