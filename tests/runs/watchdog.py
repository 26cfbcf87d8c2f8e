"""A process of tests that crashes ends a divided run, and the last lines name it and its test.

xdist learns of a crash when the pipe to the process closes; a child that the process has forked
holds it open, and the run waits for ever. So the processes themselves are looked at, too.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

LOOKS_EVERY_S = 1.0
XDIST_NOTICES_WITHIN_S = 3.0
"""Then the crash is reported as a failure of the test, which is how it reads best."""
ENDS_WITHIN_S = 60.0
_TEST = "current_test"


class CurrentTest:
    """The plugin of a process of tests; writes the name of the test that it runs into a file."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, nodeid.encode(), 0)

    def pytest_unconfigure(self) -> None:
        os.close(self._file)


class Watchdog:
    """The plugin of the process that divides the tests among others."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._directory = tempfile.TemporaryDirectory(prefix="millrace-tests-")
        self._running: dict[str, Any] = {}
        self._over = threading.Event()
        self._looks = threading.Thread(target=self._look, daemon=True, name="watchdog")

    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_TEST] = str(self._test_of(node))
        self._running[node.gateway.id] = node
        if not self._looks.is_alive():
            self._looks.start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        if error is None:
            self._running.pop(node.gateway.id, None)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, report: Any) -> None:
        """xdist has noticed. It would let others go on, and end as when a test fails."""
        told = self._told_of(report.node, _exit_code(report.node) or 0)
        report.longrepr = told
        self._config.pluginmanager.getplugin("dsession").shouldstop = told

    def pytest_unconfigure(self) -> None:
        self._over.set()
        self._directory.cleanup()

    def _test_of(self, node: Any) -> Path:
        return Path(self._directory.name) / node.gateway.id

    def _look(self) -> None:
        while not self._over.wait(LOOKS_EVERY_S):
            for node in list(self._running.values()):
                code = _exit_code(node)
                if code is not None and not self._over.wait(XDIST_NOTICES_WITHIN_S):
                    if node.gateway.id in self._running:
                        self._end(self._told_of(node, code))
                    return

    def _told_of(self, node: Any, code: int) -> str:
        how = f"of {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        try:
            test = self._test_of(node).read_text() or "before its first test"
        except OSError:
            test = "before its first test"
        return f"the process of tests {node.gateway.id} crashed {how}: {test}"

    def _end(self, told: str) -> None:
        """Lets pytest end the run; if it does not, ends it without pytest."""
        division = self._config.pluginmanager.getplugin("dsession")

        def stop() -> None:
            from xdist.dsession import Interrupted

            raise Interrupted(told)

        division.worker_crashed = stop
        division.queue.put(("crashed", {}))
        if not self._over.wait(ENDS_WITHIN_S):
            for node in self._running.values():
                if _exit_code(node) is None:
                    _process(node).kill()
            sys.__stderr__.write(f"\n{told}\n")  # type: ignore[union-attr]
            sys.__stderr__.flush()  # type: ignore[union-attr]
            os._exit(pytest.ExitCode.INTERRUPTED)


def _process(node: Any) -> Any:
    return node.gateway._io.popen


def _exit_code(node: Any) -> int | None:
    """None while it lives, or has not been started yet."""
    if not hasattr(node, "gateway") or not hasattr(node.gateway, "_io"):
        return None
    code: int | None = _process(node).poll()
    return code


def pytest_configure(config: pytest.Config) -> None:
    own: dict[str, Any] = getattr(config, "workerinput", {})
    if _TEST in own:
        config.pluginmanager.register(CurrentTest(own[_TEST]))
    elif config.getoption("numprocesses", None):
        config.pluginmanager.register(Watchdog(config))
