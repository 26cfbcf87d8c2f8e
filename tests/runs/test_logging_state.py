"""What a test does to logging, the next one does not see."""

from __future__ import annotations

import logging

from logging_state import LoggingState

from millrace.runtime.logs.log_origin import LogOrigin, current_log_origin, enter_log_origin


def test_everything_is_restored() -> None:
    logger, quiet = logging.getLogger("tests.runs.loud"), logging.getLogger("tests.runs.quiet")
    logger.setLevel(logging.ERROR)
    before = LoggingState.now()
    handler = logging.NullHandler()
    logging.root.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    quiet.disabled = True
    logging.getLogger("tests.runs.new").setLevel(logging.DEBUG)
    logging.disable(logging.ERROR)
    before.restore()
    assert LoggingState.now().handlers == before.handlers
    assert (logger.level, logger.propagate, quiet.disabled) == (logging.ERROR, True, False)
    assert logging.getLogger("tests.runs.new").level == logging.NOTSET
    assert logging.root.manager.disable == 0


def test_a_server_that_logged_everything_is_forgotten() -> None:
    """Each of these two tests finds what pytest began with, whichever comes first."""
    assert logging.root.level == logging.WARNING
    logging.root.setLevel(logging.INFO)


def test_a_server_that_logged_everything_is_forgotten_again() -> None:
    assert logging.root.level == logging.WARNING
    logging.root.setLevel(logging.INFO)


def test_the_origin_of_a_worker_is_forgotten() -> None:
    assert current_log_origin().operator is None
    enter_log_origin(LogOrigin("job", "Map", 0))


def test_the_origin_of_a_worker_is_forgotten_again() -> None:
    assert current_log_origin().operator is None
    enter_log_origin(LogOrigin("job", "Map", 0))
