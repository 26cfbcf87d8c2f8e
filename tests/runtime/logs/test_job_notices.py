"""Warnings of workers, and what operators tell on purpose, are kept for the driver."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from threading import Thread
from typing import Any

import pytest

from millrace.runtime.logs import job_notices
from millrace.runtime.logs.job_notices import (
    MOST_CHARACTERS,
    MOST_KINDS,
    NoticeHandler,
    begin_notices,
    has_new_notices,
    take_notices,
    tell,
)
from millrace.runtime.logs.log_origin import LogOrigin, at_log_origin
from millrace.runtime.logs.worker_notice import WorkerNotice


class _OfOneTest:
    """Keeps the notices of a test apart from those of threads that earlier tests have left: a job
    that has not ended yet takes the notices of no job with each of its acknowledgements."""

    def __init__(self) -> None:
        self._own, self._before = job_notices._KeptNotices(), job_notices._kept
        self._strangers = set(threading.enumerate()) - {threading.current_thread()}

    def __getattr__(self, name: str) -> Any:
        is_strange = threading.current_thread() in self._strangers
        return getattr(self._before if is_strange else self._own, name)


@pytest.fixture
def logger(monkeypatch: pytest.MonkeyPatch) -> logging.Logger:
    monkeypatch.setattr(job_notices, "_kept", _OfOneTest())
    logger = logging.getLogger("tests.notices")
    logger.handlers, logger.propagate = [NoticeHandler()], False
    logger.setLevel(logging.INFO)
    return logger


@pytest.fixture
def left_behind() -> Iterator[Executor]:
    """A thread that an earlier test has left."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(int).result()
        yield thread


def test_threads_of_earlier_tests_neither_take_nor_add(
    left_behind: Executor, logger: logging.Logger
) -> None:
    logger.warning("slow")
    left_behind.submit(take_notices, "another job").result()
    left_behind.submit(logger.warning, "also slow").result()
    assert [notice.text for notice in take_notices("count")] == ["slow"]
    assert [n.text for n in left_behind.submit(take_notices, "sum").result()][-1:] == ["also slow"]


def test_warnings_are_kept_with_their_place(logger: logging.Logger) -> None:
    logger.info("all is well")
    with at_log_origin(LogOrigin("count", "Map", 1)):
        logger.warning("no price of %s", "tea")
    assert has_new_notices("count")
    [notice] = take_notices("count")
    assert not has_new_notices("count")
    assert (notice.level, notice.logger) == (logging.WARNING, "tests.notices")
    assert (notice.text, notice.operator, notice.subtasks) == ("no price of tea", "Map", (1,))
    assert (notice.times, notice.first) == (1, notice.last)
    assert take_notices("count") == []


def test_texts_that_differ_in_numbers_are_one_notice(logger: logging.Logger) -> None:
    for seconds in (5, 10.5, 1_000):
        logger.warning("no answer of host:80 for %s s", seconds)
    logger.warning("no answer of another for %s s", 5)
    first, other = take_notices("count")
    assert (first.text, first.times) == ("no answer of host:80 for 1000 s", 3)
    assert first.first <= first.last
    assert (other.text, other.times) == ("no answer of another for 5 s", 1)


def test_an_exception_is_told_by_its_last_line(logger: logging.Logger) -> None:
    try:
        raise KeyError("tea")
    except KeyError:
        logger.exception("it goes on")
    [notice] = take_notices("count")
    assert (notice.level, notice.text) == (logging.ERROR, "it goes on: KeyError: 'tea'")


def test_what_is_told_on_purpose_is_no_warning(logger: logging.Logger, caplog) -> None:
    logger.setLevel(logging.ERROR)  # people hear of it whatever the level is
    tell(logger, "it listens on 127.0.0.1:8090, 100 % of the time")
    [notice] = take_notices("count")
    assert (notice.level, notice.text) == (
        logging.INFO,
        "it listens on 127.0.0.1:8090, 100 % of the time",
    )


def test_no_worker_keeps_everything(logger: logging.Logger) -> None:
    for letters in range(MOST_KINDS + 5):
        logger.warning("x" * (letters + 1))
    logger.warning("x" * 5 * MOST_CHARACTERS)
    notices = take_notices("count")
    assert len(notices) == MOST_KINDS
    logger.warning("x" * 5 * MOST_CHARACTERS)
    [notice] = take_notices("count")
    assert len(notice.text) == MOST_CHARACTERS + 1


def test_many_subtasks_of_one_warning_leave_room_for_others(logger: logging.Logger) -> None:
    for subtask in range(3 * MOST_KINDS):
        with at_log_origin(LogOrigin("count", "Map", subtask)):
            logger.warning("slow")
    logger.warning("no answer")
    slow, other = take_notices("count")
    assert (slow.subtasks, slow.times) == (tuple(range(3 * MOST_KINDS)), 3 * MOST_KINDS)
    assert other.text == "no answer"


def test_a_job_gets_its_own_notices_and_those_of_no_job(logger: logging.Logger) -> None:
    for job in ("count", "sum"):
        with at_log_origin(LogOrigin(job, "Map", 0)):
            logger.warning("slow %s", job)
    assert has_new_notices("count")
    assert [notice.text for notice in take_notices("count")] == ["slow count"]
    assert not has_new_notices("count")
    logger.warning("a thread has ended")
    assert [notice.text for notice in take_notices("sum")] == ["slow sum", "a thread has ended"]
    assert take_notices("count") == []


def test_notices_of_jobs_that_never_ask_are_forgotten(logger: logging.Logger) -> None:
    for number in range(1000):
        with at_log_origin(LogOrigin(f"job {number}", "Map", 0)):
            logger.warning("slow")
    assert take_notices("job 0") == []
    assert len(take_notices("job 999")) == 1
    assert len(job_notices._kept._kept) < 10


def test_only_a_kind_that_a_run_has_not_had_is_new(logger: logging.Logger) -> None:
    """Otherwise what warns in each epoch would end each epoch of an idle job."""
    for again in (True, False, False):
        logger.warning("no answer for 5 s")
        assert has_new_notices("count") is again
        assert len(take_notices("count")) == 1
    begin_notices("count")
    logger.warning("no answer for 5 s")
    assert has_new_notices("count")


def test_warnings_of_ever_new_kinds_are_not_new_for_ever(logger: logging.Logger) -> None:
    new = 0
    for number in range(1000):
        logger.warning("x" * (number + 1))
        new += has_new_notices("count")
        take_notices("count")
    assert new == 100


def test_what_is_logged_meanwhile_by_the_same_thread_is_kept(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finalizers and handlers of signals run at any moment, also while a notice is being kept."""
    joined = WorkerNotice.joined

    def interrupted(notice: WorkerNotice, later: WorkerNotice) -> WorkerNotice:
        logger.warning("a task was never awaited")
        return joined(notice, later)

    monkeypatch.setattr(WorkerNotice, "joined", interrupted)

    def log() -> None:
        for _ in range(2):
            logger.warning("slow")

    thread = Thread(target=log, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert [(notice.text, notice.times) for notice in take_notices("count")] == [
        ("slow", 2),
        ("a task was never awaited", 1),
    ]


def test_arguments_that_do_not_fit_are_no_reason_to_fail(logger: logging.Logger, capsys) -> None:
    values = {"msg": "%d", "args": ("tea",), "levelno": logging.WARNING}
    NoticeHandler().handle(logging.makeLogRecord(values))
    assert take_notices("count") == []
    assert "--- Logging error ---" in capsys.readouterr().err
