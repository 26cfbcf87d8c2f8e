"""Functions that return one record where they are to yield any number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millrace.common import OutputTag, Row
from millrace.common.errors import JobExecutionError
from millrace.datastream import (
    CoFlatMapFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millrace.runtime.produced_records import producing
from millrace.testing import run_local


class Returning(ProcessFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.result


class KeyedReturning(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return {"n": value}


class WindowReturning(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return {"n": len(list(elements))}


class CoReturning(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        return f"record {value}"

    def flat_map2(self, value: Any) -> Any:
        return []


def of(stream: Any) -> Any:
    return stream.key_by(lambda value: value)


@pytest.mark.parametrize(
    "build",
    [
        lambda s: s.flat_map(lambda value: {"n": value}),
        lambda s: s.flat_map(str),
        lambda s: s.flat_map(lambda value: Row(n=value)),
        lambda s: s.flat_map(lambda value: value),
        lambda s: s.process(Returning({"n": 1})),
        lambda s: s.process(Returning((OutputTag("late"), 1))),
        lambda s: of(s).process(KeyedReturning()),
        lambda s: of(s).count_window(1).process(WindowReturning()),
        lambda s: s.connect(s).flat_map(CoReturning()),
    ],
)
def test_a_single_record_is_refused(build: Callable[[Any], Any]) -> None:
    """Its keys, letters or fields were emitted."""
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        results = build(env.from_collection([12]))
        with pytest.raises(Exception, match="one record.*write 'yield' instead of 'return'"):
            results.execute_and_collect("returns", 10)


def test_what_can_be_a_series_of_records_is_one() -> None:
    for produced in (None, [1, 2], (1, 2), {1, 2}, range(2)):
        function = producing(lambda value=produced: value)
        assert list(function() or ()) == list(produced or ())
    assert list(producing(lambda: iter([1]))()) == [1]


def test_a_generator_is_called_as_it_is() -> None:
    def function(value: int) -> Any:
        yield value

    assert producing(function) is function


def test_a_long_record_is_not_shown_whole() -> None:
    with pytest.raises(JobExecutionError) as caught:
        producing(lambda: "x" * 1000)()
    assert len(str(caught.value)) < 600


def test_the_function_is_named_as_in_the_program() -> None:
    """Without the address of its object."""
    with pytest.raises(JobExecutionError, match="^Returning.process_element returned 'a'"):
        producing(Returning("a").process_element)(1, None)
