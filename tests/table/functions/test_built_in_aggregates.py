"""Each aggregate gives what SQL's own gives, with rows that go and accumulators that are merged."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.table import AggregateFunction, TableEnvironment
from millrace.table import functions as f
from millrace.table.expressions import call, col
from millrace.table.udf import udaf

INTS = st.lists(st.none() | st.integers(-9, 9), max_size=12)


def first(values: list[Any]) -> Any:
    return values[0] if values else None


def last(values: list[Any]) -> Any:
    return values[-1] if values else None


def squares(values: list[Any]) -> float | None:
    mean = sum(values) / len(values) if values else 0
    return sum((value - mean) ** 2 for value in values) if values else None


MODELS = [
    (f.Count1AggFunction, None),
    (f.CountAggFunction, len),
    (f.SumAggFunction, lambda values: sum(values) if values else None),
    (f.SumWithRetractAggFunction, lambda values: sum(values) if values else None),
    (f.IntSum0AggFunction, sum),
    (f.Sum0AggFunction, sum),
    (f.AvgAggFunction, lambda values: math.trunc(sum(values) / len(values)) if values else None),
    (f.MaxAggFunction, lambda values: max(values, default=None)),
    (f.MinAggFunction, lambda values: min(values, default=None)),
    (f.MaxWithRetractAggFunction, lambda values: max(values, default=None)),
    (f.MinWithRetractAggFunction, lambda values: min(values, default=None)),
    (f.FirstValueAggFunction, first),
    (f.LastValueAggFunction, last),
    (f.FirstValueWithRetractAggFunction, first),
    (f.LastValueWithRetractAggFunction, last),
    (f.WelfordM2AggFunction, squares),
]
RETRACT = [each for each in MODELS if not hasattr(each[0].retract, "is_refusal")]
MERGE = [each for each in MODELS if not hasattr(each[0].merge, "is_refusal")]


def expected(model: Any, values: list[Any]) -> Any:
    if model is None:
        return len(values)
    return model([value for value in values if value is not None])


def accumulated(function: AggregateFunction, values: list[Any]) -> Any:
    accumulator = function.create_accumulator()
    for value in values:
        function.accumulate(accumulator, value)
    return accumulator


@pytest.mark.parametrize(("kind", "model"), MODELS)
@given(values=INTS)
def test_of_rows(kind: Any, model: Any, values: list[Any]) -> None:
    function = kind()
    found = function.get_value(accumulated(function, values))
    assert found == pytest.approx(expected(model, values), abs=1e-6)


@pytest.mark.parametrize(("kind", "model"), RETRACT)
@given(values=INTS, gone=st.data())
def test_of_rows_that_go(kind: Any, model: Any, values: list[Any], gone: Any) -> None:
    function, left = kind(), list(values)
    accumulator = accumulated(function, values)
    for _ in range(gone.draw(st.integers(0, len(values)))):
        value = left.pop(left.index(gone.draw(st.sampled_from(left))))
        function.retract(accumulator, value)
    found = function.get_value(accumulator)
    assert found == pytest.approx(expected(model, left), abs=1e-6)


@pytest.mark.parametrize(("kind", "model"), MERGE)
@given(one=INTS, two=INTS)
def test_of_merged_accumulators(kind: Any, model: Any, one: list[Any], two: list[Any]) -> None:
    function = kind()
    accumulator = accumulated(function, one)
    function.merge(accumulator, [accumulated(function, two), function.create_accumulator()])
    found = function.get_value(accumulator)
    assert found == pytest.approx(expected(model, one + two), abs=1e-6)


def test_sums_of_nothing_are_of_their_kind() -> None:
    for kind, value in ((f.FloatSum0AggFunction, 0.0), (f.DecimalSum0AggFunction, Decimal(0))):
        found = kind().get_value(kind().create_accumulator())
        assert (found, type(found)) == (value, type(value))


def test_texts() -> None:
    plain, separated = f.ListAggFunction(), f.ListAggWsWithRetractAggFunction()
    assert plain.get_value(accumulated(plain, ["a", None, "b"])) == "a,b"
    assert plain.get_value(plain.create_accumulator()) is None
    accumulator = separated.create_accumulator()
    for value in ("a", "b", "c"):
        separated.accumulate(accumulator, value, "-")
    separated.retract(accumulator, "b", "-")
    separated.merge(accumulator, [[["d"], "+"], separated.create_accumulator()])
    assert separated.get_value(accumulator) == "a+c+d"


class RoundedAverage(f.AvgAggFunction):
    """The average to the nearest integer."""

    def get_value(self, accumulator: Any) -> Any:
        return round(accumulator[0] / accumulator[1]) if accumulator[1] else None


def test_another_is_derived_of_one(batch_env: TableEnvironment) -> None:
    table = batch_env.from_elements([("a", 1), ("a", 2), ("a", 2), ("b", None)], ["k", "v"])
    batch_env.create_temporary_function("rounded", udaf(RoundedAverage(), result_type="BIGINT"))
    result = table.group_by(col("k")).select(
        col("k"), call("rounded", col("v")).alias("r"), col("v").avg.alias("a")
    )
    assert sorted(map(tuple, result.execute().collect())) == [("a", 2, 1), ("b", None, None)]
