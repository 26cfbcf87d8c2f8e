"""Asynchronous look-ups in real databases: one query for many, a cache, nothing lost by faults."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from databases import Database
from postgresql import PostgreSQL

from millrace.common import Duration, Row, Time
from millrace.common.errors import JobDefinitionError, MillraceError
from millrace.connectors.jdbc import JdbcLookupFunction
from millrace.connectors.jdbc.lookup import JdbcLookups
from millrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from millrace.runtime.lookup_cache import LookupCache
from millrace.testing import Faults, run_local


@pytest.fixture
def customers(database: Database) -> Database:
    database.run(
        "CREATE TABLE customers (id bigint, place varchar(9), name varchar(20))",
        "INSERT INTO customers VALUES (1, 'here', 'ada'), (2, 'here', 'bob'), (2, 'there', 'eve')",
    )
    return database


def builder(database: Database) -> Any:
    found = JdbcLookupFunction.builder().set_connection_options(database.options)
    return found.set_table("customers").set_key("id", selector=lambda order: order[0])


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """The keys of each query."""
    seen: list[list[Any]] = []
    rows = JdbcLookups.rows

    def counted(self: Any, keys: list[Any]) -> Any:
        seen.append(keys)
        return rows(self, keys)

    monkeypatch.setattr(JdbcLookups, "rows", counted)
    return seen


def ask(function: JdbcLookupFunction, *rounds: list[Any]) -> list[Any]:
    """The results of rounds of records that are asked for at the same time."""

    class Context:
        def get_metrics_group(self) -> Any:
            from millrace.common.functions.metrics import UnregisteredMetricGroup

            return UnregisteredMetricGroup()

    async def together() -> list[Any]:
        found: list[Any] = []
        for records in rounds:
            found += await asyncio.gather(*map(function.async_invoke, records))
        return found

    function.open(Context())  # type: ignore[arg-type]
    try:
        return asyncio.run(together())
    finally:
        function.close()


def test_who_asks_at_the_same_time_shares_a_query(
    customers: Database, queries: list[list[Any]]
) -> None:
    function = builder(customers).set_columns("name").build()
    found = ask(function, [(1, "x"), (2, "y"), (2, "z"), (9, "w")])
    names = [[None if row is None else row["name"] for _, row in each] for each in found]
    assert [sorted(map(str, each)) for each in names] == [
        ["ada"], ["bob", "eve"], ["bob", "eve"], ["None"],
    ]  # fmt: skip
    assert queries == [[(1,), (2,), (9,)]]


def test_many_keys_are_several_queries(customers: Database, queries: list[list[Any]]) -> None:
    function = builder(customers).set_max_batch_size(4).set_connections(1).build()
    found = ask(function, [(i % 10, "x") for i in range(20)])
    assert len(found) == 20
    assert sorted(map(len, queries)) == [2, 4, 4]


def test_what_was_found_is_kept(customers: Database, queries: list[list[Any]]) -> None:
    cached = builder(customers).set_cache(100, Duration.of_minutes(1))
    orders = [(1, "x"), (9, "y")]
    first, second, third, fourth = ask(cached.build(), orders, orders)
    assert (first, second) == (third, fourth)
    assert second == [((9, "y"), None)]
    assert len(queries) == 1
    queries.clear()
    without = cached.set_cache(100, Duration.of_minutes(1), cache_missing_key=False)
    ask(without.build(), orders, orders)
    assert queries == [[(1,), (9,)], [(9,)]]


def test_keys_of_several_columns(customers: Database) -> None:
    function = (
        builder(customers)
        .set_key("id", "place", selector=lambda order: order)
        .set_join(lambda order, rows: [(*order, row["name"]) for row in rows])
        .build()
    )
    assert ask(function, [(2, "there"), (2, "here"), (1, "there")]) == [
        [(2, "there", "eve")],
        [(2, "here", "bob")],
        [],
    ]


def test_a_job_looks_up_through_faults(customers: Database) -> None:
    function = builder(customers).set_columns("name").set_cache(2, Duration.of_minutes(1)).build()
    orders = [Row(i % 3, i) for i in range(300)]
    faults = Faults(lost_epochs=0.2, lost_workers=0.1)
    with run_local(epoch_records=30, faults=faults):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        stream = env.from_collection(orders)
        found = AsyncDataStream.ordered_wait(stream, function, Time.seconds(60))
        with found.execute_and_collect() as results:
            named = [(order[1], row and row["name"]) for order, row in results]
    expected = {0: [None], 1: ["ada"], 2: ["bob", "eve"]}
    assert sorted(named, key=str) == sorted(
        ((i, name) for i in range(300) for name in expected[i % 3]), key=str
    )


def test_a_server_that_is_restarted(postgresql: PostgreSQL) -> None:
    database = Database(postgresql.url(postgresql.create_database()))
    database.run("CREATE TABLE customers (id int, name text)")
    database.run("INSERT INTO customers VALUES (1, 'ada')")
    lookups = JdbcLookups(builder(database).build()._settings)
    assert lookups.rows([(1,)]) == {(1,): [Row(id=1, name="ada")]}
    postgresql.restart()
    assert lookups.rows([(1,)]) == {(1,): [Row(id=1, name="ada")]}
    lookups.close()
    database.close()


def test_the_cache_forgets() -> None:
    now = 0.0
    cache = LookupCache(3, 10, True, lambda: now)
    cache.put("a", [1, 2])
    cache.put("b", [])
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ([1, 2], [], None)
    cache.put("c", [3])  # "a" was asked for before "b"
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (None, [], [3])
    now = 11.0
    assert cache.get("b") is None
    cache.put("big", [1, 2, 3, 4])
    assert cache.get("big") is None


def test_the_cache_forgets_what_nobody_asks_for() -> None:
    now = 0.0
    cache = LookupCache(3, 100, True, lambda: now, idle_s=10)
    cache.put("a", [1])
    now = 9.0
    assert cache.get("a") == [1]
    now = 18.0
    assert cache.get("a") == [1]
    now = 29.0
    assert cache.get("a") is None


def test_wrong_use_is_told(database: Database) -> None:
    for build, match in (
        (lambda: JdbcLookupFunction.builder().build(), "set_connection_options"),
        (lambda: builder(database).set_key(selector=len).build(), "set_key"),
        (lambda: builder(database).set_cache(0, Duration.of_minutes(1)), "max_rows"),
    ):
        with pytest.raises(JobDefinitionError, match=match):
            build()
    with pytest.raises(MillraceError, match="there is no table customers"):
        ask(builder(database).build(), [(1, "x")])


def test_a_connection_is_closed_only_after_its_query(
    customers: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite crashes the process else."""
    began, go = threading.Event(), threading.Event()
    select = JdbcLookups._select

    def held(self: Any, connection: Any, keys: list[Any]) -> Any:
        began.set()
        go.wait(20)
        return select(self, connection, keys)

    monkeypatch.setattr(JdbcLookups, "_select", held)
    lookups = JdbcLookups(builder(customers).build()._settings)
    with ThreadPoolExecutor(1) as pool:
        query = pool.submit(lookups.rows, [(1,)])
        assert began.wait(20)
        lookups.close()  # does not wait
        assert lookups._session._connection is not None
        go.set()
        assert [row["name"] for row in query.result(20)[(1,)]] == ["ada"]
    assert lookups._session._connection is None
    with pytest.raises(MillraceError, match="were closed"):
        lookups.rows([(1,)])
