from __future__ import annotations

from millrace.datastream import MapFunction
from millrace.testing import OperatorHarness, StreamRecord


class Scale(MapFunction):
    def open(self, runtime_context):
        self.index = runtime_context.get_index_of_this_subtask()
        self.factor = 10
        self.closed = False

    def map(self, value):
        return value * self.factor

    def close(self):
        self.closed = True


def test_one_record_out_per_record_in() -> None:
    harness = OperatorHarness(Scale())
    harness.process_elements([1, 2, 3])
    assert harness.output() == [10, 20, 30]


def test_none_is_a_record_like_any_other() -> None:
    class Nothing(MapFunction):
        def map(self, value):
            return None

    harness = OperatorHarness(Nothing())
    harness.process_elements([1, 2])
    assert harness.output() == [None, None]


def test_event_times_and_watermarks_are_kept() -> None:
    harness = OperatorHarness(Scale())
    harness.process_elements([1, 2], [5, 4])
    harness.process_watermark(3)
    assert harness.records() == [StreamRecord(10, 5), StreamRecord(20, 4)]
    assert harness.watermarks() == [3]


def test_the_function_is_opened_with_its_place_and_closed() -> None:
    function = Scale()
    with OperatorHarness(function, subtask_index=3, parallelism=4):
        assert function.index == 3
        assert not function.closed
    assert function.closed


def test_an_error_in_close_does_not_come_out() -> None:
    class Bad(Scale):
        def close(self):
            raise ValueError

    OperatorHarness(Bad()).close()
