from __future__ import annotations

import pytest

from millrace.datastream import FlatMapFunction
from millrace.testing import OperatorHarness, StreamRecord


class Words(FlatMapFunction):
    def flat_map(self, value):
        return value.split()


class Countdown(FlatMapFunction):
    def flat_map(self, value):
        while value:
            yield value
            value -= 1


class Maybe(FlatMapFunction):
    def flat_map(self, value):
        return None if value < 0 else [value]


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        (Words(), ["to be", "", "or"], ["to", "be", "or"]),
        (Countdown(), [2, 0, 3], [2, 1, 3, 2, 1]),
        (Maybe(), [-1, 1, -2], [1]),
    ],
)
def test_any_number_of_records_out(function, values, expected) -> None:
    harness = OperatorHarness(function)
    harness.process_elements(values)
    assert harness.output() == expected


def test_each_result_has_the_time_of_its_record() -> None:
    harness = OperatorHarness(Countdown())
    harness.process_elements([2, 0, 1], [10, 20, 30])
    assert harness.records() == [StreamRecord(2, 10), StreamRecord(1, 10), StreamRecord(1, 30)]
