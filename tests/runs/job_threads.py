"""A test begins when the threads of earlier tests' jobs have ended.

Resident tasks in threads are told to return when their job ends. A thread cannot be killed, so that
on a busy machine one outlives its job by some seconds. It would still call functions of its job,
and take what belongs to the process, such as notices, while the next test runs.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Generator
from weakref import WeakSet

import pytest

from millrace.testing.resident_tasks import TASK_THREADS

LONGEST_WAIT_S = 20.0
"""Seconds at most after a test. A test may leave a thread that never ends, because its function
waits for ever; nobody waits for it again."""

_stuck: WeakSet[threading.Thread] = WeakSet()


def await_task_threads(longest_wait_s: float = LONGEST_WAIT_S) -> None:
    """Wait for the end of resident tasks that run as threads of this process, and warn of one that
    does not end in time."""
    until = time.monotonic() + longest_wait_s
    for thread in threading.enumerate():
        if thread.name.startswith(TASK_THREADS) and thread not in _stuck:
            thread.join(max(0.0, until - time.monotonic()))
            if thread.is_alive():
                _stuck.add(thread)
                warnings.warn(f"{thread.name} goes on beside the next tests", stacklevel=2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    result = yield
    await_task_threads()
    return result
