"""Sources that sleep and wake, windows behind windows: no result of a window is late.

A network of real valves, with channels in order and any interleaving of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.watermark_valve import Channel, WatermarkValve

Message = tuple[str, int, int, bool]
"""(kind, event time, watermark, idle) on a channel. The kind is "record", "status" or "barrier"."""
OUT_OF_ORDER = 5
FIRST, SECOND, THIRD = 10, 50, 100
"""Sizes of the windows of three stages."""


class Producer:
    """A subtask that sends to all subtasks of some stages."""

    def __init__(self) -> None:
        self.targets: list[list[Windows]] = []
        self.channels: list[int] = []
        self.number = 0
        self.mark = MIN_WATERMARK

    @property
    def idle(self) -> bool:
        raise NotImplementedError

    def send(self, time: int) -> None:
        """Send a record to one subtask of each stage."""
        for edge, stage in zip(self.channels, self.targets, strict=True):
            chosen = stage[time // 7 % len(stage)]
            chosen.put((edge, self.number), ("record", time, self.mark, False))

    def tell(self, kind: str) -> None:
        for edge, stage in zip(self.channels, self.targets, strict=True):
            for target in stage:
                target.put((edge, self.number), (kind, 0, self.mark, self.idle))


class Reader(Producer):
    """A source subtask."""

    sleeps = True
    newest = 0

    @property
    def idle(self) -> bool:
        return self.sleeps

    def read(self, time: int) -> None:
        self.sleeps = False
        self.newest = max(self.newest, time)
        self.send(time)
        self.mark = max(self.mark, self.newest - OUT_OF_ORDER)
        self.tell("status")

    def sleep(self) -> None:
        self.sleeps = True
        self.tell("status")

    def end(self) -> None:
        self.sleeps, self.mark = False, MAX_WATERMARK
        self.tell("status")


class Windows(Producer):
    """A subtask that gives a record for each window of its input with records."""

    def __init__(self, size: int, channels: Sequence[Channel]) -> None:
        super().__init__()
        self.valve = WatermarkValve(list(channels))
        self.queues: dict[Channel, deque[Message]] = {channel: deque() for channel in channels}
        self.ends: dict[Channel, Message] = {}
        self.size = size
        self.windows: dict[int, int] = {}
        self.late = 0
        self.taken: list[int] = []
        self.told = (MIN_WATERMARK, False)

    @property
    def idle(self) -> bool:
        return self.valve.idle

    def put(self, channel: Channel, message: Message) -> None:
        self.queues[channel].append(message)

    def ready(self) -> list[Channel]:
        return [c for c, queue in self.queues.items() if queue and c not in self.ends]

    def take(self, channel: Channel) -> None:
        message = self.queues[channel].popleft()
        kind, time, mark, idle = message
        if kind == "barrier":
            self.ends[channel] = message
            if len(self.ends) == len(self.queues):
                self.align()
            return
        if kind == "record":
            self.count(time)
        if self.valve.hear(channel, mark, idle):
            self.fire()
        self.flush()

    def count(self, time: int) -> None:
        if time <= self.valve.watermark:
            self.late += 1
            return
        self.taken.append(time)
        end = time - time % self.size + self.size - 1
        self.windows[end] = self.windows.get(end, 0) + 1

    def fire(self) -> None:
        for end in sorted(end for end in self.windows if end <= self.valve.watermark):
            del self.windows[end]
            self.send(end)
        self.mark = self.valve.watermark

    def flush(self) -> None:
        if (self.mark, self.idle) != self.told:
            self.told = (self.mark, self.idle)
            self.tell("status")

    def align(self) -> None:
        ends = [(channel, mark, idle) for channel, (_, _, mark, idle) in self.ends.items()]
        if self.valve.settle(ends):
            self.fire()
        self.flush()
        self.tell("barrier")
        self.ends.clear()


class Network:
    """Two readers; windows over them, a branch beside with one subtask; windows over both, and
    windows over these."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.readers = [Reader(), Reader()]
        over_readers = [(0, 0), (0, 1)]
        self.first = [Windows(FIRST, over_readers) for _ in range(2)]
        self.beside = [Windows(FIRST, [(1, 0), (1, 1)])]
        self.second = [Windows(SECOND, [(2, 0), (2, 1), (3, 0)]) for _ in range(2)]
        self.third = [Windows(THIRD, [(4, 0), (4, 1)]) for _ in range(2)]
        self._connect(self.readers, (0, self.first), (1, self.beside))
        self._connect(self.first, (2, self.second))
        self._connect(self.beside, (3, self.second))
        self._connect(self.second, (4, self.third))
        self.subtasks = [*self.first, *self.beside, *self.second, *self.third]

    @staticmethod
    def _connect(producers: Sequence[Producer], *edges: tuple[int, list[Windows]]) -> None:
        for number, producer in enumerate(producers):
            producer.number = number
            for edge, stage in edges:
                producer.channels.append(edge)
                producer.targets.append(stage)

    def deliver(self) -> bool:
        """Let some channel advance. False if nothing is under way."""
        ready = [(subtask, c) for subtask in self.subtasks for c in subtask.ready()]
        if ready:
            subtask, channel = self.random.choice(ready)
            subtask.take(channel)
        return bool(ready)

    def barrier(self) -> None:
        """A whole epoch ends: readers wait until the barrier has passed all."""
        for reader in self.readers:
            reader.tell("barrier")
        while self.deliver():
            pass

    def end(self) -> None:
        for reader in self.readers:
            reader.end()
        self.barrier()


def lived(random: Random, steps: Iterator[str]) -> Network:
    network, now = Network(random), 1000
    network.barrier()  # readers that have never read are idle
    for step in steps:
        reader = random.choice(network.readers)
        if step == "read":
            now += random.choice([0, 1, 30, 200])
            reader.read(now - random.choice([0, 1, 3, 100]))
        elif step == "sleep":
            reader.sleep()
        elif step == "barrier":
            network.barrier()
        else:
            network.deliver()
    network.end()
    return network


STEPS = st.lists(st.sampled_from(["read", "sleep", "barrier", *["deliver"] * 8]), max_size=150)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**20), STEPS)
@example(0, ["read", "sleep", "barrier", "read", "read", "deliver", "deliver", "deliver"])
def test_no_result_of_a_window_is_late(seed: int, steps: list[str]) -> None:
    network = lived(Random(seed), iter(steps))
    assert [subtask.late for subtask in (*network.second, *network.third)] == [0] * 4
    windows = {t - t % FIRST for s in network.first for t in s.taken}
    assert {t - t % FIRST for s in network.second for t in s.taken} >= windows
    assert not any(subtask.windows for subtask in network.subtasks)
    spans = {t - t % SECOND for s in network.second for t in s.taken}
    assert {t - t % SECOND for s in network.third for t in s.taken} == spans
