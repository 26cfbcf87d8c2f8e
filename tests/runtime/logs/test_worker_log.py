from __future__ import annotations

import json
import logging
import subprocess
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from millrace.runtime.logs import worker_log
from millrace.runtime.logs.job_notices import NoticeHandler
from millrace.runtime.logs.log_formats import JsonLogFormat, TextLogFormat
from millrace.runtime.logs.log_origin import LogOrigin, LogOriginFilter, at_log_origin
from millrace.runtime.logs.log_settings import LogSettings
from millrace.runtime.logs.worker_log import set_up_worker_log, take_shipped


@contextmanager
def root_of_a_worker():
    """The root logger without the handlers that pytest gives it for the time of a test, in a
    process that has not been a worker before."""
    logger = logging.getLogger()
    handlers, level, log = logger.handlers, logger.level, worker_log._log
    streams = sys.stdout, sys.stderr
    logger.handlers = []
    worker_log._log = worker_log._WorkerLog()
    try:
        yield logger
    finally:
        worker_log._log = log
        sys.stdout, sys.stderr = streams
        logger.handlers = handlers
        logger.setLevel(level)


def test_a_worker_logs_to_standard_error(capsys) -> None:
    with root_of_a_worker() as root:
        check_standard_error(root, capsys)


def writing(root) -> list[logging.Handler]:
    """The handlers that write a log."""
    return [handler for handler in root.handlers if not isinstance(handler, NoticeHandler)]


def check_standard_error(root, capsys) -> None:
    set_up_worker_log(LogSettings("INFO"))
    logging.getLogger("tests.worker").info("hello")
    assert capsys.readouterr().err.endswith(" INFO tests.worker: hello\n")
    (handler,) = writing(root)
    assert isinstance(handler.formatter, TextLogFormat)
    set_up_worker_log(LogSettings(json=True))  # of the next job in this worker
    assert writing(root) == [handler]
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
    with root_of_a_worker(), at_log_origin(LogOrigin("count", "Map", 1)):
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
    assert writing(root) == [own]
    assert [type(one) for one in root.handlers].count(NoticeHandler) == 1
    assert own.formatter is None
    assert [type(one) for one in own.filters] == [LogOriginFilter]


SAID = ("seen 1", "printed", "odd")
BROKEN = """
import logging, sys
from millrace.runtime.logs.log_settings import LogSettings
from millrace.runtime.logs.worker_log import set_up_worker_log, take_shipped

set_up_worker_log(LogSettings("INFO", json={json}, ships=True))
if {closed}:
    sys.stderr.stream.close()
logging.getLogger("app").warning("seen %d", 1)
print("printed")
if {json}:
    print("odd", file=sys.stderr)
open(sys.argv[1], "w").write("\\n".join(line.message for line in take_shipped()))
"""


@pytest.mark.parametrize("closed", [False, True], ids=["full", "closed"])
@pytest.mark.parametrize("json", [False, True], ids=["text", "json"])
def test_a_broken_standard_error_fails_no_function(
    tmp_path: Path, json: bool, closed: bool
) -> None:
    """What is said reaches the driver all the same."""
    program = BROKEN.format(json=json, closed=closed)
    with open("/dev/full", "w") as full:
        arguments = [sys.executable, "-c", program, str(tmp_path / "shipped")]
        subprocess.run(arguments, stderr=full, stdout=subprocess.DEVNULL, check=False)
    shipped = (tmp_path / "shipped").read_text().splitlines()
    assert [line for line in shipped if line in SAID] == [*SAID][: 3 if json else 2]
    assert closed or len(shipped) <= len(SAID)


def test_a_log_that_cannot_be_opened_fails_no_job(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """What is said goes to standard error, until a job finds the directory again."""
    path = tmp_path / "removed" / "log"
    with root_of_a_worker():
        set_up_worker_log(LogSettings("INFO", file=str(path)))
        logging.getLogger("tests.worker").info("hello")
        print("seen")
        captured = capsys.readouterr()
        complaint, record = captured.err.splitlines()
        assert f"WARNING millrace.runtime.logs.worker_log: cannot open the log {path} " in complaint
        assert record.endswith(" INFO tests.worker: hello")
        assert captured.out == "seen\n"
        path.parent.mkdir()
        set_up_worker_log(LogSettings("INFO", file=str(path)))
        logging.getLogger("tests.worker").info("hello again")
        print("seen")
    record, printed = path.read_text().splitlines()
    assert record.endswith(" INFO tests.worker: hello again")
    assert printed == "seen"


def test_what_a_handler_prints_of_a_record_is_not_shipped_besides() -> None:
    """A function's own handler writes to standard error, which is shipped, as the record is."""
    with root_of_a_worker():
        set_up_worker_log(LogSettings("INFO", ships=True))
        logger = logging.getLogger("tests.worker.own")
        logger.addHandler(logging.StreamHandler())
        try:
            logger.warning("seen\n%s", 1)
            print("odd", file=sys.stderr)
            logger.propagate = False  # the root logger does not get it: only the line is left
            logger.warning("alone")
        finally:
            logger.handlers.clear()
            logger.propagate = True
        said = [(line.logger, line.message) for line in take_shipped()]
    assert said == [("tests.worker.own", "seen\n1"), ("stderr", "odd"), ("stderr", "alone")]


def test_what_a_handler_complains_of_is_shipped() -> None:
    with root_of_a_worker():
        set_up_worker_log(LogSettings("INFO", ships=True))
        logging.getLogger("tests.worker").warning("got %d", "x")
        said = [line.message for line in take_shipped()]
    assert "--- Logging error ---" in said
    assert "Message: 'got %d'" in said
