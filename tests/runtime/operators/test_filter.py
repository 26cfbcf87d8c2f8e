from __future__ import annotations

from millrace.datastream import FilterFunction
from millrace.testing import OperatorHarness, StreamRecord


class Even(FilterFunction):
    def filter(self, value):
        return value % 2 == 0


def test_keeps_what_is_admitted() -> None:
    harness = OperatorHarness(Even())
    harness.process_elements([1, 2, 3, 4])
    assert harness.output() == [2, 4]


def test_event_times_stay_with_their_records() -> None:
    harness = OperatorHarness(Even())
    harness.process_elements([1, 2, 3, 4], [10, 20, 30, 40])
    harness.process_elements([1, 3], [50, 60])
    assert harness.records() == [StreamRecord(2, 20), StreamRecord(4, 40)]


def test_truth_is_what_python_says() -> None:
    class Itself(FilterFunction):
        def filter(self, value):
            return value

    harness = OperatorHarness(Itself())
    harness.process_elements([0, "", "a", [], [0]])
    harness.process_elements([0, "", "a", [], [0]], [1, 2, 3, 4, 5])
    assert harness.output() == ["a", [0], "a", [0]]
