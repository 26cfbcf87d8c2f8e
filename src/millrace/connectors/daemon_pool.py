"""Daemon threads for long requests, which do not delay the end of the process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

__all__ = ["DaemonPool"]

T = TypeVar("T")
_Call = tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]


class DaemonPool:
    """Runs calls in daemon threads. Python would wait for the threads of a ``ThreadPoolExecutor``
    before a process ends, even if their results are no longer needed.

    Args:
        threads: most calls that run at a time.
        name: name of the threads.

    Example:
        >>> pool = DaemonPool(2, "example")
        >>> pool.submit(divmod, 7, 2).result()
        (3, 1)
        >>> pool.close()
    """

    def __init__(self, threads: int, name: str) -> None:
        self._most = threads
        self._name = name
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._lock = Lock()
        self._threads = self._unfinished = 0
        self._is_closed = False

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Future of a call that runs as soon as a thread is free.

        Raises:
            RuntimeError: the pool is closed.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._is_closed:
                raise RuntimeError(f"the threads '{self._name}' are closed")
            self._unfinished += 1
            if self._threads < min(self._most, self._unfinished):
                self._threads += 1
                Thread(target=self._run, name=self._name, daemon=True).start()
            self._calls.put((future, function, arguments))
        return future

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            future, function, arguments = call
            if future.set_running_or_notify_cancel():
                try:
                    result = function(*arguments)
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
            del call, future, function, arguments  # until the next call, which may be in hours
            with self._lock:
                self._unfinished -= 1

    def close(self) -> None:
        """Cancel the calls that have not begun. Running calls continue in the background."""
        with self._lock:
            self._is_closed = True
            with suppress(Empty):
                while True:  # idle threads may take calls meanwhile
                    call = self._calls.get_nowait()
                    if call is not None:
                        call[0].cancel()
            for _ in range(self._threads):
                self._calls.put(None)
