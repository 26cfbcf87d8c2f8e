"""Look-up joins: rows with what a table has for their keys."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.table import lookup_tables

from millrace.common.errors import JobDefinitionError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.connectors.registry import register_factory
from millrace.table.table_result import materialized
from millrace.testing import run_local

ROWS = [
    {"id": 1, "name": "ada", "city": "here", "size": 1.5},
    {"id": 2, "name": "bob", "city": "here", "size": None},
    {"id": 2, "name": "eve", "city": "there", "size": 0.5},
    {"id": 3, "name": None, "city": "there", "size": 2.5},
]
ORDERS = [(10, 1), (11, 2), (12, None), (13, 9), (14, 3), (15, 2)]
JOIN = "orders o {kind} JOIN customers FOR SYSTEM_TIME AS OF o.proc AS c ON "


@pytest.fixture(autouse=True)
def table() -> None:
    register_factory(lookup_tables.LookupFactory())
    lookup_tables.ROWS[:] = ROWS
    lookup_tables.CALLS.clear()


def session(more: str = "", streaming: bool = True) -> TableEnvironment:
    mode = EnvironmentSettings.new_instance()
    mode = mode.in_streaming_mode() if streaming else mode.in_batch_mode()
    t_env = TableEnvironment.create(mode.build())
    t_env.create_temporary_view("given", t_env.from_elements(ORDERS, ["id", "customer"]))
    t_env.execute_sql(
        "CREATE TEMPORARY VIEW orders AS SELECT id, customer, PROCTIME() AS proc FROM given"
    )
    t_env.execute_sql(
        "CREATE TABLE customers (id BIGINT, name STRING, city STRING, size DOUBLE, big AS size > 1)"
        f" WITH ('connector' = 'looked-up'{more})"
    )
    return t_env


def rows(query: str, more: str = "", streaming: bool = True) -> Counter[tuple[Any, ...]]:
    with run_local(epoch_records=2):
        found = list(session(more, streaming).execute_sql(query).collect())
    return Counter(tuple(row) for row in materialized(iter(found)))


FULL = ", 'mode' = 'scan', 'lookup.cache' = 'FULL'"
PERIODIC = f"{FULL}, 'lookup.full-cache.periodic-reload.interval' = '1 h'"
TIMED = (
    f"{FULL}, 'lookup.full-cache.reload-strategy' = 'TIMED', "
    "'lookup.full-cache.timed-reload.iso-time' = '10:15', "
    "'lookup.full-cache.timed-reload.interval-in-days' = '7'"
)


@pytest.mark.parametrize("more", [", 'mode' = 'sync'", ", 'mode' = 'async'", PERIODIC, TIMED])
@pytest.mark.parametrize("streaming", [True, False])
def test_rows_get_what_the_table_has(more: str, streaming: bool) -> None:
    query = f"SELECT o.id, c.name, c.big FROM {JOIN.format(kind='LEFT')} o.customer = c.id"
    found = rows(query, more, streaming)
    assert found == Counter(
        [
            (10, "ada", True),
            (11, "bob", None),
            (11, "eve", False),
            (12, None, None),
            (13, None, None),
            (14, None, True),
            (15, "bob", None),
            (15, "eve", False),
        ]
    )
    asked = [key for call in lookup_tables.CALLS for key in call]
    assert (None,) not in asked
    if "FULL" in more:
        assert lookup_tables.CALLS == [[]]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (", 'lookup.cache' = 'ALL'", "'lookup.cache' must be NONE or PARTIAL or FULL, not 'ALL'"),
        (FULL, "= 'PERIODIC' needs 'lookup.full-cache.periodic-reload.interval'"),
        (PERIODIC.replace("1 h", "0 s"), "interval' must be more than 0 ms"),
        (PERIODIC.replace("scan", "sync"), "does not read the whole table"),
        (TIMED.replace("10:15", "noon"), "such as '10:15' or '10:15\\+01:00', not 'noon'"),
        (TIMED.replace("'7'", "'0'"), "interval-in-days"),
        (TIMED.replace("TIMED", "NEVER"), "strategy' must be PERIODIC or TIMED, not 'NEVER'"),
        (
            f"{FULL}, 'lookup.full-cache.reload-strategy' = 'TIMED'",
            "needs 'lookup.full-cache.timed",
        ),
        (
            f"{PERIODIC}, 'lookup.full-cache.periodic-reload.schedule-mode' = 'X'",
            "schedule-mode' must be FIXED_DELAY or FIXED_RATE",
        ),
    ],
)
def test_wrong_options_of_a_full_cache(more: str, message: str) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        rows(f"SELECT o.id FROM {JOIN.format(kind='LEFT')} o.customer = c.id", more)


def test_conditions_choose_among_what_was_found() -> None:
    query = (
        f"SELECT o.id, c.name FROM {JOIN.format(kind='LEFT')} o.customer = c.id AND "
        "c.city = 'there' AND c.size * 10 < o.id"
    )
    left = rows(query)
    assert left == Counter(
        [(10, None), (11, "eve"), (12, None), (13, None), (14, None), (15, "eve")]
    )
    inner = rows(query.replace("LEFT", "") + " WHERE c.name LIKE 'e%'")
    assert inner == Counter([(11, "eve"), (15, "eve")])


def test_keys_are_expressions_of_several_columns() -> None:
    query = (
        f"SELECT o.id, c.name FROM {JOIN.format(kind='')} o.customer + 1 = c.id AND "
        "c.city = CASE WHEN o.id > 10 THEN 'there' ELSE 'here' END"
    )
    assert rows(query) == Counter([(10, "bob"), (11, None), (15, None)])
    assert {key for call in lookup_tables.CALLS for key in call} >= {(2, "here"), (3, "there")}


def test_a_processing_time_may_be_asked_for_in_place() -> None:
    query = (
        "SELECT o.id, c.name FROM orders o JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c "
        "ON o.customer = c.id AND c.city = 'here'"
    )
    assert rows(query) == Counter([(10, "ada"), (11, "bob"), (15, "bob")])


def test_keys_may_stand_in_where() -> None:
    query = (
        "SELECT o.id, c.name FROM orders o, customers FOR SYSTEM_TIME AS OF o.proc AS c "
        "WHERE o.customer = c.id AND c.city = 'here' AND o.id > 10"
    )
    assert rows(query) == Counter([(11, "bob"), (15, "bob")])


def test_updates_on_the_left_are_updates_of_the_result() -> None:
    query = (
        "SELECT o.n, c.name FROM (SELECT customer, COUNT(*) AS n FROM given GROUP BY customer) o "
        "JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON o.customer = c.id"
    )
    assert rows(query) == Counter([(1, "ada"), (2, "bob"), (2, "eve"), (1, None)])


def test_a_cache_asks_once() -> None:
    query = f"SELECT o.id, c.name FROM {JOIN.format(kind='')} o.customer = c.id"
    rows(query)
    assert sum(call.count((2,)) for call in lookup_tables.CALLS) == 2
    lookup_tables.CALLS.clear()
    rows(query, ", 'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '100'")
    assert sum(call.count((2,)) for call in lookup_tables.CALLS) == 1


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (f"{JOIN.format(kind='FULL')} o.customer = c.id", "only supports INNER JOIN and LEFT JOIN"),
        (f"{JOIN.format(kind='')} o.id > c.id", "requires an equality condition on fields of"),
        (
            "orders o JOIN orders FOR SYSTEM_TIME AS OF o.proc AS c ON o.id = c.id",
            "Processing-time temporal join is not supported yet",
        ),
    ],
)
def test_refused_joins(query: str, reason: str) -> None:
    with pytest.raises(JobDefinitionError) as refusal:
        session().explain_sql(f"SELECT o.id FROM {query}")
    assert reason in str(refusal.value)


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        ("'table' = 'c', 'asynch' = 'true'", "no option 'asynch'; did you mean 'async'?"),
        ("'async' = 'true'", "needs the name of its table"),
        ("'table' = 'c', 'output-mode' = 'any'", "'output-mode'='ordered or allow_unordered'"),
        ("'table' = 'c', 'max-attempts' = '3'", "needs retry-predicate, retry-strategy, fixed"),
    ],
)
def test_wrong_hints_are_told(hint: str, reason: str) -> None:
    query = f"SELECT /*+ LOOKUP({hint}) */ o.id FROM {JOIN.format(kind='')} o.customer = c.id"
    with pytest.raises(JobDefinitionError) as refusal:
        session().explain_sql(query)
    assert reason in str(refusal.value)


def test_a_hint_asks_again_for_what_is_missing_and_shuffles() -> None:
    hint = (
        "LOOKUP('table'='c', 'retry-predicate'='lookup_miss', 'retry-strategy'='fixed_delay', "
        "'fixed-delay'='1ms', 'max-attempts'='2', 'shuffle'='true')"
    )
    query = f"SELECT /*+ {hint} */ o.id FROM {JOIN.format(kind='')} o.customer = c.id"
    assert rows(query) == Counter({(10,): 1, (11,): 2, (14,): 1, (15,): 2})
    assert sum(call.count((9,)) for call in lookup_tables.CALLS) == 3


def test_customers_of_a_database(tmp_path: Path) -> None:
    with run_local(epoch_records=2):
        t_env = session()
        t_env.execute_sql("DROP TABLE customers")
        t_env.execute_sql(
            "CREATE TABLE customers (id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH "
            f"('connector' = 'jdbc', 'url' = 'sqlite:///{tmp_path / 'test.db'}', 'table-name' = "
            "'customers', 'lookup.cache' = 'PARTIAL')"
        )
        import sqlite3

        with sqlite3.connect(tmp_path / "test.db") as connection:
            connection.execute("CREATE TABLE customers (id bigint primary key, name varchar(9))")
            connection.execute("INSERT INTO customers VALUES (1, 'ada'), (2, 'bob')")
        query = f"SELECT o.id, c.name FROM {JOIN.format(kind='')} o.customer = c.id"
        found = list(t_env.execute_sql(query).collect())
    assert sorted(tuple(row) for row in found) == [(10, "ada"), (11, "bob"), (15, "bob")]
