"""What a test changes of Python's logging is undone after it.

A command that runs in the process of the tests routes the loggers of Millrace to its own log, as in
a process of its own; `caplog` would see nothing of them in the tests that follow. A test that calls
parts of a worker leaves its thread with the origin of that worker's records.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from dataclasses import dataclass

import pytest

from millrace.runtime.logs.log_origin import current_log_origin, enter_log_origin

_NEW = (logging.NOTSET, True, False)
_OF_THE_SESSION = ("py4j",)
"""Quietened when Spark is started, which is once for many tests."""


@dataclass(frozen=True)
class LoggingState:
    """The levels and ways of all loggers, and the handlers of those that pass records on."""

    disabled: int
    loggers: dict[logging.Logger, tuple[int, bool, bool]]
    handlers: dict[logging.Logger, list[logging.Handler]]

    @staticmethod
    def now() -> LoggingState:
        manager = logging.root.manager
        known = list(manager.loggerDict.items())
        loggers: list[logging.Logger] = [logging.root]
        for name, logger in known:
            # not a place that is kept for one
            if type(logger) is not logging.PlaceHolder and name not in _OF_THE_SESSION:
                loggers.append(logger)  # type: ignore[arg-type]
        return LoggingState(
            manager.disable,
            {logger: (logger.level, logger.propagate, logger.disabled) for logger in loggers},
            {logger: list(logger.handlers) for logger in loggers if logger.handlers},
        )

    def restore(self) -> None:
        """A logger that was made since is left as a new one is."""
        now = LoggingState.now()
        if now == self:
            return
        logging.disable(self.disabled)
        for logger in now.loggers:
            level, logger.propagate, logger.disabled = self.loggers.get(logger, _NEW)
            logger.setLevel(level)
            logger.handlers[:] = self.handlers.get(logger, [])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    before, origin = LoggingState.now(), current_log_origin()
    result = yield
    before.restore()
    enter_log_origin(origin)
    return result
