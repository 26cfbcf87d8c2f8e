"""Publisher to a RabbitMQ queue in a thread, which waits until the server has stored the messages.

Publisher confirms, not transactions: a message that is confirmed is on the server's disk, one whose
transaction is committed need not be.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from millrace.connectors.rabbitmq.client import connect, require_queue, said
from millrace.connectors.rabbitmq.connection_config import (
    RabbitMQError,
    RMQConnectionConfig,
    import_pika,
)

__all__ = ["Publisher"]

_PERSISTENT = 2
_PATIENCE_S = 60.0

Outgoing = tuple[bytes, str | None]
"""Body and correlation id."""


class Publisher:
    """A connection with publisher confirms.

    Raises:
        RabbitMQError: the server cannot be reached, or the queue cannot be used.
    """

    def __init__(self, config: RMQConnectionConfig, queue: str) -> None:
        self._pika = import_pika()
        self._place = config.place
        self._queue = queue
        with connect(config) as connection:  # tells best what is wrong
            require_queue(connection, queue, config.place)
        self._sent = self._stored_to = 0
        self._stored_ahead: set[int] = set()
        """Numbers of messages that were confirmed before one that came earlier."""
        self._changed = threading.Condition()
        self._failure: str | None = None
        self._channel: Any = None
        ready: Future[None] = Future()
        self._connection = self._pika.SelectConnection(
            config.parameters(),
            on_open_callback=lambda opened: opened.channel(
                on_open_callback=lambda channel: self._on_channel(channel, ready)
            ),
            on_open_error_callback=lambda _, error: ready.set_exception(self._error(said(error))),
            on_close_callback=lambda _, error: self._fail(said(error)),
        )
        loop = self._connection.ioloop
        self._thread = threading.Thread(target=loop.start, name=f"rabbitmq-{queue}", daemon=True)
        self._thread.start()
        ready.result(_PATIENCE_S)

    def _on_channel(self, channel: Any, ready: Future[None]) -> None:
        self._channel = channel
        channel.add_on_close_callback(lambda _, error: self._fail(said(error)))
        # the server confirms what it had to drop as well, and says so before
        channel.add_on_return_callback(lambda _, returned, *__: self._fail(_dropped(returned)))
        channel.confirm_delivery(self._on_confirm, lambda _: ready.set_result(None))

    def _on_confirm(self, frame: Any) -> None:
        method = frame.method
        if isinstance(method, self._pika.spec.Basic.Nack):
            self._fail("the server could not store a message")
            return
        with self._changed:
            self._note_stored(method.delivery_tag, method.multiple)
            self._changed.notify_all()

    def _note_stored(self, number: int, and_before: bool) -> None:
        """Record a confirm; confirms arrive in any order."""
        ahead = self._stored_ahead
        if and_before:
            self._stored_to = max(self._stored_to, number)
            ahead = self._stored_ahead = {other for other in ahead if other > self._stored_to}
        else:
            ahead.add(number)
        while self._stored_to + 1 in ahead:
            self._stored_to += 1
            ahead.remove(self._stored_to)

    def _fail(self, reason: str) -> None:
        with self._changed:
            self._failure = self._failure or reason
            self._changed.notify_all()

    @property
    def is_open(self) -> bool:
        """Whether the connection is still usable."""
        return self._failure is None

    def publish(self, messages: Sequence[Outgoing]) -> None:
        """Send messages in their order, without waiting.

        Raises:
            RabbitMQError: the connection is lost.
        """
        self._require_open()
        self._sent += len(messages)
        self._connection.ioloop.add_callback_threadsafe(lambda: self._send(messages))

    def _send(self, messages: Sequence[Outgoing]) -> None:
        make = self._pika.BasicProperties
        try:
            for body, id in messages:
                properties = make(delivery_mode=_PERSISTENT, correlation_id=id)
                self._channel.basic_publish("", self._queue, body, properties, mandatory=True)
        except Exception as error:
            self._fail(said(error))

    def wait(self) -> None:
        """Wait until the server has stored all messages.

        Raises:
            RabbitMQError: it has not, and does not say more for a minute, or the connection is
                lost.
        """
        with self._changed:
            while self._failure is None and self._stored_to < self._sent:
                before = self._stored_to, len(self._stored_ahead)
                self._changed.wait(_PATIENCE_S)
                stored = self._stored_to, len(self._stored_ahead)
                if stored == before and self._failure is None:
                    self._failure = "it does not confirm published messages"
        self._require_open()

    def _require_open(self) -> None:
        if self._failure is not None:
            raise self._error(self._failure)

    def _error(self, reason: str) -> RabbitMQError:
        return RabbitMQError(
            f"cannot publish to queue '{self._queue}' of RabbitMQ at {self._place}: {reason}"
        )

    def close(self) -> None:
        """Disconnect."""
        loop = self._connection.ioloop

        def end() -> None:
            with suppress(Exception):
                self._connection.close()
            loop.stop()

        with suppress(Exception):
            loop.add_callback_threadsafe(end)
        self._thread.join(_PATIENCE_S)


def _dropped(returned: Any) -> str:
    return f"the server dropped a message: {returned.reply_text}; was the queue deleted?"
