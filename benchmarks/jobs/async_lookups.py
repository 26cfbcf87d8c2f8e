"""1,000 look-ups of 50 ms, all under way at once: how long one operator takes for them.

python async_lookups.py
"""

from __future__ import annotations

import asyncio
import json
import time

from millrace.common import Time
from millrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from millrace.testing import OperatorHarness

LOOKUPS, MILLISECONDS, ROUNDS = 1000, 50, 5


async def look_up(value: int) -> list[int]:
    await asyncio.sleep(MILLISECONDS / 1000)
    return [value]


def once(ordered: bool) -> float:
    """Milliseconds from the first record to the last result."""
    env = StreamExecutionEnvironment.get_execution_environment()
    wait = AsyncDataStream.ordered_wait if ordered else AsyncDataStream.unordered_wait
    stream = wait(env.from_collection([]), look_up, Time.seconds(10), LOOKUPS)
    with OperatorHarness(stream) as harness:
        started = time.perf_counter()
        harness.process_elements(list(range(LOOKUPS)))
        harness.process_watermark(2**63 - 1)
        taken = time.perf_counter() - started
        assert sorted(harness.output()) == list(range(LOOKUPS))
    return taken * 1000


if __name__ == "__main__":
    report = {
        name: [round(once(ordered), 1) for _ in range(ROUNDS)]
        for name, ordered in (("ordered", True), ("unordered", False))
    }
    print(json.dumps(report))
