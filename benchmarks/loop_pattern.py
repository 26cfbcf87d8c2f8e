"""Whether a pattern with a loop goes on taking the same time and memory: ``within`` bounds it. And
what a greedy loop without a bound keeps: its matches share what they have taken."""

from __future__ import annotations

from statistics import median

from bar import Data, Row, Section, table
from job_process import run_ours

TITLE = "A pattern with a loop"
EVENTS = 100_000
ROUNDS = 3
BAR_TIME, BAR_MEMORY = 1.2, 0.05
GREEDY_EVENTS, BAR_ENTRIES = 1_000, 4
"""Entries of state per event; shared they are three."""


def measure(quick: bool) -> Data:
    events = EVENTS // 10 if quick else EVENTS
    rounds = [_parts(events, "time") for _ in range(1 if quick else ROUNDS)]
    return {
        "events": events,
        "half": [_parts(events // 2, "time") for _ in rounds],
        "whole": rounds,
        "memory": _parts(events, "memory"),
        "greedy": run_ours("greedy_pattern.py", GREEDY_EVENTS),
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
    greedy = data["greedy"]
    per_event = greedy["entries"] / GREEDY_EVENTS
    greedy_row = Row(
        f"`one_or_more().greedy()` over {GREEDY_EVENTS:,} events of one key, entries per event",
        f"at most {BAR_ENTRIES}",
        f"{per_event:.1f}",
        per_event <= BAR_ENTRIES,
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
    half = GREEDY_EVENTS // 2
    greedy_text = (
        f"A greedy loop and then one event, {GREEDY_EVENTS:,} events, a snapshot every 100: "
        f"{greedy['entries']:,} entries of state, {greedy['taking']:.2f} s to take the events, "
        f"{greedy['results'] * 1000:.0f} ms for the {GREEDY_EVENTS:,} matches at the end. "
        f"`match` with the loop alone, half of the events, {half * (half + 1) // 2:,} matches: "
        f"{greedy['match']:.2f} s."
    )
    table_of_parts = table(["tenth", *map(str, numbers)], lines)
    return Section([row, greedy_row], [text, table_of_parts, greedy_text])


def _growth(parts: list[Data], name: str) -> float:
    """From the second tenth to the last."""
    return float(parts[-1][name]) / float(parts[1][name]) - 1
