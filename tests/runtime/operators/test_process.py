from __future__ import annotations

import pytest

from millrace.common.errors import StateError
from millrace.datastream import OutputTag, ProcessFunction
from millrace.testing import OperatorHarness, StreamRecord

BIG = OutputTag("big")


class Route(ProcessFunction):
    def process_element(self, value, ctx):
        if value > 10:
            yield BIG, value
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_the_context_tells_event_time_and_watermark() -> None:
    harness = OperatorHarness(Route())
    harness.process_element(1)
    harness.process_watermark(5)
    harness.process_element(2, 7)
    assert harness.output() == [(1, None, -(2**63)), (2, 7, 5)]


def test_side_outputs_keep_event_times() -> None:
    harness = OperatorHarness(Route())
    harness.process_elements([20, 3, 30], [1, 2, 3])
    assert harness.side_output(BIG) == [20, 30]
    assert [record.timestamp for record in harness.records()] == [1, 2, 3]


def test_a_pair_that_begins_with_no_tag_is_a_record() -> None:
    class Pairs(ProcessFunction):
        def process_element(self, value, ctx):
            yield ("big", value)
            yield (BIG, value, value)
            yield [BIG, value]

    harness = OperatorHarness(Pairs())
    harness.process_element(1)
    assert harness.output() == [("big", 1), (BIG, 1, 1), [BIG, 1]]


def test_results_without_a_first_element() -> None:
    class Odd:
        def __getitem__(self, index):
            raise AttributeError(index)

    odd = Odd()

    class Mixed(ProcessFunction):
        def process_element(self, value, ctx):
            yield from ((), "", 5, {}, odd, (BIG, value))

    harness = OperatorHarness(Mixed())
    harness.process_element(1)
    assert harness.output() == [(), "", 5, {}, odd]
    assert harness.side_output(BIG) == [1]


def test_processing_time_is_the_epochs() -> None:
    class Now(ProcessFunction):
        def process_element(self, value, ctx):
            yield ctx.timer_service().current_processing_time()

    harness = OperatorHarness(Now(), processing_time=100)
    harness.process_element(1)
    harness.set_processing_time(200)
    harness.process_element(1)
    assert harness.output() == [100, 200]


@pytest.mark.parametrize("domain", ["event", "processing"])
@pytest.mark.parametrize("act", ["register", "delete"])
def test_timers_need_a_key(domain: str, act: str) -> None:
    class Timers(ProcessFunction):
        def process_element(self, value, ctx):
            getattr(ctx.timer_service(), f"{act}_{domain}_time_timer")(value)

    with pytest.raises(StateError, match="operator 'Process' cannot use timers.*key_by"):
        OperatorHarness(Timers()).process_element(1)


def test_an_event_time_of_zero_is_one() -> None:
    harness = OperatorHarness(Route())
    harness.process_element(1, 0)
    assert harness.records() == [StreamRecord((1, 0, -(2**63)), 0)]
