"""SQL views of a snapshot, one per state, and their names.

The name of a view is ``<operator>_<state>``, in lower case, with an underscore for each run of
other characters than letters and digits. ``<operator>`` is the uid, or the operator's name if the
uid is a generated hash. The timers of an operator, of event and processing time, are one view,
``<operator>_timers``; its open windows are ``<operator>_windows``. If two views would have the same
name, the later one gets a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from millrace.runtime.window_state import TABLES
from millrace.state.internal_tables import EVENT_TIMERS, MERGING, PASSED, PROCESSING_TIMERS
from millrace.state.kinds.state_shape import StateShape
from millrace.state.snapshot_reader import StateInfo
from millrace.state_processor.state_rows import column_names

__all__ = [
    "VIEW_COLUMNS",
    "SqlView",
    "is_show_tables",
    "state_views",
    "view_rows",
    "views_in_query",
]

VIEW_COLUMNS = ("view", "columns", "uid", "operator", "state", "shape")
"""The columns of the result of ``SHOW TABLES``."""
_HIDDEN = (MERGING, PASSED)
"""Internal states of window operators, which get no view."""
_HASH = re.compile(r"[0-9a-f]{16}")
"""Pattern of generated uids."""
_TIMERS = (EVENT_TIMERS, PROCESSING_TIMERS)


@dataclass(frozen=True, slots=True)
class SqlView:
    """A view of one state, or of an operator's timers."""

    name: str
    states: tuple[StateInfo, ...]

    @property
    def first(self) -> StateInfo:
        """The state, or the first of the timer states."""
        return self.states[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the view's columns."""
        return column_names(self.first)


def state_views(states: Iterable[StateInfo]) -> list[SqlView]:
    """The views of the given states, sorted by name."""
    groups: dict[tuple[str, str], list[StateInfo]] = {}
    for info in states:
        if info.shape is not StateShape.OPERATOR and info.name not in _HIDDEN:
            groups.setdefault((info.uid, _label(info)), []).append(info)
    taken: set[str] = set()
    views = []
    for (uid, label), infos in sorted(groups.items()):
        operator = infos[0].operator if _HASH.fullmatch(uid) else uid
        name = _unused(_identifier(f"{operator or uid}_{label}"), taken)
        taken.add(name)
        views.append(SqlView(name, tuple(infos)))
    return sorted(views, key=lambda view: view.name)


def is_show_tables(query: str) -> bool:
    """Whether the query is ``SHOW TABLES`` or ``SHOW VIEWS``."""
    return re.fullmatch(r"\s*show\s+(tables|views)\s*;?\s*", query, re.IGNORECASE) is not None


def view_rows(views: Iterable[SqlView]) -> list[tuple[str, ...]]:
    """The result of ``SHOW TABLES``: a row with the `VIEW_COLUMNS` per view."""
    return [_row(view) for view in views]


def _row(view: SqlView) -> tuple[str, ...]:
    info = view.first
    shape = "timers" if info.shape.is_timers else info.shape.value
    operator = info.operator or info.uid
    return view.name, ", ".join(view.columns), info.uid, operator, info.name, shape


def views_in_query(views: Iterable[SqlView], query: str) -> list[SqlView]:
    """The views whose names occur in the query."""
    words = set(re.findall(r"\w+", query.lower()))
    return [view for view in views if view.name in words]


def _label(info: StateInfo) -> str:
    if info.name in _TIMERS:
        return "timers"
    return "windows" if info.name in TABLES else info.name


def _identifier(text: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return f"_{name}" if name[:1].isdigit() else name or "_"


def _unused(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"
