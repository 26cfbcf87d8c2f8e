"""The generators of watermarks."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from millrace.common.time.watermark_generator import (
    MIN_WATERMARK,
    BoundedOutOfOrdernessGenerator,
    MonotonousGenerator,
)

TIMESTAMPS = st.lists(st.integers(min_value=-(2**40), max_value=2**40), max_size=50)


class Output:
    """Keeps the watermarks."""

    def __init__(self) -> None:
        self.watermarks: list[int] = []

    def emit_watermark(self, timestamp: int) -> None:
        self.watermarks.append(timestamp)

    def mark_idle(self) -> None:
        raise AssertionError("not idle")

    def mark_active(self) -> None:
        raise AssertionError("never idle")


def test_first_watermark_is_the_smallest() -> None:
    """Before any record nothing is promised, whatever the delay."""
    output = Output()
    MonotonousGenerator().on_periodic_emit(output)
    BoundedOutOfOrdernessGenerator(5_000).on_periodic_emit(output)
    assert output.watermarks == [MIN_WATERMARK, MIN_WATERMARK]


@given(TIMESTAMPS, st.integers(min_value=0, max_value=10**6))
def test_watermark_is_the_maximum_less_delay_less_one(timestamps: list[int], delay: int) -> None:
    """Record by record or as a batch, it is the same."""
    output = Output()
    one, batch = BoundedOutOfOrdernessGenerator(delay), BoundedOutOfOrdernessGenerator(delay)
    for timestamp in timestamps:
        one.on_event("event", timestamp, output)
    assert output.watermarks == []
    batch.on_batch(timestamps)
    one.on_periodic_emit(output)
    batch.on_periodic_emit(output)
    expected = max(timestamps) - delay - 1 if timestamps else MIN_WATERMARK
    assert output.watermarks == [expected, expected]


@given(st.lists(TIMESTAMPS))
def test_watermarks_never_go_back(batches: list[list[int]]) -> None:
    """However the batches come."""
    generator, output = MonotonousGenerator(), Output()
    for batch in batches:
        generator.on_batch(batch)
        generator.on_periodic_emit(output)
    assert output.watermarks == sorted(output.watermarks)


def test_generators_are_picklable() -> None:
    """What they have seen is state of the split."""
    generator = BoundedOutOfOrdernessGenerator(10)
    generator.on_batch([5, 100, 7])
    assert pickle.loads(pickle.dumps(generator)).watermark() == 89
