"""An MQTT source on resident tasks: messages wake a reader that rests, and are acknowledged by
barriers."""

from __future__ import annotations

import threading
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


def test_messages_pass_as_they_come_and_do_not_come_again(
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
    epochs = threading.Semaphore(0)
    sent: list[str] = []

    def send(count: int) -> None:
        for _ in range(count):
            sent.append(str(len(sent)))
            writer.begin_epoch(WriterEpoch(len(sent), f"run-{len(sent)}", 0))
            writer.write(RowBatch(sent[-1:]))
            writer.flush(False)

    with WokenJob(source, 50, lambda _: epochs.release(), tmp_path / "first") as job:
        assert epochs.acquire(timeout=LONG)  # it has subscribed
        for number in range(6):
            send(1)
            assert job.wait_for(number + 1) == sent
    with WokenJob(source, 50, directory=tmp_path / "second") as job:
        send(2)
        values = job.wait_for(2)
    writer.close()
    # what no checkpoint had acknowledged when the first job was cancelled may come again
    assert values[-2:] == sent[-2:]
    assert len(values) <= 4
