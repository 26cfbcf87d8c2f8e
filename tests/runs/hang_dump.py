"""A test that hangs has the stacks of all threads written to standard error.

pytest's own option (`faulthandler_timeout`) starts a thread for each test and waits for its end,
which takes longer than most tests. Here one thread serves all tests of some seconds.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import time
from collections.abc import Callable, Generator

import pytest

HANGS_AFTER_S = 300.0
RENEWED_AFTER_S = 20.0
"""Seconds by which the stacks may come too early."""


class HangDump:
    """The plugin of a process of tests.

    Args:
        arm: starts the thread, which writes the stacks after so many seconds unless it is called
            again.
        clock: gives the time in seconds.
    """

    def __init__(
        self, arm: Callable[[float], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._arm = arm
        self._clock = clock
        self._armed_at: float | None = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        now = self._clock()
        if self._armed_at is None or now - self._armed_at > RENEWED_AFTER_S:
            self._arm(HANGS_AFTER_S)
            self._armed_at = now
        return (yield)

    def pytest_enter_pdb(self) -> None:
        self._armed_at = None

    def pytest_exception_interact(self) -> None:
        """pytest has ended the thread."""
        self._armed_at = None


class StacksOfThreads:
    """Writes them to what was standard error when pytest began to capture it."""

    def __init__(self) -> None:
        # xdist's processes have another `sys.stderr`
        self._stderr = os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2)

    def __call__(self, seconds: float) -> None:
        faulthandler.dump_traceback_later(seconds, file=self._stderr)

    def pytest_unconfigure(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self._stderr)


def pytest_configure(config: pytest.Config) -> None:
    stacks = StacksOfThreads()
    config.pluginmanager.register(stacks)
    config.pluginmanager.register(HangDump(stacks))
