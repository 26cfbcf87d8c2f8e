"""Asynchronous look-ups in a table. Keys that wait at the same time are looked up in one query."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobDefinitionError
from millrace.common.functions import RuntimeContext
from millrace.common.functions.async_functions import AsyncFunction
from millrace.common.time.amounts import Duration
from millrace.common.types.row import Row, named_row
from millrace.connectors.index_range import require_at_least
from millrace.connectors.jdbc.client import JdbcError
from millrace.connectors.jdbc.column_types import chosen, reflected
from millrace.connectors.jdbc.connection_options import JdbcConnectionOptions
from millrace.connectors.jdbc.session import JdbcSession
from millrace.runtime.lookup_cache import LookupCache

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["JdbcLookupFunction", "JdbcLookupFunctionBuilder", "JdbcLookups", "LookupSettings"]

Key = tuple[Any, ...]
Join = Callable[[Any, Sequence[Row]], list[Any]]


def pairs(record: Any, rows: Sequence[Row]) -> list[Any]:
    """Pairs of the record and each matching row, or of the record and None."""
    return [(record, row) for row in rows] or [(record, None)]


@dataclass(frozen=True)
class LookupSettings:
    """Settings of a look-up: table, key, columns and cache."""

    connection: JdbcConnectionOptions
    table: str = ""
    key: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    """Empty: all."""
    selector: Callable[[Any], Any] | None = None
    join: Join = pairs
    max_rows: int = 0
    """Maximum number of rows in the cache; 0 for no cache."""
    ttl_s: float = 0.0
    missing: bool = True
    batch_size: int = 500
    connections: int = 2
    max_retries: int = 3


class JdbcLookupFunction(AsyncFunction[Any, Any]):
    """Looks up records in a table, for `AsyncDataStream`; made by `JdbcLookupFunction.builder`.

    Example:
        >>> from millrace.common import Time
        >>> from millrace.datastream import AsyncDataStream, StreamExecutionEnvironment
        >>> options = (
        ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        ...     .with_url("jdbc:postgresql://localhost/shop")
        ...     .build()
        ... )
        >>> customers = (
        ...     JdbcLookupFunction.builder()
        ...     .set_connection_options(options)
        ...     .set_table("customers")
        ...     .set_key("id", selector=lambda order: order[0])
        ...     .set_cache(max_rows=10_000, ttl=Duration.of_minutes(10))
        ...     .build()
        ... )
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> orders = env.from_collection([("ada", 5)])
        >>> named = AsyncDataStream.unordered_wait(orders, customers, Time.seconds(10))
    """

    def __init__(self, settings: LookupSettings) -> None:
        self._settings = settings

    @staticmethod
    def builder() -> JdbcLookupFunctionBuilder:
        """A builder of a function, without settings."""
        return JdbcLookupFunctionBuilder()

    def open(self, runtime_context: RuntimeContext) -> None:
        settings = self._settings
        self._cache = LookupCache(settings.max_rows, settings.ttl_s, settings.missing)
        self._waiting: dict[Key, asyncio.Future[Sequence[Row]]] = {}
        self._asked: dict[Key, asyncio.Future[Sequence[Row]]] = {}
        self._all = [JdbcLookups(settings) for _ in range(settings.connections)]
        self._idle = list(self._all)
        self._closed = False
        self._pool = ThreadPoolExecutor(settings.connections, "jdbc-lookup")
        metrics = runtime_context.get_metrics_group()
        self._hits = metrics.counter("hitCount")
        self._misses = metrics.counter("missCount")
        self._loads = metrics.counter("loadCount")

    def close(self) -> None:
        self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        for lookups in self._all:
            lookups.close()

    async def async_invoke(self, value: Any) -> list[Any]:
        settings = self._settings
        assert settings.selector is not None
        selected = settings.selector(value)
        key = selected if isinstance(selected, tuple) else (selected,)
        rows: Sequence[Row] | None = self._cache.get(key)
        if rows is None:
            self._misses.inc()
            # whoever gives up waiting must not cancel what others wait for
            rows = await asyncio.shield(self._load(key))
        else:
            self._hits.inc()
        return settings.join(value, rows)

    def _load(self, key: Key) -> asyncio.Future[Sequence[Row]]:
        future = self._waiting.get(key) or self._asked.get(key)
        if future is None:
            loop = asyncio.get_running_loop()
            future = self._waiting[key] = loop.create_future()
            if len(self._waiting) == 1:
                loop.call_soon(self._ask)  # with all that are asked for in this turn
        return future

    def _ask(self) -> None:
        """Send the waiting keys if a connection is idle."""
        loop = asyncio.get_running_loop()
        while self._waiting and self._idle and not self._closed:
            keys = list(self._waiting)[: self._settings.batch_size]
            batch = {key: self._waiting.pop(key) for key in keys}
            self._asked.update(batch)
            lookups = self._idle.pop()
            query = loop.run_in_executor(self._pool, lookups.rows, keys)
            query.add_done_callback(lambda done, b=batch, u=lookups: self._answered(done, b, u))  # type: ignore[misc]

    def _answered(
        self,
        done: asyncio.Future[dict[Key, list[Row]]],
        batch: dict[Key, asyncio.Future[Sequence[Row]]],
        lookups: JdbcLookups,
    ) -> None:
        self._idle.append(lookups)
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        rows_by_key = {} if error is not None else done.result()
        for key, future in batch.items():
            del self._asked[key]
            rows = rows_by_key.get(key, [])
            if error is None:
                self._cache.put(key, rows)
            if future.done():
                continue
            if error is None:
                future.set_result(rows)
            else:
                future.set_exception(error)
                future.exception()  # nobody may be waiting any more
        self._loads.inc()
        self._ask()


class JdbcLookups:
    """Connection for look-ups by key. Only one thread uses it at a time, but `close` may be called
    from any thread, and never waits for a query.
    """

    def __init__(self, settings: LookupSettings) -> None:
        self._settings = settings
        self._session = JdbcSession(settings.connection)
        self._columns: list[Any] = []
        """Keys first."""
        self._lock = Lock()
        """Held while a query runs: a driver in C crashes when its connection is closed then."""
        self._closed = False

    def rows(self, keys: list[Key]) -> dict[Key, list[Row]]:
        """Matching rows by key; runs in a thread.

        Raises:
            JdbcError: the rows cannot be read, or the function was closed.
        """
        selected = self._asked(lambda connection: self._select(connection, keys))
        width = len(self._settings.key)
        names = tuple(column.name for column in self._columns[width:])
        rows: dict[Key, list[Row]] = {}
        for row in selected:
            rows.setdefault(tuple(row[:width]), []).append(named_row(names, row[width:]))
        return rows

    def all_rows(self) -> list[tuple[Key, tuple[Any, ...]]]:
        """All rows, each with its key.

        Raises:
            JdbcError: the rows cannot be read, or the function was closed.
        """
        selected = self._asked(
            lambda connection: connection.execute(self._selected(connection)).all()
        )
        width = len(self._settings.key)
        return [(tuple(row[:width]), tuple(row[width:])) for row in selected]

    def _asked(self, query: Callable[[Connection], Sequence[Any]]) -> Sequence[Any]:
        try:
            with self._lock:
                if self._closed:
                    raise JdbcError(f"the look-ups in {self._settings.table} were closed")
                return self._session.transaction(query, self._settings.max_retries)
        finally:
            if self._closed:
                self.close()

    def _selected(self, connection: Connection) -> Any:
        """Query for the columns of all rows."""
        from sqlalchemy import select

        settings = self._settings
        if not self._columns:
            table = reflected(connection, settings.table)
            names = settings.columns or tuple(table.columns.keys())
            self._columns = chosen(table, settings.table, [*settings.key, *names])
        return select(*(column.label(f"c{i}") for i, column in enumerate(self._columns)))

    def _select(self, connection: Connection, keys: list[Key]) -> Sequence[Any]:
        from sqlalchemy import tuple_

        query = self._selected(connection)
        width = len(self._settings.key)
        key_columns = self._columns[:width]
        # few lengths: the server knows most of these statements already
        length = 1 << (len(keys) - 1).bit_length()
        padded = keys + keys[-1:] * (length - len(keys))
        if width == 1:
            condition = key_columns[0].in_([key for (key,) in padded])
        else:
            condition = tuple_(*key_columns).in_(padded)
        return connection.execute(query.where(condition)).all()

    def close(self) -> None:
        self._closed = True
        if self._lock.acquire(blocking=False):
            try:
                self._session.close()
            finally:
                self._lock.release()


class JdbcLookupFunctionBuilder:
    """Collects the options of a `JdbcLookupFunction`."""

    def __init__(self) -> None:
        self._settings = LookupSettings(JdbcConnectionOptions(""))

    def set_connection_options(self, options: JdbcConnectionOptions) -> JdbcLookupFunctionBuilder:
        """Set the database."""
        return self._with(connection=options)

    def set_table(self, table: str) -> JdbcLookupFunctionBuilder:
        """Set the table: its name, or ``schema.table``."""
        return self._with(table=table)

    def set_key(
        self, *columns: str, selector: Callable[[Any], Hashable]
    ) -> JdbcLookupFunctionBuilder:
        """Set the key columns, and the function that returns their value for a record: a tuple
        if there are several columns. The columns should have an index."""
        return self._with(key=columns, selector=selector)

    def set_columns(self, *columns: str) -> JdbcLookupFunctionBuilder:
        """Set the columns of the returned rows; by default all."""
        return self._with(columns=columns)

    def set_join(self, join: Join) -> JdbcLookupFunctionBuilder:
        """Set the function that makes results from a record and the list of its matching rows.
        By default: pairs of the record and each row, or None if no row matches."""
        return self._with(join=join)

    def set_cache(
        self, max_rows: int, ttl: Duration, cache_missing_key: bool = True
    ) -> JdbcLookupFunctionBuilder:
        """Cache rows in each subtask, up to ``max_rows`` of them for ``ttl``, optionally also
        missing keys.

        Raises:
            JobDefinitionError: it is to have less than one row.
        """
        require_at_least(1, max_rows=max_rows)
        seconds = ttl.to_millis() / 1000
        return self._with(max_rows=max_rows, ttl_s=seconds, missing=cache_missing_key)

    def set_max_batch_size(self, keys: int) -> JdbcLookupFunctionBuilder:
        """Set the maximum number of keys in one query (500 by default)."""
        require_at_least(1, keys=keys)
        return self._with(batch_size=keys)

    def set_connections(self, connections: int) -> JdbcLookupFunctionBuilder:
        """Set the number of connections, and so of concurrent queries, of each subtask (2 by
        default)."""
        require_at_least(1, connections=connections)
        return self._with(connections=connections)

    def set_max_retries(self, max_retries: int) -> JdbcLookupFunctionBuilder:
        """Set the maximum number of retries of a query when the connection is lost (3 by
        default)."""
        require_at_least(0, max_retries=max_retries)
        return self._with(max_retries=max_retries)

    def _with(self, **options: Any) -> JdbcLookupFunctionBuilder:
        self._settings = replace(self._settings, **options)
        return self

    def build(self) -> JdbcLookupFunction:
        """The function with all settings made so far.

        Raises:
            JobDefinitionError: something is missing.
        """
        settings = self._settings
        for present, call in (
            (settings.connection.url, "set_connection_options()"),
            (settings.table, "set_table()"),
            (settings.key and callable(settings.selector), "set_key() with columns and a function"),
        ):
            if not present:
                raise JobDefinitionError(f"a JdbcLookupFunction needs {call}")
        return JdbcLookupFunction(settings)
