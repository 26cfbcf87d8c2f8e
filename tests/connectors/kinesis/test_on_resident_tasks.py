"""A Kinesis source on resident tasks: requests run in threads, and their ends wake the loop."""

from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest
from kinesalite import Kinesalite
from woken_job import NEVER, WokenJob

from millrace.common import SimpleStringSchema
from millrace.connectors.kinesis import FlinkKinesisConsumer, reader

pytestmark = pytest.mark.connectors

QUICK = {
    "flink.stream.initpos": "TRIM_HORIZON",
    "flink.shard.getrecords.intervalmillis": "10",
}


def test_records_pass_without_a_wait_in_the_loop(
    kinesalite: Kinesalite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "SAFETY_MS", NEVER)
    ask, threads = reader.KinesisReader._ask, set[str]()

    def noted(self: reader.KinesisReader, shard: Any) -> Any:
        threads.add(threading.current_thread().name)
        return ask(self, shard)

    monkeypatch.setattr(reader.KinesisReader, "_ask", noted)
    stream = kinesalite.create_stream(f"test-{uuid.uuid4().hex[:12]}", 3)
    properties = {**kinesalite.properties, **QUICK}
    sent: list[str] = []
    with WokenJob(FlinkKinesisConsumer(stream, SimpleStringSchema(), properties)) as job:
        for number in range(5):
            sent += [f"{number}:{key}" for key in range(7)]
            kinesalite.put(stream, [(f"key-{text[-1]}", text.encode()) for text in sent[-7:]])
            assert sorted(job.wait_for(len(sent))) == sorted(sent)
    assert threads
    assert all(name.startswith("Kinesis requests") for name in threads)
