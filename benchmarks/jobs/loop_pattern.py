"""A pattern with a loop over the events of one key, one a second, for ever: what it takes, tenth by
tenth.

    python loop_pattern.py EVENTS time|memory

In a harness, with a snapshot of state every `EPOCH` events. Prints one JSON line. Tracing memory
takes time, so that is a run of its own.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import tracemalloc
from typing import Any

from memory_sample import resident

from millrace.cep import CEP, Pattern
from millrace.common import Time
from millrace.datastream import DataStream
from millrace.testing import OperatorHarness

PARTS = 10
EPOCH = 250
"""Events; no multiple of the pattern's 100, so that ends of epochs see all phases of it."""


def pattern() -> Pattern:
    """Every tenth event begins one; two of ten go on with it; one of a hundred ends all."""
    return (
        Pattern.begin("a")
        .where(lambda value: value % 10 == 0)
        .followed_by("b")
        .where(lambda value: value % 10 in (3, 6))
        .one_or_more()
        .followed_by("c")
        .where(lambda value: value % 100 == 99)
        .within(Time.seconds(100))
    )


def found(stream: DataStream[int]) -> DataStream[Any]:
    keyed = stream.key_by(lambda value: "only")
    return CEP.pattern(keyed, pattern()).select(lambda match: (match["a"][0], len(match["b"])))


class Run:
    """Feeds the operator, and notes what it takes."""

    def __init__(self) -> None:
        self.harness = OperatorHarness(found)
        self.matches = 0
        self.most_entries = 0

    def part(self, start: int, end: int) -> dict[str, Any]:
        """The events from ``start`` to ``end``."""
        self.most_entries = 0
        began = time.perf_counter()
        for first in range(start, end, EPOCH):
            self.epoch(range(first, min(first + EPOCH, end)))
        seconds = time.perf_counter() - began
        gc.collect()
        return {
            "seconds": round(seconds, 4),
            "matches": self.matches,
            "entries": self.most_entries,
            "resident": resident(os.getpid()),
            "traced": tracemalloc.get_traced_memory()[0],
        }

    def epoch(self, values: range) -> None:
        harness = self.harness
        harness.process_elements(list(values), [value * 1000 for value in values])
        harness.process_watermark(values[-1] * 1000)
        harness.snapshot()
        self.matches += len(harness.output())
        self.most_entries = max(self.most_entries, harness.entries())
        harness.clear_output()


def main() -> None:
    events, what = int(sys.argv[1]), sys.argv[2]
    if what == "memory":
        tracemalloc.start()
    run, step = Run(), events // PARTS
    print(
        json.dumps({"parts": [run.part(start, start + step) for start in range(0, events, step)]})
    )


if __name__ == "__main__":
    main()
