"""How the buffers of a task are put into the elements of a Spark shuffle."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.buffer import Buffer
from millrace.spark.task import ANCHOR, framed, unframed


def packed(number: int, size: int) -> bytes:
    return Buffer(number, 0, 0, 0, number, 0, 0, 1, bytes(size)).pack()


sizes = st.sampled_from([0, 10, 60_000, 65_488, 70_000, 300_000])


@given(st.lists(st.tuples(st.integers(0, 3), sizes), max_size=20))
def test_every_buffer_comes_to_its_task_once(sent: list[tuple[int, int]]) -> None:
    buffers = [(task, packed(number, size)) for number, (task, size) in enumerate(sent)]
    expected: dict[int, list[bytes]] = defaultdict(list)
    for task, buffer in buffers:
        expected[task].append(buffer)
    frames: dict[int, list[bytes]] = defaultdict(list)
    for task, frame in framed(buffers):
        frames[task].append(frame)
    assert frames.keys() == expected.keys()
    for task, got in frames.items():
        assert sorted(unframed([ANCHOR, *got])) == sorted(expected[task])


def test_a_big_buffer_is_not_copied_and_small_ones_go_together() -> None:
    big, small = packed(0, 1 << 20), packed(1, 100)
    frames = [frame for _, frame in framed([(0, small), (0, big), (0, small)])]
    assert len(frames) == 2
    assert frames[0] is big
    assert next(unframed([big])) is big
