"""Difference of two snapshots as JSON."""

from __future__ import annotations

from typing import Any

from millrace.common.types.json_values import MAX_BITS
from millrace.common.types.short_values import shown
from millrace.state.snapshot_diff import StateDiff

__all__ = ["diff_as_json"]


def diff_as_json(diff: StateDiff) -> dict[str, Any]:
    """JSON form of a difference, for machines. Values that JSON does not support are given as
    Python writes them."""
    return {
        "uid": diff.uid,
        "operator": diff.operator,
        "state": diff.name,
        "kind": diff.shape.value,
        "in_first": diff.before,
        "in_second": diff.after,
        "added": diff.added,
        "changed": diff.changed,
        "removed": diff.removed,
        "unread": diff.unread or None,
        "samples": [
            {name: _plain(value) for name, value in sample._asdict().items()}
            for sample in diff.samples
        ],
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, float, str)):
        return value
    if isinstance(value, int) and value.bit_length() <= MAX_BITS:
        return value
    return shown(value)
