"""Functions of each kind report metrics of the operator that calls them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millrace.common.functions.metrics import Counter
from millrace.table import DataTypes, TableEnvironment
from millrace.table.udf import (
    AggregateFunction,
    FunctionContext,
    ScalarFunction,
    TableFunction,
    udaf,
    udf,
    udtf,
)


class Counted:
    """Has a counter that says how often it was called."""

    name = ""
    calls: Counter

    def open(self, function_context: FunctionContext) -> None:
        self.calls = function_context.get_metric_group().counter(self.name)


class Twice(Counted, ScalarFunction):
    name = "twice"

    def eval(self, number: int) -> int:
        self.calls.inc()
        return number * 2


class Letters(Counted, TableFunction):
    name = "letters"

    def eval(self, text: str) -> Iterator[str]:
        self.calls.inc()
        yield from text


class Total(Counted, AggregateFunction):
    name = "total"

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], number: int) -> None:
        self.calls.inc()
        accumulator[0] += number

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]


def counts_after(t_env: TableEnvironment, query: str) -> tuple[list[tuple[Any, ...]], Any]:
    result = t_env.sql_query(query).execute()
    with result.collect() as found:
        rows = sorted(tuple(row) for row in found)
    client = result.get_job_client()
    assert client is not None
    return rows, client.get_accumulators().result()


def test_functions_count_their_calls(batch_env: TableEnvironment) -> None:
    batch_env.create_temporary_function("twice", udf(Twice(), result_type="BIGINT"))
    batch_env.create_temporary_function("letters", udtf(Letters(), result_types=["STRING"]))
    total = udaf(Total(), result_type="BIGINT", accumulator_type=DataTypes.ARRAY("BIGINT"))
    batch_env.create_temporary_function("total", total)
    batch_env.create_temporary_view(
        "t", batch_env.from_elements([("ab", 1), ("c", 2), ("ab", 3)], ["k", "n"])
    )
    query = (
        "SELECT letter, total(m) FROM (SELECT k, twice(n) AS m FROM t)"
        " CROSS JOIN LATERAL TABLE(letters(k)) AS l (letter) GROUP BY letter"
    )
    rows, found = counts_after(batch_env, query)
    assert rows == [("a", 8), ("b", 8), ("c", 4)]
    assert {name: found[name] for name in ("twice", "letters", "total")} == {
        "twice": 3,
        "letters": 3,
        "total": 5,
    }


def test_a_function_in_the_condition_of_a_join(batch_env: TableEnvironment) -> None:
    batch_env.create_temporary_function("twice", udf(Twice(), result_type="BIGINT"))
    for name, values in (("l", [(1,), (2,)]), ("r", [(2,), (5,)])):
        batch_env.create_temporary_view(name, batch_env.from_elements(values, [f"{name}_n"]))
    rows, found = counts_after(batch_env, "SELECT l_n, r_n FROM l JOIN r ON twice(l_n) + r_n > 8")
    assert rows == [(2, 5)]
    assert found["twice"] == 4


class Opened(ScalarFunction):
    times = 0

    def open(self, function_context: FunctionContext) -> None:
        type(self).times += 1

    def eval(self, number: int) -> int:
        return number


def test_a_function_is_opened_once_however_often_it_is_called(
    batch_env: TableEnvironment,
) -> None:
    batch_env.create_temporary_function("opened", udf(Opened(), result_type="BIGINT"))
    batch_env.create_temporary_view("t", batch_env.from_elements([(1, 2, 3)], ["a", "b", "c"]))
    rows, _ = counts_after(batch_env, "SELECT opened(a), opened(b) FROM t WHERE opened(a) > 0")
    assert rows == [(1, 2)]
    assert Opened.times == 1
