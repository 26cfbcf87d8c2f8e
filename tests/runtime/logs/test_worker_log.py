from __future__ import annotations

import json
import logging
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from millrace.runtime.logs.log_formats import JsonLogFormat, TextLogFormat
from millrace.runtime.logs.log_place import LogPlace, PlaceFilter, at_place
from millrace.runtime.logs.log_settings import LogSettings
from millrace.runtime.logs.worker_log import set_up_worker_log, take_shipped


@contextmanager
def root_of_a_worker():
    """The root logger without the handlers that pytest gives it for the time of a test."""
    logger = logging.getLogger()
    handlers, level = logger.handlers, logger.level
    streams = sys.stdout, sys.stderr
    logger.handlers = []
    try:
        yield logger
    finally:
        sys.stdout, sys.stderr = streams
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


def print_a_line_and_a_traceback() -> None:
    print("seen", 3)
    try:
        raise KeyError("tea")
    except KeyError:
        traceback.print_exc()


def test_records_and_prints_go_to_the_log_in_whole_lines(tmp_path: Path) -> None:
    with root_of_a_worker():
        set_up_worker_log(LogSettings("INFO", file=str(tmp_path / "log")))
        logging.getLogger("tests.worker").info("hello")
        print_a_line_and_a_traceback()
    first, *printed = (tmp_path / "log").read_text().splitlines()
    assert first.endswith(" INFO tests.worker: hello")
    assert printed[:2] == ["seen 3", "Traceback (most recent call last):"]
    assert printed[-1] == "KeyError: 'tea'"


def test_in_json_prints_are_records_too(tmp_path: Path) -> None:
    with root_of_a_worker(), at_place(LogPlace("count", "Map", 1)):
        set_up_worker_log(LogSettings("WARNING", json=True, file=str(tmp_path / "log")))
        print_a_line_and_a_traceback()
    said = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [(said[0][key]) for key in ("logger", "level", "message", "job", "operator")] == [
        "stdout", "INFO", "seen 3", "count", "Map",
    ]  # fmt: skip
    assert (said[-1]["logger"], said[-1]["message"]) == ("stderr", "KeyError: 'tea'")


def test_what_is_printed_without_an_end_is_in_the_log_when_a_subtask_answers(
    tmp_path: Path,
) -> None:
    with root_of_a_worker():
        set_up_worker_log(LogSettings("INFO", file=str(tmp_path / "log")))
        other = Thread(target=print, args=("theirs",), kwargs={"end": "", "flush": True})
        other.start()
        other.join()
        print("mine", end="")
        assert (tmp_path / "log").read_text() == ""
        assert take_shipped() == []
    assert (tmp_path / "log").read_text() == "theirs\nmine\n"


def test_the_next_job_of_a_worker_has_another_log(tmp_path: Path) -> None:
    with root_of_a_worker():
        for name in ("one", "two"):
            set_up_worker_log(LogSettings("INFO", file=str(tmp_path / name)))
            logging.getLogger("tests.worker").info("hello %s", name)
            print("this is", name)
    for name in ("one", "two"):
        record, line = (tmp_path / name).read_text().splitlines()
        assert record.endswith(f"hello {name}")
        assert line == f"this is {name}"


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
