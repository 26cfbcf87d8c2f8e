"""Text of the difference between two snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millrace.common.types.short_values import shown
from millrace.state.snapshot_diff import DifferingEntry, StateDiff

_MARKS = {"added": "+", "changed": "~", "removed": "-"}


def lines(diffs: Sequence[StateDiff]) -> Iterator[str]:
    """Yield the lines to print; only differences are shown."""
    shown = [diff for diff in diffs if diff.differs or diff.unread or _came_or_went(diff)]
    if not shown:
        yield "no state differs"
    operator = ""
    for diff in shown:
        if diff.uid != operator:
            operator = diff.uid
            yield f"{diff.operator or diff.uid} ({diff.uid})" if diff.uid else "all operators"
        yield f"  {diff.name} ({diff.shape.value}){_whereabouts(diff)}: {_counts(diff)}"
        for sample in diff.samples:
            yield f"    {_MARKS[sample.change]} {_sample(sample)}"


def _came_or_went(diff: StateDiff) -> bool:
    """Whether only one snapshot has the state; internal tables, which operators have in any
    case, do not count."""
    return diff.before != diff.after and not diff.table.internal


def _whereabouts(diff: StateDiff) -> str:
    if diff.before and diff.after:
        return ""
    return ", only in the second" if diff.after else ", only in the first"


def _counts(diff: StateDiff) -> str:
    if diff.unread:
        return "not compared"
    counts = ((diff.added, "added"), (diff.changed, "changed"), (diff.removed, "removed"))
    return ", ".join(f"{count:,} {word}" for count, word in counts)


def _sample(sample: DifferingEntry) -> str:
    place = "" if sample.key is None else shown(sample.key)
    if sample.window is not None:
        place = f"{place} in {shown(sample.window)}".strip()
    values = {
        "added": shown(sample.new),
        "removed": shown(sample.old),
        "changed": f"{shown(sample.old)} -> {shown(sample.new)}",
    }[sample.change]
    return f"{place}: {values}" if place else values
