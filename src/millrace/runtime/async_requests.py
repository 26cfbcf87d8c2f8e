"""Asynchronous requests: coroutines on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from millrace.common.errors import JobExecutionError
from millrace.common.functions.async_functions import AsyncFunction, AsyncRetryStrategy

_LAST_TURNS = 3
"""Turns of the event loop after its end, in which cancelled requests and closed connections release
what they have."""


class CompletedRequest(NamedTuple):
    """Outcome of a request: its results or its error."""

    number: int
    results: Iterable[Any] | None
    error: BaseException | None


class AsyncRequests:
    """Starts requests and reports which ones have ended. Used by one thread.

    Args:
        timeout: seconds that a request may take; None if it limits itself.
        on_end: called in the event loop's thread whenever a request has ended.
    """

    def __init__(
        self,
        function: Any,
        timeout: float | None,
        retry: AsyncRetryStrategy,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        is_object = isinstance(function, AsyncFunction)
        self._invoke: Callable[[Any], Any] = function.async_invoke if is_object else function
        self._on_timeout: Callable[[Any], Any] | None = function.timeout if is_object else None
        self._timeout = timeout
        self._retry = retry
        self._on_end = on_end
        self._ended: SimpleQueue[tuple[int, CompletedRequest]] = SimpleQueue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._generation = 0
        """Number of calls of `cancel_all`. Results of requests of an earlier generation are
        dropped."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="async I/O", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        for _ in range(_LAST_TURNS):
            self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def call(self, function: Callable[[], None]) -> None:
        """Call a function on the event loop as soon as the loop is free."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(function)

    def start(self, requests: list[tuple[int, Any]]) -> None:
        """Start requests, given as pairs (number, record)."""
        self._loop.call_soon_threadsafe(self._start, self._generation, requests)

    def _start(self, generation: int, requests: list[tuple[int, Any]]) -> None:
        for number, value in requests:
            task = self._loop.create_task(self._serve(generation, number, value))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def cancel_all(self) -> None:
        """Cancel all requests and drop their results. The event loop stays, because clients that
        the user's function created are bound to it."""
        self._generation += 1
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    def ended(self, wait: float | None = 0.0) -> list[CompletedRequest]:
        """Requests that have ended since the last call. Waits up to ``wait`` seconds for one, or
        without limit if ``wait`` is None."""
        ended: list[tuple[int, CompletedRequest]] = []
        with suppress(Empty):
            if wait != 0:
                ended.append(self._ended.get(timeout=wait))
            while True:
                ended.append(self._ended.get_nowait())
        return [done for generation, done in ended if generation == self._generation]

    async def _serve(self, generation: int, number: int, value: Any) -> None:
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:
                results = await self._attempts(value)
            done = CompletedRequest(number, results, None)
        except TimeoutError as error:
            # the user's own timeouts are failures like any other
            done = (
                self._timed_out(number, value)
                if limit.expired()
                else CompletedRequest(number, None, error)
            )
        except asyncio.CancelledError:
            message = f"the asynchronous request for {value!r} was cancelled by the function itself"
            done = CompletedRequest(number, None, JobExecutionError(message))
        except BaseException as error:  # of whatever kind: the operator waits for this request
            done = CompletedRequest(number, None, error)
        self._ended.put((generation, done))
        self._on_end()

    def _timed_out(self, number: int, value: Any) -> CompletedRequest:
        try:
            if self._on_timeout is None:
                raise TimeoutError(f"the asynchronous request for {value!r} has timed out")
            return CompletedRequest(number, self._on_timeout(value), None)
        except BaseException as failure:
            failure.__context__ = None
            return CompletedRequest(number, None, failure)

    async def _attempts(self, value: Any) -> Any:
        retry = self._retry
        predicate = retry.get_retry_predicate()
        bad_result, bad_error = predicate.result_predicate(), predicate.exception_predicate()
        attempt = 1
        while True:
            try:
                results = await self._invoke(value)
            except Exception as error:
                if not (bad_error and bad_error(error) and retry.can_retry(attempt)):
                    raise
            else:
                if not (bad_result and bad_result(results) and retry.can_retry(attempt)):
                    return results
            await asyncio.sleep(retry.get_backoff_time_millis(attempt) / 1000)
            attempt += 1

    def close(self) -> None:
        """Cancel requests in flight and stop the event loop."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop)
            self._thread.join(timeout=5)

    def _stop(self) -> None:
        self._cancel()
        # the cancellations are delivered before the loop stops
        self._loop.call_soon(self._loop.stop)
