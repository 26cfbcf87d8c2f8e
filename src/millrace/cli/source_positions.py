"""Positions of sources, as far as a snapshot shows them without running code."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import MillraceError
from millrace.common.source import SourceSplit
from millrace.common.types.short_values import shown
from millrace.state.serialization.payload import decode

_SHOWN = 10
"""Splits of a source that are described."""


def describe_source(data: bytes) -> list[str]:
    """A line per split: its name and its position.

    Args:
        data: the state of the source's coordinator in the checkpoint.
    """
    try:
        state = decode(data)
        assigned, waiting = state["assigned"], state["waiting"]
    except (MillraceError, ValueError, KeyError, TypeError):
        return [f"its position is in objects of the job's own ({len(data)} bytes)"]
    lines = [f"split {_name(split)}: {_position(position)}" for split, _, position in assigned]
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN:,} more splits"]
    if waiting:
        lines.append(f"{len(waiting):,} splits that no subtask reads yet")
    return lines or ["no split is being read"]


def _name(split: Any) -> str:
    return split.split_id if isinstance(split, SourceSplit) else shown(split)


def _position(position: Any) -> str:
    return "not begun" if position is None else f"read up to {shown(position)}"
