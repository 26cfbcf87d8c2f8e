"""Whether a pattern with a loop goes on taking the same time and memory: ``within`` bounds it."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "A pattern with a loop"
EVENTS = 100_000
ROUNDS = 3
BAR_TIME, BAR_MEMORY = 1.2, 0.05


def measure(quick: bool) -> Data:
    events = EVENTS // 10 if quick else EVENTS
    rounds = [_parts(events, "time") for _ in range(1 if quick else ROUNDS)]
    return {
        "events": events,
        "half": [_parts(events // 2, "time") for _ in rounds],
        "whole": rounds,
        "memory": _parts(events, "memory"),
    }


def _parts(events: int, what: str) -> list[Data]:
    return list(run_ours("loop_pattern.py", events, what)["parts"])


def _seconds(parts: list[Data]) -> float:
    return sum(float(part["seconds"]) for part in parts)


def section(data: Data) -> Section:
    whole, memory = data["whole"], data["memory"]
    halves = [_seconds(parts[5:]) / _seconds(parts[:5]) for parts in whole]
    taken = {name: median(map(_seconds, data[name])) for name in ("half", "whole")}
    growth = max(_growth(memory, "traced"), _growth(whole[0], "resident"))
    entries = _growth(whole[0], "entries")
    row = Row(
        f"`followed_by` and `one_or_more` over {data['events']:,} events of one key within 100 s, "
        "second half against the first",
        "time linear, memory flat",
        f"{median(halves):.2f} times the time, memory {growth:+.1%}, state {entries:+.0%}",
        median(halves) <= BAR_TIME and max(growth, entries) < BAR_MEMORY,
    )
    text = (
        "In a harness, one event a second, a snapshot of state every 250 events; "
        f"{whole[0][-1]['matches']:,} matches. Half of the events take {taken['half']:.2f} s, all "
        f"{taken['whole']:.2f} s ({data['events'] / taken['whole']:,.0f} events/s). Time, the most "
        "entries of state at the end of an epoch, and memory in MiB, tenth by tenth:"
    )
    numbers = range(1, len(memory) + 1)
    lines = [
        ["time, ms", *(f"{part['seconds'] * 1000:.0f}" for part in whole[0])],
        ["entries", *(part["entries"] for part in whole[0])],
        ["resident", *(f"{part['resident'] / 2**20:.1f}" for part in whole[0])],
        ["Python objects", *(f"{part['traced'] / 2**20:.3f}" for part in memory)],
    ]
    return Section([row], [text, table(["tenth", *map(str, numbers)], lines)])


def _growth(parts: list[Data], name: str) -> float:
    """From the second tenth to the last."""
    return float(parts[-1][name]) / float(parts[1][name]) - 1
