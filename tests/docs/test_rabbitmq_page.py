"""The page about RabbitMQ: its program runs as it stands there, against a real server."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pika
import pytest
from rabbitmq_server import RabbitMQServer
from wall_clock import WallClock

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "rabbitmq.md"


@pytest.mark.connectors
def test_the_orders_of_the_page(rabbitmq: RabbitMQServer, tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    page = ModuleType("rabbitmq_page")
    sys.modules["rabbitmq_page"] = page
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    with pika.BlockingConnection(pika.URLParameters(rabbitmq.url)) as connection:
        channel = connection.channel()
        for queue in ("orders", "large"):
            channel.queue_declare(queue, durable=True)
        for order in ("a 5", "b 500", "a 5", "c 101"):
            properties = pika.BasicProperties(correlation_id=order.split()[0])
            channel.basic_publish("", "orders", order.encode(), properties)
        with run_local(clock=WallClock(), checkpoint_dir=str(tmp_path)):
            env = StreamExecutionEnvironment.get_execution_environment()
            env.enable_checkpointing(20)
            page.large_orders(env, rabbitmq.url)
            job = env.execute_async("large orders")
            found = taken(channel, 2)
            job.cancel().result()
    assert found == [("b", b"b 500"), ("c", b"c 101")]


def taken(channel: Any, count: int) -> list[tuple[str, bytes]]:
    """As many messages as that."""
    found: list[tuple[str, bytes]] = []
    until = time.monotonic() + 60
    while len(found) < count:
        assert time.monotonic() < until, found
        method, properties, body = channel.basic_get("large", auto_ack=True)
        if method is not None:
            found.append((properties.correlation_id, body))
        time.sleep(0.02)
    return found
