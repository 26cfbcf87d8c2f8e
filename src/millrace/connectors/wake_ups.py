"""Threads that wait in place of an idle reader, and wake it when there is something to read."""

from __future__ import annotations

import select
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["EMPTY_ROUNDS", "SAFETY_MS", "MessageWaiter", "SocketWaiter"]

SAFETY_MS = 10_000
"""Milliseconds after which a reader that will be woken is polled nevertheless."""
EMPTY_ROUNDS = 3
"""Rounds without records after which a reader that can be woken has a thread wait. Until then it is
polled within milliseconds, which costs less than a thread."""

_SLICE_S = 0.1
"""Seconds of one wait, after which the thread makes the reader's calls, and looks whether it is to
end."""


class MessageWaiter:
    """Waits in a thread for a consumer's next message, whenever the reader has found none.

    While the thread waits, the consumer is the thread's alone. Messages that somebody else took
    would be out of order. And confluent-kafka makes any other call wait, in a loop of short sleeps,
    until no call is under way: since one wait follows the other at once, that call may never begin,
    and its worker stands still. What the reader asks of the consumer therefore goes through `call`.

    Args:
        consume: waits up to so many seconds for messages, and returns them.
        wake_up: called in the thread when there are messages, or an error.
        name: name of the thread.
    """

    def __init__(
        self,
        consume: Callable[[float], list[Any]],
        wake_up: Callable[[], None],
        name: str = "messages",
    ) -> None:
        self._consume = consume
        self._wake_up = wake_up
        self._wanted = threading.Event()
        self._is_closed = False
        self._calls: deque[Callable[[], object]] = deque()
        """Calls to make between two waits."""
        self._messages: list[Any] = []
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_waiting(self) -> bool:
        """Whether the thread waits on the consumer. The reader must then not use the consumer."""
        return self._wanted.is_set()

    def wait(self) -> None:
        """Begin to wait in the thread, unless messages of the last wait have not been taken yet."""
        # while the thread waits, it may find something at any moment: this is to be asked first
        if not self.is_waiting and not self._messages and self._error is None:
            self._wanted.set()

    def call(self, call: Callable[[], object]) -> None:
        """Call the consumer immediately or, if the thread waits, after this wait. Never blocks.

        Raises:
            Exception: what the call raised, or one that was left to make before it. What the thread
                catches is raised by `take`.
        """
        self._calls.append(call)
        if not self.is_waiting:
            self._make_calls()

    def take(self) -> list[Any]:
        """Messages that the last wait has received. The wait must have ended.

        Raises:
            Exception: what ``consume`` or a call to the consumer raised.
        """
        self._make_calls()
        error, self._error = self._error, None
        if error is not None:
            raise error
        messages, self._messages = self._messages, []
        return messages

    def _run(self) -> None:
        while self._wanted.wait() and not self._is_closed:
            try:
                self._make_calls()
                self._messages = self._consume(_SLICE_S)
            except Exception as error:
                self._error = error
            if self._messages or self._error is not None:
                self._wanted.clear()
                self._wake_up()

    def _make_calls(self) -> None:
        while self._calls:
            self._calls.popleft()()

    def end(self) -> None:
        """Have the thread end after its present wait."""
        self._is_closed = True
        self._wanted.set()

    def close(self) -> None:
        """End the thread, and make the calls that were put off. The consumer can be closed
        afterwards.
        """
        self.end()
        self._thread.join()
        self._make_calls()


class SocketWaiter:
    """Waits until data arrives at a connection's socket. It does not use the connection itself, so
    that the reader may use it at any time.

    Args:
        wake_up: called in the thread when the socket can be read, or is closed.
        name: name of the thread.
    """

    def __init__(self, wake_up: Callable[[], None], name: str = "socket") -> None:
        self._wake_up = wake_up
        self._descriptor: int | None = None
        """File descriptor to wait for; None for none."""
        self._is_closed = False
        self._bell, self._ringer = socket.socketpair()
        self._bell.setblocking(False)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def wait(self, descriptor: int) -> None:
        """Begin to wait, one time, for data on a socket. If data has already arrived, the wait ends
        immediately.

        Args:
            descriptor: file descriptor of the socket.
        """
        self._descriptor = descriptor
        self._ring()

    def forget(self) -> None:
        """Stop waiting for a socket, because it will be closed."""
        if self._descriptor is not None:
            self._descriptor = None
            self._ring()

    def _ring(self) -> None:
        with suppress(OSError):  # closed
            self._ringer.send(b"\0")

    def _run(self) -> None:
        watched: int | None = None
        bell = self._bell.fileno()
        while not self._is_closed:
            polled = select.poll()
            polled.register(bell, select.POLLIN)
            if watched is not None:
                polled.register(watched, select.POLLIN)
            ready = {descriptor for descriptor, _ in polled.poll()}
            if bell in ready:
                # the descriptor may be that of another connection now: what is ready is looked at
                # again
                with suppress(BlockingIOError):
                    while self._bell.recv(64):
                        pass
                watched = self._descriptor
            elif watched in ready:
                watched = None
                self._wake_up()

    def close(self) -> None:
        """End the thread."""
        self._is_closed = True
        self._ring()
        self._thread.join()
        self._bell.close()
        self._ringer.close()
