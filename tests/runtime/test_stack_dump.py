"""Processes whose interpreter stands still: others than that of the tests, where pytest has the one
thread of faulthandler's."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from millrace.runtime import watchdog
from millrace.runtime.turn_record import RecordedTurn, TurnRecord
from millrace.runtime.watchdog import (
    REPORTS,
    SubtaskReport,
    clear_reports,
    reports_in,
    turn_path,
)

SOURCES = Path(__file__).parents[2] / "src"
PATIENCE = 180.0
PROLOGUE = """
import ctypes, re, sys, time
from millrace.runtime.stack_dump import StackDumps
from millrace.runtime.watchdog import Watchdog

def stand_still(seconds):
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))  # of a PyDLL the lock is kept

def begin(epoch, left=((3, 1), (3, 5)), directory=sys.argv[1]):
    watchdog.begin(directory, "run-1", (epoch, 0), left, "look up -> print")

watchdog = Watchdog("host:7", first=0.3, period=0.1, dumps=StackDumps(after=0.5))
"""


@contextmanager
def process(directory: Path, *lines: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    running = subprocess.Popen(
        [sys.executable, "-c", "\n".join([PROLOGUE, *lines]), str(directory)],
        env={**os.environ, "PYTHONPATH": str(SOURCES), **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


def report_of(directory: Path, running: subprocess.Popen[str], epoch: int) -> SubtaskReport:
    """The one report, once it is of that epoch and whole: where the machine is slow, those before
    may have been reported for a moment, too. The outermost call is written last."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = list(reports_in(str(directory)))
        if [report.epoch for report in found] == [epoch] and "in <module>" in found[0].stack:
            return found[0]
        assert running.poll() is None
        assert time.monotonic() < deadline, found
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("call", "function"),
    [("stand_still(60)", "stand_still"), ("re.match(r'(a+)+$', 'a' * 60 + 'b')", "match")],
)
def test_a_call_that_keeps_the_lock(tmp_path: Path, call: str, function: str) -> None:
    """The first thing that the process does: no thread has had its turn."""
    with process(tmp_path, f"def user():\n    {call}", "begin(12)", "user()") as running:
        report = report_of(tmp_path, running, 12)
    assert (report.run_id, report.attempt) == ("run-1", 0)
    assert (report.stage, report.subtask, report.left) == (3, 1, ((3, 1), (3, 5)))
    assert (report.operator, report.worker) == ("look up -> print", "host:7")
    assert 0.4 < report.seconds < PATIENCE
    names = [line.rpartition(" in ")[2] for line in report.stack.splitlines() if " in " in line]
    assert names[:2] == ["<module>", "user"]  # the outermost first
    assert names[-1] == function


def test_a_resident_task_has_begun_other_subtasks_since(tmp_path: Path) -> None:
    """The record of its turns tells which one stands still."""
    record = TurnRecord(turn_path(str(tmp_path), "host:7"))
    record.begin(RecordedTurn("run-1", 2, 5, "Enrich").encode())
    with process(tmp_path, "begin(12)", "stand_still(60)") as running:
        report = report_of(tmp_path, running, 12)
    record.close()
    assert (report.stage, report.subtask, report.operator) == (2, 5, "Enrich")
    assert report.left == ((2, 5),)


def test_after_a_pause_and_much_that_was_quick(tmp_path: Path) -> None:
    quick = "for epoch in range(300): begin(epoch); time.sleep(0.002); watchdog.end()"
    with process(tmp_path, quick, "time.sleep(1)", "begin(777)", "stand_still(60)") as running:
        report = report_of(tmp_path, running, 777)
    assert report.seconds < 30


def test_who_goes_on_is_no_longer_reported(tmp_path: Path) -> None:
    lines = ("begin(1)", "stand_still(2)", "watchdog.end()", "print('on', flush=True)", "begin(2)")
    with process(tmp_path, *lines, "time.sleep(0.25)", "watchdog.end()", "input()") as running:
        report_of(tmp_path, running, 1)
        assert running.stdout is not None
        assert running.stdout.readline() == "on\n"
        deadline = time.monotonic() + PATIENCE
        while list(reports_in(str(tmp_path))):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_header_that_is_too_long_loses_the_list_of_subtasks(tmp_path: Path) -> None:
    many = "begin(1, tuple((3, n) for n in range(5000)))"
    with process(tmp_path, many, "stand_still(60)") as running:
        report = report_of(tmp_path, running, 1)
    assert report.left == ((3, 0),)


def test_sparks_own_dumps_go_before(tmp_path: Path) -> None:
    lines = ("begin(1)", "print('done', flush=True)", "watchdog.end()")
    spark = {"PYTHON_TRACEBACK_DUMP_INTERVAL_SECONDS": "10"}
    with process(tmp_path, *lines, **spark) as running:
        out, _ = running.communicate(timeout=PATIENCE)
    assert out == "done\n"
    assert not (tmp_path / REPORTS).exists()


def test_two_jobs_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    turns = "for n in range(10):\n    for job in 'ab': begin(n, directory=f'{sys.argv[1]}/{job}')"
    with process(tmp_path, turns, "begin(5, directory=sys.argv[1] + '/a')", "stand_still(60)") as p:
        report_of(tmp_path / "a", p, 5)
        assert not list(reports_in(str(tmp_path / "b")))


def test_many_jobs_in_one_process(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / str(number)).mkdir()
    turns = "for n in range(40): begin(1, directory=f'{sys.argv[1]}/{n}')"
    told = "import os; print(len(os.listdir('/dev/fd')), flush=True)"
    with process(tmp_path, turns, told, "stand_still(60)") as running:
        assert running.stdout is not None
        assert int(running.stdout.readline()) < 30
        report_of(tmp_path / "39", running, 1)


def test_nothing_runs_for_a_while(tmp_path: Path) -> None:
    """The thread rests, and what follows is dumped as before."""
    lines = (
        "from millrace.runtime import watchdog as module",
        "module.IDLE = 0.3",
        "begin(1); watchdog.end()",
        "while watchdog._dumps._armed is not None: time.sleep(0.05)",
        "print('rests', flush=True)",
        "begin(2); stand_still(60)",
    )
    with process(tmp_path, *lines) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "rests\n"
        report_of(tmp_path, running, 2)


def test_files_that_are_no_dumps(tmp_path: Path) -> None:
    directory = tmp_path / REPORTS
    directory.mkdir()
    (directory / "a.dump").write_bytes(b"{" + b" " * 5000)
    (directory / "b.dump").write_bytes(b"x" * 100)
    (directory / "c.dump").mkdir()
    assert not list(reports_in(str(tmp_path)))


def test_reports_are_cleared(tmp_path: Path) -> None:
    directory = tmp_path / REPORTS
    directory.mkdir()
    for name in ("a.dump", "b.json"):
        (directory / name).write_bytes(b"")
    clear_reports(str(tmp_path))
    assert not directory.exists()
    directory.mkdir()
    (directory / "of-somebody").write_bytes(b"")
    clear_reports(str(tmp_path))
    assert os.listdir(directory) == ["of-somebody"]
    assert watchdog.IDLE > watchdog.PERIOD
