"""The RabbitMQ sink against a real server: what an epoch has published is on its disk."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pika
import pytest
from rabbitmq_server import RabbitMQServer

from millrace.common import SimpleStringSchema
from millrace.common.sink import SinkWriter, WriterContext, WriterEpoch
from millrace.common.types.batch import RowBatch
from millrace.connectors.rabbitmq import RabbitMQError, RMQConnectionConfig, RMQSink
from millrace.connectors.rabbitmq.publisher import Publisher

pytestmark = pytest.mark.connectors


def sink(queue: Any) -> RMQSink:
    return RMQSink(queue.config, queue.name, SimpleStringSchema(), lambda text: f"id-{text}")


def writer_of(sink: RMQSink) -> SinkWriter[Any]:
    return sink.create_writer(WriterContext(0, 1, "run"), None)


def publish(writer: SinkWriter[Any], *values: str, epoch: int = 1) -> None:
    """A whole epoch."""
    writer.begin_epoch(WriterEpoch(epoch, f"run-{epoch}", 0))
    write(writer, *values)


def write(writer: SinkWriter[Any], *values: str) -> None:
    writer.write(RowBatch(list(values)))
    writer.flush(False)


def test_messages_have_their_ids_and_order(queue: Any) -> None:
    writer = writer_of(sink(queue))
    for epoch, values in ((1, ["a", "b"]), (2, ["c"])):
        publish(writer, *values, epoch=epoch)
    writer.close()
    assert queue.left() == [("a", "id-a"), ("b", "id-b"), ("c", "id-c")]


def test_the_server_is_restarted(rabbitmq: RabbitMQServer, queue: Any) -> None:
    torn = writer_of(sink(queue))
    publish(torn, "a")
    torn.begin_epoch(WriterEpoch(2, "run-2", 0))
    rabbitmq.restart()
    with pytest.raises(RabbitMQError, match=f"cannot publish to queue '{queue.name}' of RabbitMQ"):
        write(torn, "b")
    torn.close()
    again = writer_of(sink(queue))
    publish(again, *(str(number) for number in range(5_000)), epoch=2)
    again.close()
    rabbitmq.restart()
    expected = ["a", *(str(number) for number in range(5_000))]
    assert [body for body, _ in queue.left()] == expected


def test_the_queue_is_deleted_meanwhile(queue: Any) -> None:
    """RabbitMQ confirms messages that it has no queue for: the epoch must fail all the same."""
    torn = writer_of(sink(queue))
    publish(torn, "a")
    queue.delete()
    with pytest.raises(RabbitMQError, match=r"dropped a message: NO_ROUTE; was the queue deleted"):
        publish(torn, "b", epoch=2)
    torn.close()
    again = writer_of(sink(queue))
    publish(again, "b", epoch=2)
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


def test_a_connection_that_was_lost_between_epochs_is_opened_again(
    rabbitmq: RabbitMQServer, queue: Any
) -> None:
    writer = writer_of(sink(queue))
    publish(writer, "a")
    rabbitmq.restart()
    publish(writer, "b", epoch=2)
    writer.close()
    assert [body for body, _ in queue.left()] == ["a", "b"]


def confirmed(number: int, and_before: bool) -> Any:
    return SimpleNamespace(method=pika.spec.Basic.Ack(number, and_before))


def test_a_server_that_is_not_there() -> None:
    config = RMQConnectionConfig.Builder().set_host("127.0.0.1").set_port(1).build()
    with pytest.raises(RabbitMQError, match="cannot connect to RabbitMQ at 127.0.0.1:1: "):
        writer_of(RMQSink(config, "q", SimpleStringSchema()))
