"""A RabbitMQ source on resident tasks: messages wake a reader that rests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from woken_job import NEVER, WokenJob

from millrace.common import SimpleStringSchema
from millrace.connectors.message_queue import acknowledging_reader
from millrace.connectors.rabbitmq import RMQSource

pytestmark = pytest.mark.connectors


def test_messages_pass_as_they_come(
    queue: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acknowledging_reader, "SAFETY_MS", NEVER)
    source = RMQSource(queue.config, queue.name, True, SimpleStringSchema())
    sent: list[str] = []
    with WokenJob(source, 20, directory=tmp_path) as job:
        for number in range(12):
            sent.append(str(number))
            queue.send(sent[-1])
            assert job.wait_for(number + 1) == sent
    left = [body for body, _ in queue.left()]
    # those that no checkpoint had acknowledged
    assert left == sent[len(sent) - len(left) :]
