"""A real Kafka broker for measurements, the one of the tests, and topics full of JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from job_process import BENCHMARKS

sys.path.insert(0, str(BENCHMARKS.parent / "tests" / "services"))

from kafka_broker import KafkaBroker

RECORD_BYTES = 200
_CHUNK = 10_000


@contextmanager
def broker() -> Iterator[str]:
    """The bootstrap servers of a broker that ends with the context."""
    with (
        tempfile.TemporaryDirectory(prefix="millrace-kafka-") as directory,
        KafkaBroker(Path(directory)) as running,
    ):
        yield running.bootstrap_servers


def create(servers: str, topic: str, partitions: int) -> None:
    """A new topic."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(60)


def fill(servers: str, topic: str, partitions: int, records: int) -> None:
    """Write JSON objects of `RECORD_BYTES` bytes each, as many to each partition."""
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": servers,
            "linger.ms": 20,
            "batch.size": 1 << 20,
            "queue.buffering.max.messages": 0,
        }
    )
    for start in range(0, records, _CHUNK):
        messages = [{"value": _value(n)} for n in range(start, start + _CHUNK)]
        producer.produce_batch(topic, messages, partition=start // _CHUNK % partitions)
        producer.poll(0)
        while len(producer) > 50 * _CHUNK:
            producer.poll(0.05)
    producer.flush()


def _value(number: int) -> bytes:
    fields = {
        "id": number,
        "customer": f"customer-{number % 100_000:06d}",
        "amount": number * 0.25,
        "currency": "EUR",
        "at": 1_700_000_000_000 + number,
        "paid": number % 3 == 0,
        "note": "",
    }
    size = len(json.dumps(fields))
    return json.dumps({**fields, "note": "x" * (RECORD_BYTES - size)}).encode()
