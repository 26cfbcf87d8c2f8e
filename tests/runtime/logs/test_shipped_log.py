"""What workers on other machines log and print reaches the driver's log."""

from __future__ import annotations

import logging

from millrace.runtime.logs.log_origin import LogOrigin, enter_log_origin
from millrace.runtime.logs.shipped_log import MOST_CHARACTERS, MOST_LINES, ShippedLog, replay


def logger_to(shipped: ShippedLog) -> logging.Logger:
    logger = logging.getLogger("tests.shipped")
    logger.handlers, logger.propagate = [shipped], False
    logger.setLevel(logging.INFO)
    return logger


def test_records_and_prints_are_logged_again(caplog) -> None:
    shipped = ShippedLog()
    enter_log_origin(LogOrigin("count", "Map", 1))
    try:
        shipped.printed("stdout", "half a line")
        try:
            raise KeyError("tea")
        except KeyError:
            logger_to(shipped).exception("no price of %s", "tea")
    finally:
        enter_log_origin(LogOrigin())
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


def test_a_long_printed_line_is_kept_in_pieces() -> None:
    shipped = ShippedLog()
    shipped.printed("stdout", "x" * MOST_CHARACTERS + "y")
    shipped.printed("stdout", "")
    assert [line.message for line in shipped.take()] == ["x" * MOST_CHARACTERS, "y", ""]


def test_a_message_that_does_not_fit_its_arguments_is_no_failure(capsys) -> None:
    shipped = ShippedLog()
    logger_to(shipped).info("%d pieces", "many")
    assert shipped.take() == []
    assert "Logging error" in capsys.readouterr().err
