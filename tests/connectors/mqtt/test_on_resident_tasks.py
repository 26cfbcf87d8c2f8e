"""An MQTT source on resident tasks: messages wake a reader that rests."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from mosquitto import Mosquitto
from woken_job import LONG, NEVER, WokenJob

from millrace.common import SimpleStringSchema
from millrace.common.sink import WriterContext, WriterEpoch
from millrace.common.types.batch import RowBatch
from millrace.connectors.message_queue import acknowledging_reader
from millrace.connectors.mqtt import MqttSink, MqttSource

pytestmark = pytest.mark.connectors


def test_messages_pass_as_they_come(
    mosquitto: Mosquitto, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acknowledging_reader, "SAFETY_MS", NEVER)
    builder = MqttSource.builder().set_url(mosquitto.url).set_topics(f"{topic}/#")
    builder.set_client_id(topic.replace("/", "-"))
    source = builder.set_value_only_deserializer(SimpleStringSchema()).build()
    sink = MqttSink.builder().set_url(mosquitto.url).set_topic(f"{topic}/x")
    writer = (
        sink.set_value_serialization_schema(SimpleStringSchema())
        .build()
        .create_writer(WriterContext(0, 1, "run"), None)
    )
    sent: list[str] = []

    def send() -> None:
        sent.append(str(len(sent)))
        writer.begin_epoch(WriterEpoch(len(sent), f"run-{len(sent)}", 0))
        writer.write(RowBatch(sent[-1:]))
        writer.flush(False)

    with WokenJob(source, 20, directory=tmp_path) as job:
        deadline = time.monotonic() + LONG
        while not job.values:  # it has not subscribed yet
            assert time.monotonic() < deadline
            send()
            time.sleep(0.05)
        job.wait_for(len(sent) - int(job.values[0]))
        for _ in range(6):
            send()
            job.wait_for(len(sent) - int(job.values[0]))
        assert job.values == sent[int(job.values[0]) :]
    writer.close()
