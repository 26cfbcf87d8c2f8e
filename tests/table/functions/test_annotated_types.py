"""Functions whose types are those of their type hints."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from millrace.common.errors import JobDefinitionError
from millrace.table import (
    AggregateFunction,
    DataTypes,
    ScalarFunction,
    TableAggregateFunction,
    TableEnvironment,
    TableFunction,
)
from millrace.table.expressions import col
from millrace.table.udf import udaf, udf, udtaf, udtf


class Word(NamedTuple):
    word: str
    length: int


@dataclass
class Price:
    amount: Decimal
    at: datetime | None


class Scaled(ScalarFunction):
    def eval(self, value: float) -> float:
        return value * 2


class Split(TableFunction):
    def eval(self, line: str) -> Iterator[Word]:
        for word in line.split():
            yield Word(word, len(word))


class Total(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], value: int) -> None:
        accumulator[0] += value

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]


class Both(TableAggregateFunction):
    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], value: int) -> None:
        accumulator.append(value)

    def emit_value(self, accumulator: list[int]) -> Iterator[Price]:
        yield Price(Decimal(min(accumulator)), None)
        yield Price(Decimal(max(accumulator)), None)


@udf
def tags(value: int, *, ignored: int = 0) -> list[str]:
    return ["x"] * value


@udf
async def later(value: int) -> int:
    return value + 1


@udf(func_type="pandas")
def with_pandas(value: Annotated[pd.Series, int]) -> Annotated[pd.Series, float]:
    return value / 2


@udf(func_type="arrow")
def with_arrow(value: pa.Int64Array) -> Annotated[pa.Array, "INT"]:
    return pc.add(value, 1)


@udaf(func_type="pandas")
def spread(value: pd.Series) -> float:
    return float(value.max() - value.min())


def test_each_kind_of_function_says_its_types() -> None:
    def generated(line: str) -> Generator[tuple[str, int], None, None]:
        yield line, 1

    def listed(line: str) -> list[str]:
        return [line]

    made = [udf(Scaled()), udtf(Split()), udaf(Total()), udtaf(Both()), later, with_pandas]
    made += [with_arrow, spread, udtf(generated), udtf(listed)]
    assert list(map(str, made)) == [
        "udf(Scaled) -> DOUBLE",
        "udtf(Split) -> ROW<`word` STRING, `length` BIGINT>",
        "udaf(Total) -> BIGINT",
        "udtaf(Both) -> ROW<`amount` DECIMAL(38, 18), `at` TIMESTAMP(6)>",
        "udf(later) -> BIGINT",
        "udf(with_pandas) -> DOUBLE",
        "udf(with_arrow) -> INT",
        "udaf(spread) -> DOUBLE",
        "udtf(generated) -> ROW<`f0` STRING, `f1` BIGINT>",
        "udtf(listed) -> ROW<`f0` STRING>",
    ]


@pytest.fixture
def numbers(batch_env: TableEnvironment) -> TableEnvironment:
    kind = DataTypes.of("ROW<a INT, line STRING>")
    rows = batch_env.from_elements([(1, "to be"), (3, "or")], kind)
    batch_env.create_temporary_view("numbers", rows)
    return batch_env


def rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with t_env.execute_sql(query).collect() as found:
        return [tuple(row) for row in found]


def test_arguments_are_cast_to_what_the_hints_say(numbers: TableEnvironment) -> None:
    """An INT reaches the functions as what they take."""
    for name, function in (("scaled", udf(Scaled())), ("tags", tags), ("later", later)):
        numbers.create_temporary_function(name, function)
    numbers.create_temporary_function("halved", with_pandas)
    numbers.create_temporary_function("next_one", with_arrow)
    found = rows(numbers, "SELECT scaled(a), later(a), halved(a), next_one(a) FROM numbers")
    assert found == [(2.0, 2, 0.5, 2), (6.0, 4, 1.5, 4)]
    with pytest.raises(JobDefinitionError, match="scaled"):
        rows(numbers, "SELECT scaled(line) FROM numbers")


def test_rows_of_classes(numbers: TableEnvironment) -> None:
    @udf
    def priced(value: int) -> Price:
        return Price(Decimal(value), None)

    numbers.create_temporary_function("priced", priced)
    numbers.create_temporary_function("words_of", udtf(Split()))
    found = rows(numbers, "SELECT p.amount FROM (SELECT priced(a) AS p FROM numbers)")
    assert found == [(Decimal(1),), (Decimal(3),)]
    query = "SELECT a, word, length FROM numbers, LATERAL TABLE(words_of(line))"
    assert rows(numbers, query) == [(1, "to", 2), (1, "be", 2), (3, "or", 2)]


def test_aggregates(numbers: TableEnvironment) -> None:
    numbers.create_temporary_function("total", udaf(Total()))
    numbers.create_temporary_function("spread", spread)
    assert rows(numbers, "SELECT total(a), spread(a) FROM numbers") == [(4, 2.0)]
    found = numbers.from_path("numbers").flat_aggregate(udtaf(Both())(col("a")))
    with found.select(col("amount")).execute().collect() as results:
        assert [tuple(row) for row in results] == [(Decimal(1),), (Decimal(3),)]


def test_a_declared_type_goes_first() -> None:
    """With a result_type, hints of arguments cast nothing."""

    @udf(result_type="INT")
    def loose(value: int) -> str:
        return str(value)

    assert str(loose) == "udf(loose) -> INT"
    assert loose.definition("loose").signatures == (("<ANY>",),)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: udf(lambda a: a), r"udf\(\) needs the result_type of .*<lambda>.*-> int"),
        (lambda: udtf(lambda a: [a]), r"udtf\(\) needs the result_types .*Iterator\[str\]"),
        (lambda: udaf(lambda a: 1, func_type="pandas"), r"udaf\(\) needs the result_type"),
        (lambda: udf(_of_anything), r"the result of _of_anything, of udf\(\): .*complex"),
        (lambda: udf(_of_set), r"the parameter 'values' of _of_set, of udf\(\): .*set"),
        (lambda: udf(_of_series, func_type="pandas"), "lacks the type of its elements"),
    ],
)
def test_what_hints_do_not_say_is_asked_for(make: Any, message: str) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        make()


def _of_anything(value: int) -> complex:
    return 1j


def _of_set(values: set[int]) -> int:
    return 1


def _of_series(value: pd.Series) -> pd.Series:
    return value
