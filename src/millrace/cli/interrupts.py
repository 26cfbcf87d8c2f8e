"""Handling of Ctrl-C and SIGTERM: the first signal stops the job after the running epoch, the
second one immediately."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from types import FrameType
from typing import Any

from millrace.cli.signals import Terminated
from millrace.cli.terminal import Terminal
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.engine.resume_hint import resume_hint

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """The running jobs, and the requests to them that signals cause.

    The handler itself does almost nothing: it interrupts the main thread anywhere, even inside
    of a lock, so all else is done in threads of their own.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._clients: list[EmbeddedJobClient] = []
        self.stopping = False
        """The jobs were asked to end after their epoch."""
        self.cancelling = False
        """The jobs were asked to end at once."""

    def watch(self, client: EmbeddedJobClient) -> None:
        """Send signals to a job from now until its end."""
        self._clients.append(client)

    def running(self) -> list[EmbeddedJobClient]:
        """The jobs that have not ended."""
        return [c for c in self._clients if not c.get_job_status().result().is_terminal_state()]

    def resume_hint(self, command: str) -> str | None:
        """Advice on how to continue the job that began last; None if it has no checkpoint.

        Args:
            command: command line that continues it.
        """
        return resume_hint(self._clients[-1], command) if self._clients else None

    def final_savepoints(self) -> list[str]:
        """The savepoints with which jobs were asked to end."""
        paths = [client.final_savepoint for client in self._clients]
        return [path for path in paths if path is not None]

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Handle the signals of this process while the context lasts."""
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        self.install()
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def install(self) -> None:
        """Handle the signals from now on. PySpark replaces the handler of Ctrl-C whenever it
        makes a context."""
        if current_thread() is main_thread():
            for number in _SIGNALS:
                signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        clients = self.running()
        if not clients or self.cancelling:
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
        if not self.stopping:
            self.stopping = True
            _in_thread(self._stop, clients)
        elif number == signal.SIGINT:
            self.cancelling = True
            _in_thread(self._cancel, clients)

    def _stop(self, clients: Sequence[EmbeddedJobClient]) -> None:
        self._terminal.say("stopping after this epoch (Ctrl-C again: immediately)")
        for client in clients:
            client.stop()

    def _cancel(self, clients: Sequence[EmbeddedJobClient]) -> None:
        self._terminal.say("stopping immediately")
        for client in clients:
            client.cancel()


def _in_thread(target: Callable[..., Any], clients: Sequence[EmbeddedJobClient]) -> None:
    Thread(target=target, args=(clients,), name="millrace-interrupt", daemon=True).start()
