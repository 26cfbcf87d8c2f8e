"""A greedy loop in the events of one key, and all the matches that it ends in.

    python greedy_pattern.py EVENTS

``a+ greedy`` and then ``b``: every ``a`` begins a match and belongs to all that began before, so
EVENTS matches of up to EVENTS events are found with the ``b`` at the end. In a harness, a snapshot
of state every `EPOCH` events. Prints one JSON line.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from millrace.cep import CEP, Pattern
from millrace.datastream import DataStream
from millrace.testing import OperatorHarness, match

EPOCH = 100


def pattern() -> Pattern:
    loop = Pattern.begin("a").where(lambda value: value >= 0).one_or_more().greedy()
    return loop.followed_by("b").where(lambda value: value < 0)


def found(stream: DataStream[int]) -> DataStream[Any]:
    keyed = stream.key_by(lambda value: "only")
    return CEP.pattern(keyed, pattern()).select(lambda match: (match["a"][0], len(match["a"])))


def in_harness(events: int) -> dict[str, Any]:
    harness = OperatorHarness(found)
    began = time.perf_counter()
    for first in range(0, events, EPOCH):
        values = range(first, min(first + EPOCH, events))
        harness.process_elements(list(values), list(values))
        harness.process_watermark(values[-1])
        harness.snapshot()
    taken = time.perf_counter()
    entries = harness.entries()
    harness.process_element(-1, events)
    harness.process_watermark(events)
    ended = time.perf_counter()
    assert sorted(harness.output()) == [(i, events - i) for i in range(events)]
    return {"entries": entries, "taking": taken - began, "results": ended - taken}


def in_match(events: int) -> float:
    """Seconds of `millrace.testing.match` for the same without ``greedy``: a result for every part
    of the loop, about half the square of EVENTS in all."""
    loop = Pattern.begin("a").where(lambda value: value >= 0).one_or_more()
    began = time.perf_counter()
    matches = match(loop, range(events)).matches
    seconds = time.perf_counter() - began
    assert len(matches) == events * (events + 1) // 2
    return seconds


def main() -> None:
    events = int(sys.argv[1])
    print(json.dumps({**in_harness(events), "match": in_match(events // 2)}))


if __name__ == "__main__":
    main()
