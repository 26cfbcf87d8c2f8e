"""A Kafka source on resident tasks: records pass without a barrier, also after a rest."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from millrace.common import Configuration, SimpleStringSchema, WatermarkStrategy
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
    before = JobLauncher.current()
    rare = ResidentSettings(barrier_interval=HOUR)
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(2, rare)))
    yield fresh
    JobLauncher.install(before)


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
    builder = KafkaSource.builder().set_bootstrap_servers(topics.bootstrap_servers)
    builder.set_topics(topic).set_value_only_deserializer(SimpleStringSchema())
    builder.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    config = Configuration({"execution.runtime-mode": "STREAMING"})
    env = StreamExecutionEnvironment.get_execution_environment(config).set_parallelism(1)
    stream = env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "kafka")
    stream.map(noted).print()
    client = env.execute_async()
    sent: list[str] = []
    for number in range(5):
        assert rests.acquire(timeout=LONG)  # nothing polls the consumer now
        sent += [f"{number}a", f"{number}b"]
        topics.send(topic, sent[-2:])
        seen.wait_for(len(sent))
    client.cancel().result()
    assert seen.values == sent
