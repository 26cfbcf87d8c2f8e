"""Where a source stands, as far as its checkpoint tells without running any code."""

from __future__ import annotations

import io
import pickle
from typing import Any

from millrace.cli.values import shown
from millrace.common.errors import MillraceError
from millrace.common.payload import MARSHAL, decode
from millrace.common.source import SourceSplit

_SHOWN = 10
"""Splits of a source that are described."""
_OURS = ("millrace.connectors.", "millrace.common.", "millrace.formats.")


def describe_source(data: bytes) -> list[str]:
    """A line per split: what it is and how far it was read.

    Args:
        data: what the source's coordinator put into the checkpoint.
    """
    try:
        state = _plain(data)
        assigned, waiting = state["assigned"], state["waiting"]
    except (MillraceError, pickle.UnpicklingError, ValueError, KeyError, TypeError, EOFError):
        return [f"its position is in objects of the job's own ({len(data)} bytes)"]
    lines = [f"split {_name(split)}: {_position(position)}" for split, _, position in assigned]
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"and {len(lines) - _SHOWN:,} more splits"]
    if waiting:
        lines.append(f"{len(waiting):,} splits that nobody reads yet")
    return lines or ["no split is being read"]


def _name(split: Any) -> str:
    return split.split_id if isinstance(split, SourceSplit) else shown(split)


def _position(position: Any) -> str:
    return "not begun" if position is None else f"read up to {shown(position)}"


def _plain(data: bytes) -> Any:
    if data[:1] == MARSHAL:
        return decode(data)
    return _SplitsOnly(io.BytesIO(data[1:])).load()


class _SplitsOnly(pickle.Unpickler):
    """Makes splits and positions of our own sources: plain data; refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith(_OURS) and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and issubclass(found, (SourceSplit, tuple)):
                return found
        if (module, name) == ("collections", "deque"):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not plain")
