"""`Lookups`: finds rows by key, with a cache, and with retries if a lookup fails or returns no
rows.

Flink: ``LookupJoinRunner`` with ``CachingLookupFunction`` and ``RetryableLookupFunctionDelegator``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.functions.lookup_functions import (
    AsyncLookupFunction,
    Key,
    LookupFunction,
    Rows,
    ScanningLookupFunction,
)
from millrace.runtime.lookup_cache import LookupCache
from millrace.runtime.metrics import MetricRegistry, RegisteredGroup
from millrace.table_runtime.full_cache import CacheReload, FullCache, rows_by_key

__all__ = ["CacheSettings", "LookupBehaviour", "Lookups"]

_FIRST_PAUSE_S = 0.1
"""Seconds before the first retry of a failed lookup. Each further wait is twice as long."""


@dataclass(frozen=True)
class CacheSettings:
    """Settings of the cache of a subtask: number of rows, seconds until expiry after a lookup and
    after the last use, and whether keys without rows are also cached.
    """

    max_rows: int
    ttl_s: float
    idle_s: float
    missing: bool


@dataclass(frozen=True)
class LookupBehaviour:
    """Settings of the lookups in a table.

    Attributes:
        table: name of the table, for messages.
        cache: cache of the looked-up rows. None if there is none.
        reload: schedule on which all rows are read into a full cache. None if there is no full
            cache.
        max_retries: number of retries of a failed lookup.
        capacity: maximum number of concurrent requests of an asynchronous function.
        timeout_s: timeout in seconds of one call of an asynchronous function.
        miss_attempts: number of repeated lookups of a key without rows, ``miss_delay_s`` apart.
    """

    table: str
    cache: CacheSettings | None = None
    reload: CacheReload | None = None
    max_retries: int = 3
    capacity: int = 100
    timeout_s: float = 180.0
    miss_attempts: int = 0
    miss_delay_s: float = 0.0


class Lookups:
    """Looks up keys in a table.

    Args:
        sleep: function that waits a number of seconds.
    """

    def __init__(
        self,
        function: LookupFunction | AsyncLookupFunction,
        settings: LookupBehaviour,
        metrics: MetricRegistry,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._function, self._settings, self._sleep = function, settings, sleep
        group = RegisteredGroup(metrics)
        self._hits, self._misses = group.counter("hitCount"), group.counter("missCount")
        self._loads, self._failures = group.counter("loadCount"), group.counter("numLoadFailures")
        self._cache: LookupCache | None = None
        if settings.cache is not None:
            given = settings.cache
            self._cache = LookupCache(
                given.max_rows, given.ttl_s, given.missing, idle_s=given.idle_s
            )
        self._full = None if settings.reload is None else FullCache(settings.reload)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opened = False

    def rows(self, keys: Sequence[Key], now: int = 0) -> list[Sequence[Sequence[Any]]]:
        """Rows of each of some distinct keys.

        Args:
            now: beginning of the epoch, in ms since 1970.

        Raises:
            JobExecutionError: they could not be had.
        """
        if self._full is not None:
            return self._of_all(self._full, keys, now)
        cached: dict[Key, Sequence[Sequence[Any]]] = {}
        if self._cache is not None:
            for key in keys:
                rows = self._cache.get(key)
                if rows is not None:
                    cached[key] = rows
            self._hits.inc(len(cached))
        wanted = [key for key in keys if key not in cached]
        self._misses.inc(len(wanted))
        loaded = self._loaded(wanted)
        for _ in range(self._settings.miss_attempts):
            missing = [key for key in wanted if not loaded.get(key)]
            if not missing:
                break
            self._sleep(self._settings.miss_delay_s)
            loaded.update(self._loaded(missing))
        for key in wanted:
            cached[key] = loaded.get(key, ())
            if self._cache is not None:
                self._cache.put(key, cached[key])
        return [cached[key] for key in keys]

    def close(self) -> None:
        """Close the function."""
        if self._opened:
            self._function.close()
        if self._loop is not None:
            self._loop.close()

    def _of_all(
        self, full: FullCache, keys: Sequence[Key], now: int
    ) -> list[Sequence[Sequence[Any]]]:
        if full.is_due(now):
            self._open()
            function = self._function
            assert isinstance(function, ScanningLookupFunction)
            full.fill(self._tried(lambda: rows_by_key(function.scan())), now)
            self._loads.inc()
        self._hits.inc(len(keys))
        return [full.get(key) for key in keys]

    def _open(self) -> None:
        if not self._opened:
            self._opened = True
            self._function.open()

    def _loaded(self, keys: list[Key]) -> dict[Key, Sequence[Sequence[Any]]]:
        """Rows of keys, read from the table. A failed lookup is retried."""
        if not keys:
            return {}
        self._open()
        size = max(1, self._function.batch_size)
        chunks = [keys[start : start + size] for start in range(0, len(keys), size)]
        if isinstance(self._function, AsyncLookupFunction):
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
            parts = self._loop.run_until_complete(self._at_once(self._function, chunks, size))
        else:
            function = self._function
            parts = [self._tried(lambda c=chunk: function.lookup(c)) for chunk in chunks]  # type: ignore[misc]
        self._loads.inc(len(chunks))
        return {key: rows for part in parts for key, rows in part.items()}

    def _tried(self, call: Callable[[], Rows]) -> Rows:
        for attempt in range(self._settings.max_retries + 1):
            try:
                return call()
            except Exception as error:
                self._failed(attempt, error)
            self._sleep(_FIRST_PAUSE_S * 2**attempt)
        raise AssertionError("the last attempt raises")

    async def _at_once(
        self, function: AsyncLookupFunction, chunks: list[list[Key]], size: int
    ) -> list[Rows]:
        free = asyncio.Semaphore(max(1, self._settings.capacity // size))

        async def one(keys: list[Key]) -> Rows:
            async with free:
                for attempt in range(self._settings.max_retries + 1):
                    try:
                        call = function.lookup(keys)
                        return await asyncio.wait_for(call, self._settings.timeout_s)
                    except Exception as error:
                        self._failed(attempt, error)
                    await asyncio.sleep(_FIRST_PAUSE_S * 2**attempt)
                raise AssertionError("the last attempt raises")

        tasks = [asyncio.ensure_future(one(chunk)) for chunk in chunks]
        try:
            return list(await asyncio.gather(*tasks))
        finally:  # of a failure the others must not outlive the loop
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _failed(self, attempt: int, error: Exception) -> None:
        """Count a failed attempt. After the last attempt, raise the error, which fails the job."""
        self._failures.inc()
        if attempt == self._settings.max_retries:
            reason = str(error) or type(error).__name__
            raise JobExecutionError(
                f"looking up keys in the table {self._settings.table} failed "
                f"{attempt + 1} times: {reason}"
            ) from error
