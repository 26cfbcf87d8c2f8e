"""Tools that test functions and whole pipelines in this process, with a manual clock."""

from __future__ import annotations

from millrace.testing.collecting_sink import CollectingSink
from millrace.testing.faults import Faults
from millrace.testing.local_executor import LocalExecutor
from millrace.testing.manual_clock import ManualClock
from millrace.testing.mini_cluster import MiniCluster, run_local
from millrace.testing.mini_job import MiniJob
from millrace.testing.operator_harness import OperatorHarness, OperatorSnapshot
from millrace.testing.pattern_match import match
from millrace.testing.pattern_run import MatchResult, PatternMatch
from millrace.testing.pattern_trace import Trace, trace
from millrace.testing.pushed_source import PushedSource
from millrace.testing.state_view import Timer
from millrace.testing.stream_record import StreamRecord

__all__ = [
    "CollectingSink",
    "Faults",
    "LocalExecutor",
    "ManualClock",
    "MatchResult",
    "MiniCluster",
    "MiniJob",
    "OperatorHarness",
    "OperatorSnapshot",
    "PatternMatch",
    "PushedSource",
    "StreamRecord",
    "Timer",
    "Trace",
    "match",
    "run_local",
    "trace",
]
