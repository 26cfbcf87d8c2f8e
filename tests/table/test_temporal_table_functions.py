"""Temporal table functions: joins by them are those with FOR SYSTEM_TIME AS OF, or, in processing
time, with what has come."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millrace.common.errors import JobDefinitionError, MillraceError
from millrace.common.types.row import UPSERTS, RowKind
from millrace.planner.execution.table_factory import TableFactory
from millrace.table import (
    EnvironmentSettings,
    PlanReference,
    Table,
    TableEnvironment,
    TemporalTableFunction,
)
from millrace.table.connectors.registry import register_factory
from millrace.table.expressions import call, col
from millrace.table_runtime.record_batch_source import RecordBatchSource
from millrace.testing import run_local

START = datetime(2026, 1, 1)
Order = tuple[int, str | None, datetime]
Rate = tuple[str | None, int, datetime]


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def some(seed: int) -> tuple[list[Order], list[Rate]]:
    chance = random.Random(seed)

    def currency() -> str | None:
        return chance.choice(["eur", "usd", "yen", None])

    orders = [(number, currency(), at(chance.randrange(60))) for number in range(40)]
    rates = [(currency(), chance.randrange(100), at(chance.randrange(60))) for _ in range(20)]
    return orders, rates


ORDERS, RATES = some(7)
UPSERT_KINDS = [3 if number % 3 == 1 else 2 for number in range(len(RATES))]


def _batch(rows: list[Any], names: list[str]) -> pa.RecordBatch:
    kinds = [pa.int64() if name in ("id", "rate") else pa.string() for name in names[:-1]]
    columns = list(zip(*rows, strict=True))
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=False)]
    return pa.record_batch([*arrays, pa.array(columns[-1], pa.timestamp("ms"))], names)


def orders_source() -> RecordBatchSource:
    return RecordBatchSource(_batch(ORDERS, ["id", "o_currency", "o_ts"]))


def rates_source() -> RecordBatchSource:
    return RecordBatchSource(_batch(RATES, ["currency", "rate", "r_ts"]))


class Upserted(TableFactory):
    """The rates as upserts and deletes by their key."""

    identifier = "upserted-rates"

    def changes(self, table: Any, options: Any) -> frozenset[RowKind]:
        return UPSERTS

    def create_source(self, request: Any, options: Any) -> Any:
        known = [number for number, rate in enumerate(RATES) if rate[0] is not None]
        batch = _batch([RATES[number] for number in known], ["currency", "rate", "r_ts"])
        kinds = pa.array([UPSERT_KINDS[number] for number in known], pa.int8())
        return RecordBatchSource(batch.select(request.columns.names), kinds)


@pytest.fixture(autouse=True)
def in_this_process() -> Iterator[None]:
    with run_local():
        yield


def environment(streaming: bool = True) -> TableEnvironment:
    builder = EnvironmentSettings.new_instance()
    settings = (builder.in_streaming_mode() if streaming else builder.in_batch_mode()).build()
    t_env = TableEnvironment.create(settings)
    register_factory(Upserted())
    late = "INTERVAL '1' MINUTE"
    t_env.execute_sql(
        "CREATE TABLE orders (id BIGINT, o_currency STRING, o_ts TIMESTAMP(3), o_proc AS PROCTIME()"
        f", WATERMARK FOR o_ts AS o_ts - {late}) "
        f"WITH ('connector' = 'python', 'source' = '{__name__}:orders_source')"
    )
    t_env.execute_sql(
        "CREATE TABLE rates (currency STRING, rate BIGINT, r_ts TIMESTAMP(3), r_proc AS PROCTIME()"
        f", WATERMARK FOR r_ts AS r_ts - {late}) "
        f"WITH ('connector' = 'python', 'source' = '{__name__}:rates_source')"
    )
    t_env.execute_sql(
        "CREATE TABLE upserts (currency STRING, rate BIGINT, r_ts TIMESTAMP(3), r_proc AS "
        f"PROCTIME(), PRIMARY KEY (currency) NOT ENFORCED, WATERMARK FOR r_ts AS r_ts - {late}) "
        "WITH ('connector' = 'upserted-rates')"
    )
    t_env.execute_sql(
        "CREATE TEMPORARY VIEW latest AS SELECT currency, rate, r_ts FROM (SELECT *, ROW_NUMBER() "
        "OVER (PARTITION BY currency ORDER BY r_ts DESC) AS n FROM rates) WHERE n = 1"
    )
    return t_env


def history(t_env: TableEnvironment, name: str = "rates") -> TemporalTableFunction:
    table = t_env.from_path(name)
    return table.create_temporal_table_function(col("r_ts"), col("currency"))


def joined(t_env: TableEnvironment, function: Any, time: str = "o_ts") -> Table:
    orders = t_env.from_path("orders")
    table = orders.join_lateral(call(function, col(time)), col("o_currency") == col("currency"))
    return table.select(col("id"), col("rate"))


def rows(table: Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in table.execute().collect())


def expected(orders: list[Order], rates: list[Rate]) -> Counter[tuple[Any, ...]]:
    """Each order with the last rate of its currency that is not after it; of equal times the one
    that comes later."""
    found: Counter[tuple[Any, ...]] = Counter()
    for number, currency, time in orders:
        known = [
            (since, place, rate)
            for place, (of, rate, since) in enumerate(rates)
            if of is not None and of == currency and since <= time
        ]
        if known:
            found[number, max(known)[2]] += 1
    return found


@pytest.mark.parametrize("epoch_records", [3, 100])
def test_of_each_key_the_last_version_at_the_time(epoch_records: int) -> None:
    with run_local(epoch_records=epoch_records):
        t_env = environment()
        found = rows(joined(t_env, history(t_env)))
    assert found == expected(ORDERS, RATES)
    assert len(found) > 15


def test_all_ways_to_call_it_are_one_plan() -> None:
    t_env = environment()
    function = history(t_env)
    t_env.create_temporary_system_function("rate_at", function)
    t_env.create_temporary_function("rate_of", function)
    condition = "o.o_currency = r.currency"
    tables = [
        joined(t_env, function),
        joined(t_env, "rate_at"),
        joined(t_env, "rate_of"),
        t_env.sql_query(
            "SELECT id, rate FROM orders AS o, LATERAL TABLE (Rate_At(o.o_ts)) AS r "
            f"WHERE {condition}"
        ),
        t_env.sql_query(
            f"SELECT o.id, r.rate FROM orders o JOIN LATERAL TABLE (rate_of(o_ts)) r ON {condition}"
        ),
        t_env.sql_query(
            "SELECT id, b FROM orders, LATERAL TABLE (rate_at(o_ts)) AS r(a, b, c, d) "
            "WHERE o_currency = a"
        ),
        t_env.from_path("orders")
        .join_lateral(function.alias("a", "b", "c", "d")(col("o_ts")))
        .where(col("o_currency") == col("a"))
        .select(col("id"), col("b")),
    ]
    plans = {each.explain().partition("== Optimized Execution Plan ==")[2] for each in tables[:5]}
    assert len(plans) == 1
    assert "TemporalJoin(joinType=[InnerJoin], where=[=(o_currency, currency)])" in plans.pop()
    assert all(rows(each) == expected(ORDERS, RATES) for each in tables[3:])


TWIN = (
    "SELECT o.id, r.rate FROM orders AS o JOIN {table} FOR SYSTEM_TIME AS OF o.o_ts AS r "
    "ON o.o_currency = r.currency"
)


@pytest.mark.parametrize(
    ("history_of", "table", "streaming"),
    # batch mode reads no table of upserts
    [("rates", "latest", True), ("rates", "latest", False), ("upserts", "upserts", True)],
)
def test_it_gives_what_system_time_gives(history_of: str, table: str, streaming: bool) -> None:
    with run_local(epoch_records=4):
        t_env = environment(streaming)
        twin = rows(t_env.sql_query(TWIN.format(table=table)))
        assert rows(joined(t_env, history(t_env, history_of))) == twin
        # a view of the last rows and a choice of its columns are histories, too
        if table == "latest":
            assert rows(joined(t_env, history(t_env, "latest"))) == twin
    assert len(twin) > 10


def test_deletes_of_an_upsert_table_end_its_versions() -> None:
    t_env = environment()
    found = rows(joined(t_env, history(t_env, "upserts")))
    wanted: Counter[tuple[Any, ...]] = Counter()
    for number, currency, time in ORDERS:
        known = [
            (since, place)
            for place, (of, _, since) in enumerate(RATES)
            if of is not None and of == currency and since <= time
        ]
        if known and UPSERT_KINDS[max(known)[1]] != 3:
            wanted[number, RATES[max(known)[1]][1]] += 1
    assert found == wanted != expected(ORDERS, RATES)


def test_rows_that_a_history_leaves_out_are_no_versions() -> None:
    t_env = environment()
    table = t_env.from_path("rates").where(col("rate") > 30)
    even = table.select(col("r_ts"), (col("rate") * 2).alias("rate"), col("currency"))
    function = even.create_temporal_table_function("r_ts", "currency")
    found = rows(joined(t_env, function))
    chosen = [(currency, rate * 2, since) for currency, rate, since in RATES if rate > 30]
    assert found == expected(ORDERS, chosen)


def test_in_processing_time_rows_get_what_has_come() -> None:
    with run_local(epoch_records=1):
        t_env = environment()
        table = t_env.from_path("rates").where(col("currency").in_("eur", "usd"))
        function = table.create_temporal_table_function("r_proc", "currency")
        found = list(joined(t_env, function, "o_proc").execute().collect())
    # an epoch has a row of each table, so the order behind the last rate sees the last of its key
    last = {currency: rate for currency, rate, _ in RATES if currency in ("eur", "usd")}
    later = {
        (number, last[currency])
        for number, currency, _ in ORDERS[len(RATES) :]
        if currency in ("eur", "usd")
    }
    assert later <= {tuple(row) for row in found}
    assert {row[0] for row in found if row[0] >= len(RATES)} == {number for number, _ in later}
    values = {(currency, rate) for currency, rate, _ in RATES}
    assert all((ORDERS[row[0]][1], row[1]) in values for row in found)


def test_a_plan_in_a_file_has_its_table(tmp_path: Path, capsys: Any) -> None:
    t_env = environment()
    t_env.execute_sql("CREATE TABLE results (id BIGINT, rate BIGINT) WITH ('connector' = 'print')")
    t_env.create_temporary_system_function("rate_at", history(t_env))
    plan = t_env.compile_plan_sql(
        "INSERT INTO results SELECT id, rate FROM orders AS o, "
        "LATERAL TABLE (rate_at(o.o_ts)) AS r WHERE o.o_currency = r.currency"
    )
    plan.write_to_file(tmp_path / "plan.json")
    later = environment()
    later.execute_sql("CREATE TABLE results (id BIGINT, rate BIGINT) WITH ('connector' = 'print')")
    later.load_plan(PlanReference.from_file(tmp_path / "plan.json")).execute().wait()
    printed = Counter(capsys.readouterr().out.splitlines())
    assert printed == Counter(f"+I[{i}, {rate}]" for i, rate in expected(ORDERS, RATES).elements())


def test_it_says_what_it_is() -> None:
    assert repr(history(environment())).startswith("<TemporalTableFunction of currency at r_ts -> ")


def _by_processing_time(t_env: TableEnvironment) -> TemporalTableFunction:
    return t_env.from_path("rates").create_temporal_table_function("r_proc", "currency")


def _registered(t_env: TableEnvironment) -> TableEnvironment:
    t_env.create_temporary_system_function("rate_at", history(t_env))
    return t_env


CONDITION = col("o_currency") == col("currency")
Attempt = Callable[[TableEnvironment], Any]
REFUSED: dict[str, tuple[Attempt, str]] = {
    "outer join": (
        lambda t: (
            t.from_path("orders")
            .left_outer_join_lateral(history(t)(col("o_ts")), CONDITION)
            .explain()
        ),
        "Temporal table function join currently only support INNER JOIN",
    ),
    "processing time for event time": (
        lambda t: joined(t, history(t), "o_proc").explain(),
        r"Non rowtime timeAttribute \[o_proc\] passed as the argument to TemporalTableFunction",
    ),
    "event time for processing time": (
        lambda t: joined(t, _by_processing_time(t)).explain(),
        r"Non processing timeAttribute \[o_ts\] passed as the argument to TemporalTableFunction",
    ),
    "no time of the left table": (
        lambda t: joined(t, history(t), "id").explain(),
        r"Non rowtime timeAttribute \[id\]",
    ),
    "no time of its own": (
        lambda t: t.from_path("rates").create_temporal_table_function("rate", "currency"),
        "'rate' is not a time attribute",
    ),
    "time that was computed": (
        lambda t: t.sql_query(
            "SELECT currency, r_ts + INTERVAL '1' DAY AS r_ts FROM rates"
        ).create_temporal_table_function("r_ts", "currency"),
        "'r_ts' is not a time attribute",
    ),
    "unknown column": (
        lambda t: t.from_path("rates").create_temporal_table_function("r_ts", "curency"),
        "there is no column 'curency'; did you mean 'currency'",
    ),
    "key that is an expression": (
        lambda t: t.from_path("rates").create_temporal_table_function(
            "r_ts", col("currency").upper_case
        ),
        "takes columns of the table",
    ),
    "no equality of the key": (
        lambda t: t.from_path("orders").join_lateral(history(t)(col("o_ts"))).explain(),
        "currency lacks one",
    ),
    "no argument": (
        lambda t: t.from_path("orders").join_lateral(history(t)(), CONDITION),
        "takes one argument",
    ),
    "constant": (
        lambda t: t.from_path("orders").join_lateral(history(t)(START), CONDITION),
        "its argument is a column of a table before it",
    ),
    "alone": (
        lambda t: _registered(t).sql_query("SELECT * FROM LATERAL TABLE (rate_at(PROCTIME()))"),
        "its argument is a column of a table before it",
    ),
    "in SELECT": (
        lambda t: t.from_path("orders").select(history(t)(col("o_ts"))),
        "is a table function: write LATERAL TABLE",
    ),
    "processing time in batch mode": (
        lambda t: joined(
            batch := environment(False), _by_processing_time(batch), "o_proc"
        ).explain(),
        "rows do not have in batch mode",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    attempt, reason = REFUSED[name]
    with pytest.raises(MillraceError, match=reason) as caught:
        attempt(environment())
    assert isinstance(caught.value, JobDefinitionError)
