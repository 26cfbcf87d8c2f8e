"""The RabbitMQ sink against a real server: what an epoch has published is on its disk."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pika
import pytest
from rabbitmq_server import RabbitMQServer

from millrace.common import SimpleStringSchema
from millrace.common.sink import SinkWriter, WriterContext
from millrace.common.types.batch import RowBatch
from millrace.connectors.rabbitmq import RabbitMQError, RMQConnectionConfig, RMQSink
from millrace.connectors.rabbitmq.publisher import Publisher

pytestmark = pytest.mark.connectors


def sink(queue: Any) -> RMQSink:
    return RMQSink(queue.config, queue.name, SimpleStringSchema(), lambda text: f"id-{text}")


def context(shared: dict[str, Any], epoch: int = 1) -> WriterContext:
    return WriterContext(0, 1, "run", f"run-{epoch}", epoch, 0, shared=shared)


def publish(writer: SinkWriter[Any], *values: str) -> None:
    """A whole epoch."""
    writer.write(RowBatch(list(values)))
    writer.prepare_commit(False)


def test_messages_have_their_ids_and_order(queue: Any) -> None:
    shared: dict[str, Any] = {}
    for epoch, values in ((1, ["a", "b"]), (2, ["c"])):
        writer = sink(queue).create_writer(context(shared, epoch), None)
        publish(writer, *values)
        writer.close()
    assert queue.left() == [("a", "id-a"), ("b", "id-b"), ("c", "id-c")]


def test_the_server_is_restarted(rabbitmq: RabbitMQServer, queue: Any) -> None:
    shared: dict[str, Any] = {}
    writer = sink(queue).create_writer(context(shared), None)
    publish(writer, "a")
    writer.close()
    torn = sink(queue).create_writer(context(shared, 2), None)
    rabbitmq.restart()
    with pytest.raises(RabbitMQError, match=f"cannot publish to queue '{queue.name}' of RabbitMQ"):
        publish(torn, "b")
    torn.close()
    again = sink(queue).create_writer(context(shared, 2), None)
    publish(again, *(str(number) for number in range(5_000)))
    again.close()
    rabbitmq.restart()
    expected = ["a", *(str(number) for number in range(5_000))]
    assert [body for body, _ in queue.left()] == expected


def test_the_queue_is_deleted_meanwhile(queue: Any) -> None:
    """RabbitMQ confirms messages that it has no queue for: the epoch must fail all the same."""
    shared: dict[str, Any] = {}
    writer = sink(queue).create_writer(context(shared), None)
    publish(writer, "a")
    writer.close()
    queue.delete()
    torn = sink(queue).create_writer(context(shared, 2), None)
    with pytest.raises(RabbitMQError, match=r"dropped a message: NO_ROUTE; was the queue deleted"):
        publish(torn, "b")
    torn.close()
    again = sink(queue).create_writer(context(shared, 2), None)
    publish(again, "b")
    again.close()
    assert queue.left() == [("b", "id-b")]


def test_confirms_in_any_order(queue: Any) -> None:
    """A server confirms a message alone, and later all that came before it at once."""
    publisher = Publisher(queue.config, queue.name)
    try:
        for number, and_before in ((3, False), (2, True), (5, False), (6, False), (4, False)):
            publisher._on_confirm(confirmed(number, and_before))
        publisher._sent = 6
        publisher.wait()
        publisher._on_confirm(confirmed(9, False))
        publisher._on_confirm(confirmed(9, True))
        publisher._sent = 9
        publisher.wait()
    finally:
        publisher.close()


def confirmed(number: int, and_before: bool) -> Any:
    return SimpleNamespace(method=pika.spec.Basic.Ack(number, and_before))


def test_a_server_that_is_not_there() -> None:
    config = RMQConnectionConfig.Builder().set_host("127.0.0.1").set_port(1).build()
    with pytest.raises(RabbitMQError, match="cannot connect to RabbitMQ at 127.0.0.1:1: "):
        RMQSink(config, "q", SimpleStringSchema()).create_writer(context({}), None)
