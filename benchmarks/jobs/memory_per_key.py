"""Fills keyed state of one shape; reports the bytes of resident memory per key."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import psutil

from millrace.datastream import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from millrace.testing import OperatorHarness

BATCH = 10_000
Write = Callable[[int, KeyedProcessFunction.Context], None]


class Filling(KeyedProcessFunction[int, int, int]):
    """Writes one shape of state for each key."""

    def __init__(self, shape: str) -> None:
        self.shape = shape

    def open(self, runtime_context: RuntimeContext) -> None:
        value: Any = runtime_context.get_state(ValueStateDescriptor("value"))
        entries: Any = runtime_context.get_map_state(MapStateDescriptor("map"))
        items: Any = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.write: Write = {
            "a whole number": lambda n, ctx: value.update(n + 10**6),
            "a text of 50 characters": lambda n, ctx: value.update(f"{n:050}"),
            "a tuple of three numbers": lambda n, ctx: value.update((n + 10**6, n * 0.5, n * 7)),
            "a dict of five fields": lambda n, ctx: value.update(
                {
                    "id": n + 10**6,
                    "name": f"user {n}",
                    "sum": n * 0.5,
                    "first": n * 7,
                    "last": n * 9,
                }
            ),
            "a list of ten numbers": lambda n, ctx: items.update([n * i + 1000 for i in range(10)]),
            "a map state of ten numbers": lambda n, ctx: entries.put_all(
                {i: n * i + 1000 for i in range(10)}
            ),
            "an event-time timer": lambda n, ctx: ctx.timer_service().register_event_time_timer(
                n + 10**9
            ),
        }[self.shape]

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        self.write(value, ctx)


def bytes_per_key(shape: str, keys: int) -> float:
    """Fill the state of this process."""
    process = psutil.Process()
    with OperatorHarness(Filling(shape), key_by=lambda n: n) as harness:
        harness.process_elements([-1])
        before = process.memory_info().rss
        for start in range(0, keys, BATCH):
            harness.process_elements(list(range(start, start + BATCH)))
            harness.set_processing_time(start)  # ends the epoch
            harness._deltas.clear()  # in a job they go to files
        return (process.memory_info().rss - before) / keys


if __name__ == "__main__":
    print(json.dumps({"bytes": bytes_per_key(sys.argv[1], int(sys.argv[2]))}))
