"""Names of the tables that operators keep for themselves: they begin with ``@``, users' do not."""

from __future__ import annotations

ACCUMULATORS = "@accumulators"
ELEMENTS = "@elements"
MERGING = "@merging"
PASSED = "@passed"
PANE_ACCUMULATORS = "@panes"
PANE_ELEMENTS = "@pane-elements"
SESSIONS = "@sessions"
SLICE_ACCUMULATORS = "@slices"
SLICE_ELEMENTS = "@slice-elements"
TIMED_ELEMENTS = "@timed-elements"
EVENT_TIMERS = "@event-timers"
PROCESSING_TIMERS = "@processing-timers"
PARTIAL_MATCHES = "@partial-matches"
MATCHED_EVENTS = "@matched-events"
WAITING_EVENTS = "@waiting-events"
