"""A consumer of one RabbitMQ queue, in a thread, because pika's connections must be served
continuously."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from millrace.connectors.message_queue.queue_client import Delivery, QueueClient
from millrace.connectors.rabbitmq.connection_config import (
    RabbitMQError,
    RMQConnectionConfig,
    import_pika,
)

__all__ = ["RabbitMQClient", "connect", "require_queue", "said"]

_PATIENCE_S = 60.0


class RabbitMQClient(QueueClient):
    """Consumes a queue.

    Args:
        by_correlation_id: whether messages have ids, and acknowledgements are transactions: an id
            is forgotten only when the server will not send its message again.

    Raises:
        RabbitMQError: the server cannot be reached, or has no such queue.
    """

    def __init__(self, config: RMQConnectionConfig, queue: str, by_correlation_id: bool) -> None:
        super().__init__()
        self._config = config
        self._queue = queue
        self._by_correlation_id = by_correlation_id
        self._connection: Any = None
        self._channel: Any = None
        self._closing = False
        ready: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(ready,), name=f"rabbitmq-{queue}", daemon=True
        )
        self._thread.start()
        ready.result(_PATIENCE_S)

    def _run(self, ready: Future[None]) -> None:
        try:
            self._begin()
        except BaseException as error:
            ready.set_exception(error)
            return
        ready.set_result(None)
        try:
            while not self._closing and self._channel.is_open:
                self._connection.process_data_events(time_limit=1)
            reason = "the queue was deleted"
        except Exception as error:
            reason = said(error)
        if not self._closing:
            place = f"queue '{self._queue}' of RabbitMQ at {self._config.place}"
            self.fail(RabbitMQError(f"{place} is lost: {reason}"))
        with suppress(Exception):
            self._connection.close()

    def _begin(self) -> None:
        self._connection = connect(self._config)
        self._channel = require_queue(self._connection, self._queue, self._config.place)
        self._channel.basic_qos(prefetch_count=self._config.prefetch_count)
        if self._by_correlation_id:
            self._channel.tx_select()
        self._channel.add_on_cancel_callback(lambda _: self._channel.close())
        self._channel.basic_consume(self._queue, self._on_message)

    def _on_message(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        id = properties.correlation_id if self._by_correlation_id else None
        self.deliver(Delivery(method.delivery_tag, id, body, (method, properties)))

    def acknowledge(self, tags: Sequence[Any]) -> None:
        def tell() -> None:
            self._channel.basic_ack(tags[-1], multiple=True)
            if self._by_correlation_id:
                self._channel.tx_commit()

        self._in_thread(tell)

    def _in_thread(self, action: Callable[[], None]) -> None:
        """Run an action in the connection's thread, and wait for it."""
        done: Future[None] = Future()

        def run() -> None:
            try:
                action()
                done.set_result(None)
            except BaseException as error:
                done.set_exception(error)

        try:
            self._connection.add_callback_threadsafe(run)
            while not done.done() and self._thread.is_alive():
                with suppress(TimeoutError):
                    done.result(0.1)
            done.result(0)
        except Exception as error:
            raise self.failure or RabbitMQError(
                f"RabbitMQ at {self._config.place} does not take acknowledgements: {said(error)}"
            ) from error

    def close(self) -> None:
        self._closing = True
        with suppress(Exception):
            self._connection.add_callback_threadsafe(lambda: None)  # wakes the thread
        self._thread.join(_PATIENCE_S)


def connect(config: RMQConnectionConfig) -> Any:
    """Open a connection of pika.

    Raises:
        RabbitMQError: the server cannot be reached, or refuses user or virtual host.
    """
    pika = import_pika()
    try:
        return pika.BlockingConnection(config.parameters())
    except Exception as error:
        raise RabbitMQError(
            f"cannot connect to RabbitMQ at {config.place}: {said(error)}"
        ) from error


def require_queue(connection: Any, queue: str, place: str) -> Any:
    """A channel on which the queue exists; a missing queue is declared as durable, as in Flink.

    Raises:
        RabbitMQError: the queue is not there and cannot be made.
    """
    exceptions = import_pika().exceptions
    try:
        channel = connection.channel()
        try:
            channel.queue_declare(queue, passive=True)
            return channel
        except exceptions.ChannelClosedByBroker as error:
            if error.reply_code != 404:
                raise
        channel = connection.channel()
        channel.queue_declare(queue, durable=True)
        return channel
    except exceptions.AMQPError as error:
        raise RabbitMQError(
            f"queue '{queue}' of RabbitMQ at {place} cannot be used: {said(error)}"
        ) from error


def said(error: BaseException) -> str:
    """Text that describes a pika error. Many such errors have no text, or several reasons."""
    reasons = getattr(error, "exceptions", None) or error.args or (error,)
    last = reasons[-1]
    text = getattr(last, "reply_text", None) or str(getattr(last, "exception", last))
    return f"{text or type(last).__name__} ({type(error).__name__})"
