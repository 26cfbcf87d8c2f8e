"""What workers on other machines log and print reaches the driver's log."""

from __future__ import annotations

import io
import logging
import sys

from millrace.runtime.logs.log_place import LogPlace, enter_place
from millrace.runtime.logs.shipped_log import MOST_CHARACTERS, MOST_LINES, ShippedLog, replay


def logger_to(shipped: ShippedLog) -> logging.Logger:
    logger = logging.getLogger("tests.shipped")
    logger.handlers, logger.propagate = [shipped], False
    logger.setLevel(logging.INFO)
    return logger


def test_records_and_prints_are_logged_again(monkeypatch, caplog) -> None:
    shipped = ShippedLog()
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stdout", screen)
    shipped.tee_stdout()
    shipped.tee_stdout()
    enter_place(LogPlace("count", "Map", 1))
    try:
        print("half", end="")
        print(" a line")
        try:
            raise KeyError("tea")
        except KeyError:
            logger_to(shipped).exception("no price of %s", "tea")
    finally:
        enter_place(LogPlace())
    assert screen.getvalue() == "half a line\n"
    lines = shipped.take()
    assert shipped.take() == []
    with caplog.at_level(logging.INFO, "millrace"):
        replay(lines)
    printed, failure = caplog.records
    assert (printed.name, printed.getMessage()) == ("millrace.worker.stdout", "half a line")
    assert failure.name == "millrace.worker.tests.shipped"
    assert failure.levelno == logging.ERROR
    assert failure.getMessage().startswith("no price of tea\nTraceback")
    assert failure.getMessage().endswith("KeyError: 'tea'")
    assert (failure.job, failure.operator, failure.subtask) == ("count", "Map", 1)
    assert failure.created == lines[1].created


def test_the_newest_lines_are_kept() -> None:
    shipped = ShippedLog()
    logger = logger_to(shipped)
    for number in range(MOST_LINES + 5):
        logger.info("%s", number)
    logger.info("x" * (MOST_CHARACTERS + 1))
    first, *others = shipped.take()
    assert first.message == "6 lines before this one were left out"
    assert len(others) == MOST_LINES
    assert others[0].message == "6"
    assert len(others[-1].message) == MOST_CHARACTERS
