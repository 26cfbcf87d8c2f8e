"""Tools to test functions and whole pipelines in this process, with a clock held by hand."""

from __future__ import annotations

from millrace.testing.faults import Faults
from millrace.testing.local_executor import LocalExecutor
from millrace.testing.manual_clock import ManualClock
from millrace.testing.mini_cluster import MiniCluster, run_local
from millrace.testing.operator_harness import OperatorHarness, OperatorSnapshot, StreamRecord

__all__ = [
    "Faults",
    "LocalExecutor",
    "ManualClock",
    "MiniCluster",
    "OperatorHarness",
    "OperatorSnapshot",
    "StreamRecord",
    "run_local",
]
