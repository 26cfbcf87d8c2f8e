"""Aggregate functions of users: `udaf` and `udtaf`, in groups, windows and OVER."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from drawn import job_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common import Row
from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.table import (
    AggregateFunction,
    EnvironmentSettings,
    FunctionContext,
    ListView,
    MapView,
    Table,
    TableAggregateFunction,
    TableEnvironment,
)
from millrace.table.expressions import UNBOUNDED_RANGE, call, col, lit, row_interval
from millrace.table.udf import udaf, udtaf
from millrace.table.window import Over, Session, Slide, Tumble
from millrace.testing import run_local


class WeightedAverage(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        value, weight = (*args, 1)[:2]
        accumulator[0] += value * weight
        accumulator[1] += weight

    def get_value(self, accumulator: list[int]) -> float | None:
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def get_result_type(self) -> str:
        return "DOUBLE"


class Retracting(WeightedAverage):
    def retract(self, accumulator: list[int], *args: Any) -> None:
        value, weight = (*args, 1)[:2]
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def merge(self, accumulator: list[int], accumulators: Any) -> None:
        for other in accumulators:
            accumulator[0] += other[0]
            accumulator[1] += other[1]


class Range(AggregateFunction):
    """Gives a row; its accumulator is one, too."""

    def create_accumulator(self) -> Row:
        return Row(None, None)

    def accumulate(self, accumulator: Row, value: Any) -> None:
        value = value.v if isinstance(value, Row) else value
        low, high = accumulator
        accumulator[0] = value if low is None else min(low, value)
        accumulator[1] = value if high is None else max(high, value)

    def get_value(self, accumulator: Row) -> Row:
        return Row(*accumulator)


class Top2(TableAggregateFunction):
    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], value: Any) -> None:
        accumulator.append(value.v if isinstance(value, Row) else value)
        accumulator.sort(reverse=True)

    def retract(self, accumulator: list[int], value: int) -> None:
        accumulator.remove(value)

    def emit_value(self, accumulator: list[int]) -> Iterator[tuple[int, int]]:
        for place, value in enumerate(accumulator[:2]):
            yield value, place

    def get_result_type(self) -> str:
        return "ROW<value_ BIGINT, place BIGINT>"


average = udaf(WeightedAverage())
retracting = udaf(Retracting())
limits = udaf(Range(), result_type="ROW<low BIGINT, high BIGINT>")
top2 = udtaf(Top2())
mean = udaf(lambda values: values.mean(), result_type="DOUBLE", func_type="pandas", name="mean")
ROWS = [("a", 1, 2), ("b", 5, 1), ("a", 4, 3), ("c", 7, 0), ("b", 1, 1), ("a", 9, 1)]


def rows(table: Table) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, table.execute().collect()), key=repr)


@pytest.fixture
def table(batch_env: TableEnvironment) -> Table:
    made = batch_env.from_elements(ROWS, ["k", "v", "w"])
    batch_env.create_temporary_view("t", made)
    batch_env.create_temporary_function("average", average)
    batch_env.create_temporary_function("retracting", retracting)
    batch_env.create_temporary_function("mean", mean)
    batch_env.create_temporary_function("limits", limits)
    return made


def test_groups(table: Table) -> None:
    found = table.group_by(col("k")).select(col("k"), average(col("v"), col("w")), mean(col("v")))
    assert rows(found) == [("a", 23 / 6, 14 / 3), ("b", 3.0, 3.0), ("c", None, 7.0)]


def test_sql(table: Table, batch_env: TableEnvironment) -> None:
    found = batch_env.sql_query(
        "SELECT k, average(v, w), average(DISTINCT w), mean(v) FILTER (WHERE w < 3) FROM t"
        " GROUP BY k HAVING average(v) > 3"
    )
    assert rows(found) == [("a", 23 / 6, 2.0, 5.0), ("c", None, 0.0, 7.0)]


TWINS: dict[str, tuple[Callable[[Table], Table], str]] = {
    "group": (
        lambda t: t.group_by(t.k).select(t.k, call("average", t.v, t.w).alias("x")),
        "SELECT k, average(v, w) AS x FROM t GROUP BY k",
    ),
    "all": (
        lambda t: t.select(call("mean", t.v).alias("x")),
        "SELECT mean(v) AS x FROM t",
    ),
    "aggregate": (
        lambda t: (
            t.group_by(t.k).aggregate(call("limits", t.v).alias("l", "h")).select(t.k, col("h"))
        ),
        "SELECT k, x.high AS h FROM (SELECT k, limits(v) AS x FROM t GROUP BY k)",
    ),
}


def optimized(text: str) -> str:
    return text.partition("== Optimized Execution Plan ==")[2]


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_one_plan(table: Table, batch_env: TableEnvironment, name: str) -> None:
    program, query = TWINS[name]
    made, twin = program(table), batch_env.sql_query(query)
    assert made.get_schema() == twin.get_schema()
    assert optimized(made.explain()) == optimized(twin.explain())


def test_rows_of_a_function_become_columns(table: Table) -> None:
    by_key = table.group_by(col("k"))
    found = by_key.aggregate(limits(col("v")).alias("l", "h")).select(col("k"), col("h") - col("l"))
    assert rows(found) == [("a", 8), ("b", 4), ("c", 0)]
    everything = by_key.aggregate(limits.alias("l", "h")).select(col("*"))
    assert rows(everything) == [("a", 1, 9), ("b", 1, 5), ("c", 7, 7)]
    assert rows(table.aggregate(limits(col("v"))).select(col("high"))) == [(9,)]
    assert rows(table.aggregate(average(col("v"))).select(col("f0"))) == [(4.5,)]


def test_rows_of_a_table_function(table: Table) -> None:
    by_key = table.group_by(col("k"))
    found = by_key.flat_aggregate(top2(col("v")).alias("x", "n")).select(col("k"), col("x") * 10)
    assert rows(found) == [("a", 40), ("a", 90), ("b", 10), ("b", 50), ("c", 70)]
    assert rows(table.flat_aggregate(top2).select(col("value_"), col("place"))) == [(7, 1), (9, 0)]
    assert rows(table.filter(col("v") > 99).flat_aggregate(top2(col("v"))).select(col("*"))) == []


CHANGES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-5, 5)), min_size=1, max_size=30)


@settings(max_examples=job_examples(8), deadline=None)
@given(pairs=CHANGES, epoch=st.integers(1, 8))
def test_a_stream_with_retractions(pairs: list[tuple[str, int]], epoch: int) -> None:
    """Only the newest value of each key counts: what is aggregated comes and goes."""
    with run_local(epoch_records=epoch):
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        t_env.create_temporary_view("t", t_env.from_elements(pairs, ["k", "v"]))
        newest = t_env.sql_query("SELECT k, LAST_VALUE(v) AS v FROM t GROUP BY k")
        signs = newest.select((col("v") > 0).alias("positive"), col("v"))
        grouped = signs.group_by(col("positive"))
        averages = grouped.select(col("positive"), retracting(col("v")).alias("x")).to_pandas()
        tops = grouped.flat_aggregate(top2(col("v"))).select(col("positive"), col("value_"))
        found = tops.to_pandas()
    held = dict(pairs)
    for positive in (True, False):
        values = sorted((v for v in held.values() if (v > 0) is positive), reverse=True)
        expected = [sum(values) / len(values)] if values else []
        assert list(averages[averages.positive == positive].x) == expected
        assert sorted(found[found.positive == positive].value_, reverse=True) == values[:2]


def test_a_function_that_cannot_take_rows_back() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made = t_env.from_elements([("a", 1)], ["k", "v"])
    counts = made.group_by(col("k")).select(col("v").sum.alias("n"))
    with pytest.raises(JobDefinitionError, match=r"WeightedAverage needs a method retract"):
        counts.select(average(col("n"))).execute()


MOMENTS = [("a", 1, 5), ("b", 4, 8), ("a", 3, 20), ("a", 5, 50), ("b", 2, 61), ("b", 8, 64)]
"""Keys, values, and seconds after ten o'clock."""


@pytest.fixture(params=["streaming", "batch"])
def readings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Table]:
    """Rows with event time."""
    lines = (
        json.dumps({"k": k, "v": v, "ts": f"2024-01-01 10:{s // 60:02}:{s % 60:02}"})
        for k, v, s in MOMENTS
    )
    (tmp_path / "readings.json").write_text("\n".join(lines))
    settings = getattr(EnvironmentSettings, f"in_{request.param}_mode")()
    with run_local(epoch_records=2):
        t_env = TableEnvironment.create(settings)
        t_env.execute_sql(
            "CREATE TABLE readings (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH"
            f" ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json')"
        )
        yield t_env.from_path("readings")


@pytest.mark.turns(5)
@pytest.mark.parametrize("function", [average, retracting, mean], ids=["plain", "merging", "mean"])
@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Tumble.over(lit(1).minutes), [("a", 3.0), ("b", 4.0), ("b", 5.0)]),
        (
            Slide.over(lit(1).minutes).every(lit(30).seconds),
            [("a", 2.0), ("a", 3.0), ("a", 5.0), ("b", 4.0), ("b", 4.0), ("b", 5.0), ("b", 5.0)],
        ),
        (
            Session.with_gap(lit(20).seconds),
            [("a", 2.0), ("a", 5.0), ("b", 4.0), ("b", 5.0)],
        ),
    ],
    ids=["tumble", "slide", "session"],
)
def test_windows(readings: Table, function: Any, window: Any, expected: Any) -> None:
    grouped = readings.window(window.on(col("ts")).alias("w")).group_by(col("w"), col("k"))
    assert rows(grouped.select(col("k"), function(col("v")))) == expected
    aggregated = grouped.aggregate(function(col("v")).alias("x"))
    assert rows(aggregated.select(col("k"), col("x"))) == expected


def test_rows_of_windows(readings: Table) -> None:
    window = Tumble.over(lit(1).minutes).on(col("ts")).alias("w")
    tops = readings.window(window).group_by(col("w"), col("k")).flat_aggregate(top2(col("v")))
    found = tops.select(col("k"), col("w").start, col("value_"), (col("place") + 1).alias("p"))
    assert found.get_schema().get_field_names() == ["k", "EXPR$0", "value_", "p"]
    first, second = datetime(2024, 1, 1, 10), datetime(2024, 1, 1, 10, 1)
    assert rows(found) == [
        ("a", first, 3, 2),
        ("a", first, 5, 1),
        ("b", first, 4, 1),
        ("b", second, 2, 2),
        ("b", second, 8, 1),
    ]


@pytest.mark.turns(5)
@pytest.mark.parametrize("function", [average, retracting, mean], ids=["plain", "merging", "mean"])
def test_over(readings: Table, function: Any) -> None:
    partition = Over.partition_by(col("k")).order_by(col("ts"))
    so_far = partition.preceding(UNBOUNDED_RANGE).alias("w")
    found = readings.over_window(so_far).select(col("v"), function(col("v")).over(col("w")))
    assert rows(found) == [(1, 1.0), (2, 3.0), (3, 2.0), (4, 4.0), (5, 3.0), (8, 14 / 3)]
    last_two = partition.preceding(row_interval(1)).alias("w")
    found = readings.over_window(last_two).select(col("v"), function(col("v")).over(col("w")))
    assert rows(found) == [(1, 1.0), (2, 3.0), (3, 2.0), (4, 4.0), (5, 4.0), (8, 5.0)]


class Words(AggregateFunction):
    """With views in its accumulator."""

    def open(self, function_context: FunctionContext) -> None:
        self.separator = function_context.get_job_parameter("separator", "-")

    def create_accumulator(self) -> Row:
        return Row(ListView(), MapView())

    def accumulate(self, accumulator: Row, word: str | None) -> None:
        words, counts = accumulator
        words.add(word)
        counts[word] = counts[word] + 1 if counts.contains(word) else 1

    def get_value(self, accumulator: Row) -> str:
        words, counts = accumulator
        most = max(counts.items(), key=lambda pair: pair[1])[0]
        return self.separator.join([f"<{most}>", *map(str, words)])


@pytest.mark.parametrize("epoch", [1, 2, 9])
def test_views_and_parameters(epoch: int) -> None:
    configuration = Configuration()
    configuration.set_string("pipeline.global-job-parameters", "separator:+")
    builder = EnvironmentSettings.new_instance().with_configuration(configuration)
    with run_local(epoch_records=epoch):
        t_env = TableEnvironment.create(builder.in_streaming_mode().build())
        words = t_env.from_elements([("x",), ("y",), ("y",), (None,)], ["word"])
        joined = words.select(udaf(Words(), result_type="STRING")(col("word")).alias("all"))
        assert list(joined.to_pandas()["all"]) == ["<y>+x+y+y+None"]


def test_wrong_declarations(table: Table) -> None:
    with pytest.raises(JobDefinitionError, match=r"udaf\(\) needs the result_type"):
        udaf(lambda values: values.sum(), func_type="pandas")
    with pytest.raises(JobDefinitionError, match="needs the result_type of Range.get_value"):
        udaf(Range())
    with pytest.raises(JobDefinitionError, match="func_type of udtaf"):
        udtaf(Top2(), func_type="pandas")
    with pytest.raises(JobDefinitionError, match="an object with a method accumulate"):
        udaf(5, result_type="INT")
    with pytest.raises(JobDefinitionError, match="has no method create_accumulator"):
        table.select(udaf(lambda value: value, result_type="INT")(col("v")))
    with pytest.raises(JobDefinitionError, match="made by udtaf"):
        table.flat_aggregate(average(col("v"))).select(col("f0"))
    with pytest.raises(JobDefinitionError, match="does not take"):
        table.select(udaf(WeightedAverage(), input_types=["INT"])(col("k")))


def test_a_value_that_is_not_of_the_declared_type(table: Table) -> None:
    wrong = udaf(WeightedAverage(), result_type="ARRAY<INT>")
    with pytest.raises(JobExecutionError, match=r"WeightedAverage gave 4\.5, of the type float"):
        rows(table.select(wrong(col("v"))))


def test_an_accumulator_that_cannot_be_changed(table: Table) -> None:
    class Total(AggregateFunction):
        def create_accumulator(self) -> int:
            return 0

        def accumulate(self, accumulator: int, value: int) -> None:
            accumulator += value

        def get_value(self, accumulator: int) -> int:
            return accumulator

    with pytest.raises(JobExecutionError, match=r"create_accumulator\(\) gave 0.*\[0\]"):
        rows(table.select(udaf(Total(), result_type="BIGINT")(col("v"))))


def test_rows_that_are_not_of_the_declared_type(table: Table) -> None:
    class Pairs(Top2):
        def emit_value(self, accumulator: Any) -> Any:
            yield "x", 1

    wrong = udtaf(Pairs(), result_type="ROW<a BIGINT, b INT>")
    found = table.flat_aggregate(wrong(col("v")).alias("a", "b")).select(col("a"))
    said = "gave 'x', of the type str, in the column a; its result_type is ROW<`a` BIGINT, `b` INT>"
    with pytest.raises(JobExecutionError, match=re.escape(said)):
        rows(found)


def test_what_fails_shows_the_users_code(table: Table) -> None:
    class Failing(WeightedAverage):
        def accumulate(self, accumulator: list[int], *args: Any) -> None:
            raise KeyError("missing")

    with pytest.raises(JobExecutionError, match="missing") as raised:
        rows(table.select(udaf(Failing())(col("v"))))
    assert "in the function Failing" in str(raised.value)
    assert "for the arguments (1)" in str(raised.value)


@pytest.mark.parametrize("kind", ["INT", "DOUBLE"])
def test_what_pandas_has_for_a_missing_value_is_null(
    batch_env: TableEnvironment, kind: str
) -> None:
    """The mean of nothing but NULL is NA or NaN, the greatest time NaT."""
    pytest.importorskip("pandas")
    batch_env.create_temporary_function("mean", mean)
    batch_env.create_temporary_function(
        "ends",
        udaf(
            lambda values: (values.min(), values.max()),
            result_type="ROW<least DOUBLE, most DOUBLE>",
            func_type="pandas",
        ),
    )
    batch_env.execute_sql(
        f"CREATE VIEW v AS SELECT k, CAST(x AS {kind}) AS x FROM (VALUES (1, 4), (2, CAST(NULL AS "
        "INT)), (2, CAST(NULL AS INT))) AS t(k, x)"
    )
    groups = batch_env.execute_sql("SELECT k, mean(x), ends(x) FROM v GROUP BY k").collect()
    assert sorted(map(tuple, groups)) == [
        (1, 4.0, Row(least=4.0, most=4.0)),
        (2, None, Row(least=None, most=None)),
    ]
    over = batch_env.execute_sql("SELECT mean(x) OVER (PARTITION BY k ORDER BY x) FROM v").collect()
    assert sorted((row[0] for row in over), key=repr) == [4.0, None, None]
