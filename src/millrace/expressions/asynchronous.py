"""`AsyncCalls`: many concurrent calls of a user's coroutine, on an event loop in another thread.

Flink docs: "Asynchronous Scalar Functions": results stay in the order of their rows.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from millrace.expressions.evaluation_error import EvaluationError

__all__ = ["AsyncCalls", "AsyncOptions"]


@dataclass(frozen=True, slots=True)
class AsyncOptions:
    """Options for calls of asynchronous functions.

    Attributes:
        capacity: maximum number of concurrent calls
            (``table.exec.async-scalar.max-concurrent-operations``).
        timeout_ms: timeout of a call with its retries, in ms (``table.exec.async-scalar.timeout``).
        attempts: attempts for a call that raises an error
            (``table.exec.async-scalar.max-attempts``).
        delay_ms: ms between two attempts (``table.exec.async-scalar.retry-delay``).
    """

    capacity: int = 10
    timeout_ms: int = 180_000
    attempts: int = 3
    delay_ms: int = 100


class AsyncCalls:
    """Calls a coroutine for rows, and waits for all of them.

    The event loop stays: clients that a function has made are bound to it.

    Example:
        >>> async def double(value):
        ...     return value * 2
        >>> AsyncCalls(AsyncOptions()).of(double, [(1,), (2,)])
        [2, 4]
    """

    def __init__(self, options: AsyncOptions) -> None:
        self._options = options
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="async I/O", daemon=True).start()

    def of(
        self, function: Callable[..., Coroutine[Any, Any, Any]], rows: Iterable[tuple[Any, ...]]
    ) -> list[Any]:
        """Results for rows of arguments, in the order of the rows.

        Raises:
            EvaluationError: a call took too long.
            Exception: of the function; the other calls are cancelled.
        """
        calls = self._all(function, list(rows))
        return asyncio.run_coroutine_threadsafe(calls, self._loop).result()

    async def _all(self, function: Callable[..., Any], rows: list[tuple[Any, ...]]) -> list[Any]:
        free = asyncio.Semaphore(self._options.capacity)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._one(function, row, free)) for row in rows]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _one(
        self, function: Callable[..., Any], row: tuple[Any, ...], free: asyncio.Semaphore
    ) -> Any:
        async with free:
            limit = asyncio.timeout(self._options.timeout_ms / 1000)
            try:
                async with limit:
                    return await self._attempts(function, row)
            except TimeoutError as error:
                if not limit.expired():
                    raise
                raise EvaluationError(
                    f"an asynchronous call took longer than {self._options.timeout_ms} ms "
                    "(table.exec.async-scalar.timeout)"
                ) from error

    async def _attempts(self, function: Callable[..., Any], row: tuple[Any, ...]) -> Any:
        for _ in range(self._options.attempts - 1):
            try:
                return await function(*row)
            except Exception:
                await asyncio.sleep(self._options.delay_ms / 1000)
        return await function(*row)
