"""Fixtures for pytest. Enable them in the topmost ``conftest.py``:

    pytest_plugins = ["millrace.testing.fixtures"]

They are not registered as a plugin by themselves: every run of pytest on a machine with Millrace
would pay for the import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from millrace.testing.manual_clock import ManualClock
from millrace.testing.mini_cluster import MiniCluster, run_local
from millrace.testing.mini_job import MiniJob
from millrace.testing.operator_harness import OperatorHarness


@pytest.fixture
def manual_clock() -> ManualClock:
    """Processing time of `millrace_local` and `mini_job`; it begins at 0."""
    return ManualClock()


@pytest.fixture
def millrace_local(manual_clock: ManualClock) -> Iterator[MiniCluster]:
    """Context in which jobs of the test run in this process, without Spark (`run_local`)."""
    with run_local(clock=manual_clock) as cluster:
        yield cluster


@pytest.fixture
def mini_job(manual_clock: ManualClock) -> Iterator[MiniJob]:
    """A `MiniJob`, in which the test builds a pipeline and advances it step by step."""
    with MiniJob(clock=manual_clock) as job:
        yield job


@pytest.fixture
def operator_harness() -> Iterator[Callable[..., OperatorHarness]]:
    """Factory of `OperatorHarness` objects (same arguments); they are closed after the test."""
    with ExitStack() as open_harnesses:

        def make(what: Any, *args: Any, **kwargs: Any) -> OperatorHarness:
            return open_harnesses.enter_context(OperatorHarness(what, *args, **kwargs))

        yield make
