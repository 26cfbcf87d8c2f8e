"""The names of views."""

from __future__ import annotations

from millrace.state.kinds.state_shape import StateShape
from millrace.state.kinds.table_kind import TableKind
from millrace.state.snapshot_reader import StateInfo
from millrace.state.table_id import TableId
from millrace.state.table_kinds import (
    EVENT_TIMER_QUEUE,
    FLAT,
    MAP,
    OPERATOR_VALUES,
    PANES,
    PROCESSING_TIMER_QUEUE,
    TTL_FLAT,
    WINDOW_FLAT,
)
from millrace.state_processor.state_views import state_views, views_in_query


def info(uid: str, name: str, kind: TableKind = FLAT, operator: str = "Operator") -> StateInfo:
    return StateInfo(
        TableId(uid, name), operator, kind, uid, 1, (0,)
    )  # fmt: skip


STATES = [
    info("accounts", "balance"),
    info("accounts", "Last Seen", TTL_FLAT),
    info("accounts", "@event-timers", EVENT_TIMER_QUEUE),
    info("accounts", "@processing-timers", PROCESSING_TIMER_QUEUE),
    info("0123456789abcdef", "count", operator="Count Words"),
    info("windows", "@panes", PANES),
    info("windows", "@merging", MAP),
    info("windows", "@trigger/count", WINDOW_FLAT),
    info("", "@operator", OPERATOR_VALUES),
]


def test_names_and_columns() -> None:
    """Uid and state; the operator's name where its uid is a hash; no bookkeeping."""
    views = {view.name: view for view in state_views(STATES)}
    assert {name: view.columns for name, view in views.items()} == {
        "accounts_balance": ("key", "value"),
        "accounts_last_seen": ("key", "value", "written"),
        "accounts_timers": (
            "key", "timestamp", "time_domain", "window_start", "window_end", "window",
        ),
        "count_words_count": ("key", "value"),
        "windows_windows": ("key", "window_start", "window_end", "window", "value"),
        "windows_trigger_count": ("key", "window_start", "window_end", "window", "value"),
    }  # fmt: skip
    assert [i.name for i in views["accounts_timers"].states] == [
        "@event-timers",
        "@processing-timers",
    ]
    assert views["accounts_balance"].first.shape is StateShape.VALUE


def test_names_are_different() -> None:
    """Whatever the uids and states are called."""
    states = [info("a", "b c"), info("a", "b.c"), info("a b", "c"), info("1", "x"), info("é", "ß")]
    names = [view.name for view in state_views(states)]
    assert names == ["_", "_1_x", "a_b_c", "a_b_c_2", "a_b_c_3"]


def test_views_that_a_query_names() -> None:
    """Only these are made."""
    query = "SELECT count(*) FROM Accounts_Balance b JOIN count_words_count USING (key)"
    found = [view.name for view in views_in_query(state_views(STATES), query)]
    assert found == ["accounts_balance", "count_words_count"]
