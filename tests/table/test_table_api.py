"""The Table API: each program and its twin in SQL have one plan and one result."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError, MillraceError
from millrace.table import DataTypes, Schema, Table, TableDescriptor, TableEnvironment
from millrace.table.expression import JsonOnNull, TimeIntervalUnit, TimePointUnit
from millrace.table.expressions import (
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    UNBOUNDED_ROW,
    and_,
    array,
    call,
    call_sql,
    coalesce,
    col,
    concat_ws,
    if_then_else,
    json,
    json_array,
    json_array_agg,
    json_object,
    json_object_agg,
    json_string,
    lag,
    lit,
    map_,
    null_of,
    range_,
    row,
    row_interval,
    timestamp_diff,
    with_all_columns,
    with_columns,
    without_columns,
)
from millrace.table.table_result import materialized
from millrace.table.udf import FunctionContext, TableFunction, udf, udtf
from millrace.table.window import Over, Session, Slide, Tumble

ORDERS = """CREATE TABLE orders (
    id BIGINT, who STRING, amount BIGINT, ts TIMESTAMP(3), tags ARRAY<STRING>,
    place ROW<city STRING, zip INT>, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
) WITH ('connector' = 'datagen', 'number-of-rows' = '0')"""
PEOPLE = """CREATE TABLE people (name STRING, born DATE, grade INT)
    WITH ('connector' = 'datagen', 'number-of-rows' = '0')"""


@pytest.fixture
def orders(t_env: TableEnvironment) -> Table:
    t_env.execute_sql(ORDERS)
    t_env.execute_sql(PEOPLE)
    return t_env.from_path("orders")


def optimized(text: str) -> str:
    return text.partition("== Optimized Execution Plan ==")[2]


Twin = tuple[Callable[[Table, Table], Table], str]
TWINS: dict[str, Twin] = {
    "select": (
        lambda o, p: o.select(col("id"), (col("amount") * 2 + 1).alias("x"), lit("a").alias("y")),
        "SELECT id, amount * 2 + 1 AS x, 'a' AS y FROM orders",
    ),
    "brackets": (
        lambda o, p: o.select((2 * (o.amount - 1) / -o.id % 3).alias("x")),
        "SELECT 2 * (amount - 1) / -id % 3 AS x FROM orders",
    ),
    "filter": (
        lambda o, p: o.filter((o.amount > 3) & (o.who == "a") & o.id.is_not_null | ~(o.id < 1)),
        "SELECT * FROM orders WHERE amount > 3 AND who = 'a' AND id IS NOT NULL OR NOT (id < 1)",
    ),
    "conditions": (
        lambda o, p: o.where(
            and_(
                o.id.between(1, 5),
                o.who.in_("a", "b"),
                o.who.like("a%"),
                (o.id > 1).is_not_false,
                o.id.not_between(7, 8),
            )
        ),
        "SELECT * FROM orders WHERE id BETWEEN 1 AND 5 AND who IN ('a', 'b') AND who LIKE 'a%' "
        "AND (id > 1) IS NOT FALSE AND NOT (id BETWEEN 7 AND 8)",
    ),
    "in a table": (
        lambda o, p: o.where(o.who.in_(p.select(p.name))).select(o.id),
        "SELECT id FROM orders WHERE who IN (SELECT name FROM people)",
    ),
    "functions": (
        lambda o, p: o.select(
            o.who.upper_case.alias("a"),
            o.who.substring(2, 3).alias("b"),
            o.who.trim("x").alias("c"),
            concat_ws("-", o.who, o.who).alias("d"),
            o.amount.cast(DataTypes.STRING()).alias("e"),
            coalesce(o.who, "none").alias("f"),
            (o.amount > 1).then("more", "less").alias("g"),
            if_then_else(o.id.is_null, 0, o.id).alias("h"),
            call("LPAD", o.who, 5, "*").alias("i"),
            call_sql("id + 1").alias("j"),
            null_of("INT").alias("k"),
            (o.amount**2).alias("l"),
            o.amount.log(2).alias("m"),
        ),
        "SELECT UPPER(who) AS a, SUBSTRING(who, 2, 3) AS b, TRIM(BOTH 'x' FROM who) AS c, "
        "CONCAT_WS('-', who, who) AS d, CAST(amount AS STRING) AS e, COALESCE(who, 'none') AS f, "
        "CASE WHEN amount > 1 THEN 'more' ELSE 'less' END AS g, "
        "CASE WHEN id IS NULL THEN 0 ELSE id END AS h, LPAD(who, 5, '*') AS i, id + 1 AS j, "
        "CAST(NULL AS INT) AS k, POWER(amount, 2) AS l, LOG(2, amount) AS m FROM orders",
    ),
    "times": (
        lambda o, p: o.select(
            o.ts.extract(TimeIntervalUnit.DAY).alias("a"),
            o.ts.floor(TimeIntervalUnit.HOUR).alias("b"),
            (o.ts + lit(3).hours).alias("c"),
            timestamp_diff(TimePointUnit.MINUTE, o.ts, lit(datetime(2024, 1, 1))).alias("d"),
            (o.ts - lit(-2).days).alias("e"),
        ),
        "SELECT EXTRACT(DAY FROM ts) AS a, FLOOR(ts TO HOUR) AS b, ts + INTERVAL '3' HOUR AS c, "
        "TIMESTAMPDIFF(MINUTE, ts, TIMESTAMP '2024-01-01 00:00:00') AS d, "
        "ts - INTERVAL -'2' DAY AS e FROM orders",
    ),
    "collections": (
        lambda o, p: o.select(
            o.tags.at(1).alias("a"),
            o.tags.cardinality.alias("b"),
            o.place.get("city").alias("c"),
            o.place.get(1).alias("d"),
            array(1, 2).alias("e"),
            map_("k", o.id).alias("f"),
            row(o.id, "x").alias("g"),
            o.tags.array_contains("x").alias("h"),
            json_object(JsonOnNull.ABSENT, "k", o.id).alias("i"),
        ),
        "SELECT tags[1] AS a, CARDINALITY(tags) AS b, place.city AS c, place.zip AS d, "
        "ARRAY[1, 2] AS e, MAP['k', id] AS f, ROW(id, 'x') AS g, ARRAY_CONTAINS(tags, 'x') AS h, "
        "JSON_OBJECT(KEY 'k' VALUE id ABSENT ON NULL) AS i FROM orders",
    ),
    "made json": (
        lambda o, p: o.select(
            json_object(JsonOnNull.NULL, "k", o.id, "n", json_array(JsonOnNull.ABSENT, 1, o.who)),
            json_array(JsonOnNull.NULL, o.amount, json("[1]")),
            json_string(o.id),
        ),
        "SELECT JSON_OBJECT(KEY 'k' VALUE id, KEY 'n' VALUE JSON_ARRAY(1, who ABSENT ON NULL) "
        "NULL ON NULL) AS `_c0`, JSON_ARRAY(amount, JSON('[1]') NULL ON NULL) AS `_c1`, "
        "JSON_STRING(id) AS `_c2` FROM orders",
    ),
    "aggregates of json": (
        lambda o, p: o.group_by(o.who).select(
            json_object_agg(JsonOnNull.NULL, o.who, o.id).alias("a"),
            json_array_agg(JsonOnNull.ABSENT, o.id).alias("b"),
        ),
        "SELECT JSON_OBJECTAGG(KEY who VALUE id NULL ON NULL) AS a, "
        "JSON_ARRAYAGG(id ABSENT ON NULL) AS b FROM orders GROUP BY who",
    ),
    "group": (
        lambda o, p: o.group_by(o.who).select(
            o.who, o.amount.sum.alias("s"), o.id.count.distinct.alias("c"), lit(1).count.alias("n")
        ),
        "SELECT who, SUM(amount) AS s, COUNT(DISTINCT id) AS c, COUNT(1) AS n FROM orders "
        "GROUP BY who",
    ),
    "group by an expression": (
        lambda o, p: o.group_by((o.id % 10).alias("k")).select(col("k"), o.amount.max.alias("m")),
        "SELECT id % 10 AS k, MAX(amount) AS m FROM orders GROUP BY id % 10",
    ),
    "all rows": (
        lambda o, p: o.select(o.amount.avg.alias("a"), (o.amount.min + 1).alias("b")),
        "SELECT AVG(amount) AS a, MIN(amount) + 1 AS b FROM orders",
    ),
    "tumble": (
        lambda o, p: (
            o.window(Tumble.over(lit(10).minutes).on(o.ts).alias("w"))
            .group_by(col("w"), o.who)
            .select(
                o.who,
                col("w").start.alias("s"),
                col("w").end.alias("e"),
                col("w").rowtime.alias("r"),
                o.amount.sum.alias("t"),
            )
        ),
        "SELECT who, TUMBLE_START(ts, INTERVAL '10' MINUTE) AS s, "
        "TUMBLE_END(ts, INTERVAL '10' MINUTE) AS e, TUMBLE_ROWTIME(ts, INTERVAL '10' MINUTE) AS r, "
        "SUM(amount) AS t FROM orders GROUP BY TUMBLE(ts, INTERVAL '10' MINUTE), who",
    ),
    "slide": (
        lambda o, p: (
            o.window(Slide.over(lit(1).hour).every(lit(10).minutes).on(o.ts).alias("w"))
            .group_by(col("w"))
            .select(col("w").end.alias("e"), o.id.count.alias("n"))
        ),
        "SELECT HOP_END(ts, INTERVAL '10' MINUTE, INTERVAL '1' HOUR) AS e, COUNT(id) AS n "
        "FROM orders GROUP BY HOP(ts, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)",
    ),
    "session": (
        lambda o, p: (
            o.window(Session.with_gap(lit(30).seconds).on(o.ts).alias("w"))
            .group_by(o.who, col("w"))
            .select(o.who, col("w").start.alias("s"), o.id.count.alias("n"))
        ),
        "SELECT who, SESSION_START(ts, INTERVAL '30' SECOND) AS s, COUNT(id) AS n "
        "FROM orders GROUP BY who, SESSION(ts, INTERVAL '30' SECOND)",
    ),
    "over range": (
        lambda o, p: o.over_window(
            Over.partition_by(o.who).order_by(o.ts).preceding(lit(1).minutes).alias("w")
        ).select(o.id, o.amount.sum.over(col("w")).alias("s"), o.id.count.over("w").alias("c")),
        "SELECT id, SUM(amount) OVER w AS s, COUNT(id) OVER w AS c FROM orders WINDOW w AS "
        "(PARTITION BY who ORDER BY ts "
        "RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW)",
    ),
    "over rows": (
        lambda o, p: o.over_window(
            Over.order_by(o.ts).preceding(row_interval(2)).following(CURRENT_ROW).alias("w")
        ).select(o.amount.avg.over(col("w")).alias("s")),
        "SELECT AVG(amount) OVER (ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s "
        "FROM orders",
    ),
    "over all before": (
        lambda o, p: o.over_window(
            Over.partition_by(o.who).order_by(o.ts).preceding(UNBOUNDED_RANGE).alias("w"),
            Over.partition_by(o.id).order_by(o.ts).preceding(UNBOUNDED_ROW).alias("v"),
        ).select(o.amount.sum.over(col("w")).alias("s"), lag(o.id, 2).over(col("v")).alias("l")),
        "SELECT SUM(amount) OVER (PARTITION BY who ORDER BY ts) AS s, "
        "LAG(id, 2) OVER (PARTITION BY id ORDER BY ts) AS l FROM orders",
    ),
    "join": (
        lambda o, p: o.join(p, (o.who == p.name) & (p.grade > 1)).select(o.id, p.born),
        "SELECT id, born FROM orders JOIN people ON who = name AND grade > 1",
    ),
    "join and where": (
        lambda o, p: o.join(p).where(o.who == p.name).select(o.id, p.born),
        "SELECT id, born FROM orders, people WHERE who = name",
    ),
    "left join": (
        lambda o, p: o.left_outer_join(p, o.who == p.name),
        "SELECT * FROM orders LEFT JOIN people ON who = name",
    ),
    "right join": (
        lambda o, p: o.right_outer_join(p, o.who == p.name),
        "SELECT * FROM orders RIGHT JOIN people ON who = name",
    ),
    "full join": (
        lambda o, p: o.full_outer_join(p, o.who == p.name),
        "SELECT * FROM orders FULL JOIN people ON who = name",
    ),
    "unnest": (
        lambda o, p: o.join_lateral(call("UNNEST", o.tags).alias("tag")).select(o.id, col("tag")),
        "SELECT id, tag FROM orders CROSS JOIN UNNEST(tags) AS t (tag)",
    ),
    "left unnest": (
        lambda o, p: o.left_outer_join_lateral(call("UNNEST", o.tags).alias("tag")).select(
            o.id, col("tag")
        ),
        "SELECT id, tag FROM orders LEFT JOIN UNNEST(tags) AS t (tag) ON TRUE",
    ),
    "union all": (
        lambda o, p: o.select(o.who).union_all(p.select(p.name)),
        "SELECT who FROM orders UNION ALL SELECT name FROM people",
    ),
    "union": (
        lambda o, p: o.select(o.who).union(p.select(p.name)),
        "SELECT who FROM orders UNION SELECT name FROM people",
    ),
    "intersect": (
        lambda o, p: o.select(o.who).intersect(p.select(p.name)),
        "SELECT who FROM orders INTERSECT SELECT name FROM people",
    ),
    "minus": (
        lambda o, p: o.select(o.who).minus_all(p.select(p.name)),
        "SELECT who FROM orders EXCEPT ALL SELECT name FROM people",
    ),
    "distinct": (
        lambda o, p: o.select(o.who, o.id).distinct(),
        "SELECT DISTINCT who, id FROM orders",
    ),
    "order and fetch": (
        lambda o, p: o.select(o.id, o.who).order_by(o.who.desc, o.id).limit(3, 1),
        "SELECT id, who FROM orders ORDER BY who DESC, id LIMIT 3 OFFSET 1",
    ),
    "add columns": (
        lambda o, p: p.add_columns((p.grade + 1).alias("ahead")),
        "SELECT name, born, grade, grade + 1 AS ahead FROM people",
    ),
    "replace columns": (
        lambda o, p: p.add_or_replace_columns((p.grade + 1).alias("grade"), lit(1).alias("uno")),
        "SELECT name, born, grade + 1 AS grade, 1 AS uno FROM people",
    ),
    "rename and drop": (
        lambda o, p: p.rename_columns(p.name.alias("who")).drop_columns(p.born),
        "SELECT name AS who, grade FROM people",
    ),
    "alias": (
        lambda o, p: p.alias("a", "b"),
        "SELECT name AS a, born AS b, grade FROM people",
    ),
    "ranges": (
        lambda o, p: o.select(with_columns(range_("who", "ts"), 1), lit(1).alias("uno")),
        "SELECT who, amount, ts, id, 1 AS uno FROM orders",
    ),
    "without columns": (
        lambda o, p: p.select(without_columns("born")),
        "SELECT name, grade FROM people",
    ),
    "all columns": (
        lambda o, p: p.select(with_all_columns(), (p.grade + 1).alias("x")),
        "SELECT *, grade + 1 AS x FROM people",
    ),
    "columns as arguments": (
        lambda o, p: o.select(call("COALESCE", with_columns("id", "amount")).alias("x")),
        "SELECT COALESCE(id, amount) AS x FROM orders",
    ),
    "flatten": (
        lambda o, p: o.select(o.id, o.place.flatten),
        "SELECT id, o.place.city AS place$city, o.place.zip AS place$zip FROM orders o",
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_one_plan(orders: Table, t_env: TableEnvironment, name: str) -> None:
    program, query = TWINS[name]
    made, twin = program(orders, t_env.from_path("people")), t_env.sql_query(query)
    assert made.get_schema() == twin.get_schema()
    assert optimized(made.explain()) == optimized(twin.explain())


def rows(table: Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(each) for each in table.execute().collect())


def test_names_of_columns_without_a_name(orders: Table) -> None:
    """As Flink gives them: _c and the position, EXPR$ and the number of the aggregate."""
    plain = orders.select(orders.id, orders.id + 1, orders.place.get("city"))
    assert plain.get_schema().get_field_names() == ["id", "_c1", "city"]
    totals = orders.group_by(orders.who).select(
        orders.who, orders.id.count, orders.id.count + 1, orders.amount.sum
    )
    assert totals.get_schema().get_field_names() == ["who", "EXPR$0", "_c2", "EXPR$1"]


def test_expressions_can_be_used_again(batch_env: TableEnvironment) -> None:
    """What one query does to an expression, no other one sees."""
    table = batch_env.from_elements([(1, 2), (3, 4)], ["a", "b"])
    chosen, total = with_columns(range_("a", "b")), (col("a") + col("b")).alias("c")
    first, second = table.select(chosen, total), table.rename_columns(col("b").alias("z"))
    assert rows(first) == [(1, 2, 3), (3, 4, 7)]
    assert second.select(with_columns(range_(1, 2))).get_schema().get_field_names() == ["a", "z"]
    assert rows(table.select(total)) == [(3,), (7,)]
    window = Tumble.over(lit(1).hours).on(col("t")).alias("w")
    assert window.call == Tumble.over(lit(1).hours).on(col("t")).alias("w").call


def test_a_table_in_the_text_of_a_query(batch_env: TableEnvironment) -> None:
    table = batch_env.from_elements([(1,), (2,)], ["a"]).where(col("a") > 1)
    assert rows(batch_env.sql_query(f"SELECT a * 2 FROM {table}")) == [(4,)]


def test_map_gets_rows(batch_env: TableEnvironment) -> None:
    """With the names of the columns; rows become columns, other values one."""
    table = batch_env.from_elements([(1, "a")], ["n", "s"])

    @udf(
        result_type=DataTypes.ROW([DataTypes.FIELD("x", "BIGINT"), DataTypes.FIELD("y", "STRING")])
    )
    def both(line: Any) -> tuple[int, str]:
        return line.n + 1, line.s * 2

    longer = udf(lambda n: n + 10, result_type="BIGINT")
    assert table.map(both).get_schema().get_field_names() == ["x", "y"]
    assert rows(table.map(both)) == [(2, "aa")]
    assert rows(table.map(longer(col("n")))) == [(11,)]
    assert rows(table.select(longer(col("n")), longer(longer(5)))) == [(11, 25)]


def test_a_function_of_map_is_called_once_a_row(
    batch_env: TableEnvironment, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"

    @udf(result_type="ROW<x BIGINT, y BIGINT>")
    def counted(n: int) -> tuple[int, int]:
        with calls.open("a") as file:
            file.write(f"{n}\n")
        return n, n

    assert rows(batch_env.from_elements([(1,), (2,)], ["n"]).map(counted(col("n")))) == [
        (1, 1),
        (2, 2),
    ]
    assert calls.read_text().split() == ["1", "2"]


def test_rows_are_written_into_a_descriptor(batch_env: TableEnvironment, tmp_path: Path) -> None:
    schema = Schema.new_builder().column("a", DataTypes.BIGINT()).build()
    target = (
        TableDescriptor.for_connector("filesystem")
        .schema(schema)
        .option("path", str(tmp_path))
        .format("csv")
        .build()
    )
    table = batch_env.from_elements([(1,), (2,)], ["a"])
    table.execute_insert(target).wait()
    pipeline = table.insert_into(target)
    assert "Sink" in pipeline.explain()
    pipeline.execute().wait()
    statements = batch_env.create_statement_set().add_insert(target, table)
    statements.execute().wait()
    assert rows(batch_env.from_descriptor(target)) == [(1,), (1,), (1,), (2,), (2,), (2,)]


def test_a_descriptor_without_columns_has_those_of_the_rows(
    batch_env: TableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    table = batch_env.from_elements([(1, "a")], ["id", "name"])
    builder = TableDescriptor.for_connector("print")
    table.execute_insert(builder.build()).wait()
    key = Schema.new_builder().primary_key("id").build()
    keyed = builder.schema(key).build()
    batch_env.create_statement_set().add_insert(keyed, table).execute().wait()
    assert capsys.readouterr().out == "+I[1, a]\n+I[1, a]\n"
    assert table.insert_into(keyed).sink.table.primary_key == ("id",)
    no_such_key = builder.schema(Schema.new_builder().primary_key("no").build()).build()
    with pytest.raises(JobDefinitionError, match="the primary key names no"):
        table.insert_into(no_such_key)
    with pytest.raises(JobDefinitionError, match="a table needs a schema"):
        batch_env.from_descriptor(TableDescriptor.for_connector("print").build())


def test_constants(batch_env: TableEnvironment) -> None:
    values = [
        *(None, True, -3, 3_000_000_000, 1.5, float("inf"), Decimal("12.50"), "it's", b"\x01"),
        *(
            datetime(2024, 1, 31, 10, 20, 30, 120000),
            datetime(2024, 1, 31).date(),
            [1, 2],
            {"a": 1},
        ),
    ]
    one = batch_env.from_elements([(1,)], ["n"])
    fields = [lit(value).alias(f"v{i}") for i, value in enumerate(values)]
    [found] = one.select(*fields).execute().collect()
    assert list(found) == values
    kinds = one.select(*fields).get_schema().row_type.fields
    assert [str(kinds[i].type) for i in (2, 3, 4, 6, 7)] == [
        *("INT NOT NULL", "BIGINT NOT NULL", "DOUBLE NOT NULL", "DECIMAL(4, 2) NOT NULL"),
        "CHAR(4) NOT NULL",
    ]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda o, p: o.select(col("amuont")), "column 'amuont'.*did you mean 'amount'"),
        (lambda o, p: o.select(o.id, o.id), "two columns would have the name 'id'.*alias"),
        (lambda o, p: o.select(with_columns("idd")), "no column 'idd'.*did you mean 'id'"),
        (lambda o, p: o.select(with_columns(range_("ts", "id"))), "'ts' comes after 'id'"),
        (lambda o, p: o.select(with_columns(9)), "no column 9: positions"),
        (lambda o, p: o.select(range_(1, 2)), "inside with_columns"),
        (lambda o, p: o.join(o), "both tables of the join have columns 'id'.*rename_columns"),
        (lambda o, p: o.add_columns(lit(1).alias("id")), "a column 'id' already.*add_or_replace"),
        (lambda o, p: o.drop_columns(col("nothing")), "column 'nothing'"),
        (lambda o, p: p.drop_columns(with_all_columns()), "only columns|no column"),
        (lambda o, p: o.rename_columns(col("id")), r"col\('old'\).alias\('new'\)"),
        (lambda o, p: p.alias("a", "b", "c", "d"), "has 4 names, but there are 3"),
        (lambda o, p: o.where(o.id), "condition of type BOOLEAN"),
        (lambda o, p: o.where((o.id > 1) and (o.id < 3)), "write & for and"),
        (lambda o, p: o.select(o.place.get("town")), "no field 'town'"),
        (lambda o, p: o.select(o.place.get(7)), "no field 7"),
        (lambda o, p: o.select(col("w").start), "no window called 'w'|is not allowed"),
        (
            lambda o, p: (
                o.window(Tumble.over(lit(1).hours).on(o.ts).alias("w"))
                .group_by(o.who)
                .select(o.who)
            ),
            "group_by.. needs the window",
        ),
        (lambda o, p: Tumble.over(row_interval(0)).on(o.ts).alias("w"), "at least one row"),
        (lambda o, p: Session.with_gap(row_interval(3)).on(o.ts).alias("w"), "gap of a session"),
        (
            lambda o, p: Slide.over(row_interval(3)).every(lit(1).hours).on(o.ts).alias("w"),
            "its slide are row_interval",
        ),
        (
            lambda o, p: (
                o.window(Tumble.over(row_interval(3)).on(o.ts).alias("w"))
                .group_by(col("w"))
                .select(o.id.count)
            ),
            "Event-time grouping windows on row intervals are currently not supported",
        ),
        (lambda o, p: o.select(o.who.sum.over("w")), "no window called 'w'|SUM does not take"),
        (lambda o, p: o.fetch(-1), "whole number from 0"),
        (lambda o, p: o.select(lit(object())), "cannot be a constant"),
        (lambda o, p: o.select(o.id.distinct), "not a call of an aggregate"),
        (lambda o, p: o.select(call("NO_SUCH", o.id)), "no function called 'NO_SUCH'"),
        (lambda o, p: o.union_all(p), "6 and 3 columns"),
        (lambda o, p: o.select(lit(datetime(2024, 1, 1, tzinfo=UTC))), "time zone"),
        (lambda o, p: o.select("id"), r"not the text 'id': col\('id'\) is a column"),
        (lambda o, p: o.where("id > 1"), r"call_sql\('id > 1'\)"),
        (lambda o, p: o.group_by("who").select(col("who")), "not the text 'who'"),
        (lambda o, p: o.window(Tumble.over(lit(1).hours).on(o.ts)), r"window.*\.alias\('w'\)"),
        (lambda o, p: o.over_window(Over.order_by(o.ts)), r"over_window.*\.alias\('w'\)"),
    ],
)
def test_errors_say_what_to_do(
    orders: Table, t_env: TableEnvironment, wrong: Callable[[Table, Table], Any], words: str
) -> None:
    with pytest.raises(JobDefinitionError, match=f"(?s){words}"):
        wrong(orders, t_env.from_path("people"))


def test_what_python_looks_for_is_no_column(orders: Table) -> None:
    """Copying, pickling and notebooks ask for names with underscores."""
    assert not hasattr(orders, "_repr_latex_")
    assert not hasattr(col("a"), "__wrapped__")
    assert not hasattr(orders, "no_such_method")
    assert copy.copy(orders).node is orders.node
    with pytest.raises(AttributeError, match=r"no method amuont.*did you mean 'amount'"):
        _ = orders.amuont
    with pytest.raises(TypeError, match="no rows before its query runs"):
        list(orders)
    with pytest.raises(TypeError, match="no elements"):
        list(col("a"))  # type: ignore[call-overload]


@udtf(result_types=["STRING", "BIGINT"])
def words(line: Any) -> Iterator[tuple[str, int]]:
    """Words and their lengths."""
    for word in (line if isinstance(line, str) else line.line).split():
        yield word, len(word)


class Series(TableFunction):
    """The numbers below one, from what a parameter says on."""

    def open(self, function_context: FunctionContext) -> None:
        self.first = int(function_context.get_job_parameter("first", "1"))

    def eval(self, end: int) -> list[int] | None:
        return list(range(self.first, end)) if end else None


LINES = [("to be", 1), ("", 2), ("or not", 3)]


def test_table_functions(batch_env: TableEnvironment) -> None:
    lines = batch_env.from_elements(LINES, ["line", "n"])
    joined = lines.join_lateral(words(col("line")).alias("word", "length"))
    assert joined.get_schema().get_field_names() == ["line", "n", "word", "length"]
    assert rows(joined.select(joined.n, joined.word)) == [
        (1, "be"),
        (1, "to"),
        (3, "not"),
        (3, "or"),
    ]
    padded = lines.left_outer_join_lateral(words.alias("word", "length")).where(col("n") < 3)
    found = padded.select(padded.n, padded.length).execute().collect()
    assert sorted(map(str, found)) == [
        "Row(n=1, length=2)",
        "Row(n=1, length=2)",
        "Row(n=2, length=None)",
    ]
    assert rows(lines.flat_map(words)) == [("be", 2), ("not", 3), ("or", 2), ("to", 2)]
    assert lines.flat_map(words).get_schema().get_field_names() == ["f0", "f1"]
    named = lines.flat_map(words(col("line")).alias("line", "n"))
    assert rows(named.group_by(named.n).select(named.n, lit(1).count)) == [(2, 3), (3, 1)]


def test_table_functions_in_sql(batch_env: TableEnvironment) -> None:
    batch_env.get_config().set("pipeline.global-job-parameters", "first:2")
    series = udtf(Series(), result_types=DataTypes.ROW([DataTypes.FIELD("m", DataTypes.BIGINT())]))
    batch_env.create_temporary_function("series", series)
    batch_env.create_temporary_view("t", batch_env.from_elements([(4,), (0,), (2,)], ["n"]))
    query = "SELECT n, m FROM t {} JOIN LATERAL TABLE(series(n)) ON TRUE"
    assert rows(batch_env.sql_query(query.format(""))) == [(4, 2), (4, 3)]
    with_nulls = batch_env.sql_query(query.format("LEFT")).execute().collect()
    assert {tuple(row) for row in with_nulls} == {(4, 2), (4, 3), (0, None), (2, None)}
    aliased = "SELECT x + 1 FROM t, LATERAL TABLE(series(n)) AS s (x) WHERE x > 2"
    assert rows(batch_env.sql_query(aliased)) == [(4,)]


def test_table_functions_follow_changes(t_env: TableEnvironment) -> None:
    """What is taken back is taken back for each row of the function."""
    counts = t_env.sql_query("SELECT COUNT(*) AS n FROM (VALUES 1, 2, 3) AS v (x)")
    series = udtf(Series(), result_types=["BIGINT"])
    found = t_env.sql_query(
        f"SELECT SUM(m) FROM {counts.flat_map(series(col('n') + 1)).alias('m')}"
    )
    assert [tuple(row) for row in materialized(found.execute().collect())] == [(6,)]


@pytest.mark.parametrize(
    ("wrong", "words_of_error"),
    [
        (lambda t: t.join_lateral(words(col("line")).alias("n", "m")), "both have columns 'n'"),
        (
            lambda t: t.join_lateral(words(col("line")).alias("a")),
            "names 1 columns, but the table has 2",
        ),
        (lambda t: t.select(words(col("line"))), "words is a table function"),
        (lambda t: t.join_lateral(col("line")), "takes a call of a table function"),
        (lambda t: t.flat_map(call("UPPER", col("line"))), "UPPER is not a table function"),
        (lambda t: udtf(lambda x: x), "udtf.. needs the result_types"),
        (lambda t: udtf(Series, result_types=["INT"]), r"write Series\(\)"),
        (
            lambda t: t.flat_map(words(col("line"), 2)),
            r"(?s)not take .STRING, INT NOT NULL.*words.line",
        ),
    ],
)
def test_wrong_table_functions(
    t_env: TableEnvironment, wrong: Callable[[Table], Any], words_of_error: str
) -> None:
    with pytest.raises(JobDefinitionError, match=words_of_error):
        wrong(t_env.from_elements(LINES, ["line", "n"]))


@pytest.mark.parametrize(
    ("function", "words_of_error"),
    [
        (lambda line: [line], "wrong gave .*, which has 1 value for 2 columns"),
        (lambda line: 5, r"gave \(5,\), which has 1 value for 2 columns; its result_types are"),
        (lambda line: [(line, line)], "gave 'to be', of the type str, in the column f1"),
    ],
)
def test_rows_that_are_not_of_the_declared_types(
    batch_env: TableEnvironment, function: Any, words_of_error: str
) -> None:
    wrong = udtf(function, result_types=["STRING", "INT"], name="wrong")
    with pytest.raises(MillraceError, match=words_of_error) as failed:
        rows(batch_env.from_elements([("to be",)], ["line"]).flat_map(wrong(col("line"))))
    assert "Traceback" not in str(failed.value)


def test_rows_of_an_iterator(batch_env: TableEnvironment) -> None:
    split = udtf(lambda line: map(str.upper, line.split()), result_types=["STRING"])
    found = batch_env.from_elements([("to be",)], ["line"]).flat_map(split(col("line")))
    assert rows(found) == [("BE",), ("TO",)]


def test_a_table_function_that_fails(batch_env: TableEnvironment) -> None:
    """The user's traceback comes first, with the row's arguments."""

    @udtf(result_types=["INT"])
    def broken(n: int) -> Iterator[int]:
        yield 1 // n

    failing = batch_env.from_elements([(1,), (0,)], ["n"]).flat_map(broken(col("n")))
    with pytest.raises(MillraceError, match=r"(?s)ZeroDivisionError.*for the arguments \(0\)"):
        rows(failing)

    @udtf(result_types=["INT", "INT"])
    def narrow(n: int) -> Iterator[int]:
        yield n

    with pytest.raises(MillraceError, match="narrow gave"):
        rows(batch_env.from_elements([(1,)], ["n"]).flat_map(narrow(col("n"))))


def counted(t_env: TableEnvironment) -> Table:
    """Rows with processing time."""
    values = "('a', 1), ('b', 2), ('a', 3), ('a', 4), ('b', 5), ('a', 6), ('a', 7)"
    return t_env.sql_query(f"SELECT k, n, PROCTIME() AS p FROM (VALUES {values}) AS t(k, n)")


@pytest.mark.parametrize("mode", ["t_env", "batch_env"])
def test_windows_of_a_number_of_rows(request: pytest.FixtureRequest, mode: str) -> None:
    """What lacks rows at the end is not given."""
    table = counted(request.getfixturevalue(mode))
    w, k, n = col("w"), col("k"), col("n")
    tumbling = table.window(Tumble.over(row_interval(2)).on(col("p")).alias("w"))
    found = rows(tumbling.group_by(w, k).select(k, n.sum.alias("s"), (n.max - n.min).alias("d")))
    assert sorted(found) == [("a", 4, 2), ("a", 10, 2), ("b", 7, 3)]
    sliding = Slide.over(row_interval(3)).every(row_interval(2)).on(col("p")).alias("w")
    assert rows(table.window(sliding).group_by(w).select(n.sum.alias("s"))) == [(6,), (12,), (18,)]
    with pytest.raises(JobDefinitionError, match="not available for Count windows"):
        tumbling.group_by(w).select(w.start, n.sum)
    with pytest.raises(JobDefinitionError, match="needs the window"):
        tumbling.group_by(k).select(n.sum)
