from __future__ import annotations

import logging
from contextlib import contextmanager

from millrace.runtime.logs.log_formats import JsonLogFormat, TextLogFormat
from millrace.runtime.logs.log_place import PlaceFilter
from millrace.runtime.logs.log_settings import LogSettings
from millrace.runtime.logs.worker_log import set_up_worker_log


@contextmanager
def root_of_a_worker():
    """The root logger without the handlers that pytest gives it for the time of a test."""
    logger = logging.getLogger()
    handlers, level = logger.handlers, logger.level
    logger.handlers = []
    try:
        yield logger
    finally:
        logger.handlers = handlers
        logger.setLevel(level)


def test_a_worker_logs_to_standard_error(capsys) -> None:
    with root_of_a_worker() as root:
        check_standard_error(root, capsys)


def check_standard_error(root, capsys) -> None:
    set_up_worker_log(LogSettings("INFO"))
    logging.getLogger("tests.worker").info("hello")
    assert capsys.readouterr().err.endswith(" INFO tests.worker: hello\n")
    (handler,) = root.handlers
    assert isinstance(handler.formatter, TextLogFormat)
    set_up_worker_log(LogSettings(json=True))  # of the next job in this worker
    assert root.handlers == [handler]
    assert isinstance(handler.formatter, JsonLogFormat)
    assert root.level == logging.WARNING


def test_what_the_job_has_set_up_stays() -> None:
    with root_of_a_worker() as root:
        check_own_handler(root)


def check_own_handler(root) -> None:
    own = logging.StreamHandler()
    root.handlers.append(own)
    for _ in range(2):
        set_up_worker_log(LogSettings("INFO"))
    assert root.handlers == [own]
    assert own.formatter is None
    assert [type(one) for one in own.filters] == [PlaceFilter]
