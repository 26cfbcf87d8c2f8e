from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.runtime.watermark_valve import WatermarkValve

A, B = (0, 0), (0, 1)
MIN, MAX = -(2**63), 2**63 - 1


def test_the_minimum_goes_through() -> None:
    valve = WatermarkValve([A, B])
    assert not valve.advance(A, 10)
    assert valve.watermark == MIN
    assert valve.advance(B, 5)
    assert valve.watermark == 5
    assert valve.advance(B, 20)
    assert valve.watermark == 10


def test_it_never_goes_back() -> None:
    valve = WatermarkValve([A])
    assert valve.advance(A, 10)
    assert not valve.advance(A, 3)
    assert not valve.advance(A, 10)
    assert valve.watermark == 10


def test_idle_channels_are_left_out() -> None:
    valve = WatermarkValve([A, B])
    valve.advance(A, 10)
    assert valve.set_idle(B, True)
    assert valve.watermark == 10
    assert not valve.idle
    assert not valve.set_idle(A, True)
    assert valve.idle
    assert not valve.set_idle(A, False)
    assert valve.advance(A, 12)


def test_when_all_are_idle_the_highest_goes_through() -> None:
    valve = WatermarkValve([A, B])
    valve.advance(A, 10)
    valve.advance(B, 5)
    assert not valve.set_idle(A, True)
    assert valve.watermark == 5
    assert valve.set_idle(B, True)
    assert valve.watermark == 10


def test_channels_that_have_ended_do_not_count_for_idle_ones() -> None:
    valve = WatermarkValve([A, B])
    valve.advance(A, MAX)
    valve.advance(B, 5)
    valve.set_idle(A, True)
    assert not valve.set_idle(B, True)
    assert valve.watermark == 5


def test_a_channel_that_wakes_up_behind_holds_the_next_watermarks_back() -> None:
    valve = WatermarkValve([A, B])
    valve.set_idle(B, True)
    valve.advance(A, 10)
    valve.set_idle(B, False)
    valve.advance(B, 5)
    assert not valve.advance(A, 20)
    assert valve.watermark == 10
    assert valve.advance(B, 15)
    assert valve.watermark == 15


def test_the_end_waits_for_idle_channels() -> None:
    valve = WatermarkValve([A, B])
    valve.set_idle(B, True)
    valve.advance(A, 10)
    assert not valve.advance(A, MAX)
    assert not valve.ended
    assert valve.watermark == 10
    assert valve.advance(B, MAX)
    assert valve.ended
    assert valve.watermark == MAX


def test_state_survives_other_edge_numbers() -> None:
    valve = WatermarkValve([A, B])
    valve.advance(A, 10)
    valve.advance(B, 5)
    valve.set_idle(B, True)
    other = WatermarkValve([(7, 0), (7, 1)])
    other.restore(valve.snapshot())
    assert other.watermark == 10
    other.set_idle((7, 1), False)
    assert not other.advance((7, 0), 20)
    assert other.snapshot() != valve.snapshot()


def test_with_another_number_of_channels_only_the_watermark_stays() -> None:
    valve = WatermarkValve([A])
    valve.advance(A, 10)
    other = WatermarkValve([A, B])
    other.restore(valve.snapshot())
    assert other.watermark == 10
    assert not other.advance(A, 20)
    assert other.advance(B, 15)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.one_of(st.integers(0, 50), st.booleans())), max_size=40
    )
)
def test_against_a_naive_model(events) -> None:
    channels = [(0, index) for index in range(3)]
    valve = WatermarkValve(channels)
    marks, idle, expected = [MIN] * 3, [False] * 3, MIN
    for index, event in events:
        if isinstance(event, bool):
            valve.set_idle(channels[index], event)
            opens = event and not idle[index]
            idle[index] = event
        else:
            valve.advance(channels[index], event)
            opens = event > marks[index]
            marks[index] = max(marks[index], event)
        active = [mark for mark, out in zip(marks, idle, strict=True) if not out]
        if opens:  # that a channel becomes active lets nothing through
            expected = max(expected, min(active) if active else max(marks))
        assert valve.watermark == expected
        assert valve.idle == all(idle)


def test_within_an_epoch_a_channel_that_falls_asleep_counts_until_the_barrier() -> None:
    valve = WatermarkValve([A, B])
    valve.hear(A, 5, idle=False)
    assert valve.hear(B, 3, idle=False)
    assert not valve.awaits_barrier
    assert not valve.hear(B, 3, idle=True)
    assert valve.awaits_barrier
    assert not valve.hear(A, 20, idle=False)
    assert valve.watermark == 3
    assert valve.settle([])
    assert (valve.watermark, valve.awaits_barrier) == (20, False)


def test_when_one_channel_wakes_the_others_count_again_until_the_barrier() -> None:
    valve = WatermarkValve([A, B])
    valve.settle([(A, 10, True), (B, 7, True)])
    assert valve.watermark == 10
    assert not valve.hear(A, 30, idle=False)
    assert not valve.hear(B, 7, idle=True), "it may not have heard of what woke the other one"
    assert valve.watermark == 10
    assert valve.hear(B, 12, idle=False)
    assert valve.watermark == 12
    assert valve.settle([(B, 12, True)])
    assert valve.watermark == 30


def test_what_an_idle_channel_tells_takes_effect_at_the_barrier() -> None:
    valve = WatermarkValve([A, B])
    valve.settle([(A, 10, True), (B, 10, True)])
    assert not valve.hear(A, 40, idle=True)
    assert valve.settle([])
    assert valve.watermark == 40


def test_at_a_barrier_all_statuses_count_together() -> None:
    valve = WatermarkValve([A, B])
    valve.settle([(A, 10, True), (B, 10, True)])
    assert valve.settle([(A, 90, False), (B, 20, False)])
    assert valve.watermark == 20
    assert not valve.settle([]), "without news a barrier changes nothing"
