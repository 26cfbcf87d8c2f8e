"""What a program logs in the driver without setting up logging is in the log of its run."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.cli.run_log import KEPT_LOGS, LastResort, delete_old_logs, open_run_log
from millrace.cli.terminal import Terminal


def warn(handler: logging.Handler, *said: object) -> None:
    logger = logging.Logger("app")
    logger.addHandler(handler)
    logger.warning(*said)


def test_warnings_go_to_the_log_and_to_where_python_shows_them(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    warn(LastResort(tmp_path / "log", False, logging.lastResort), "got %d", 3)
    assert (tmp_path / "log").read_text().endswith(" WARNING app: got 3\n")
    assert capsys.readouterr().err == "got 3\n"


@pytest.mark.parametrize("as_json", [False, True])
def test_a_message_that_does_not_fit_its_arguments_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture, as_json: bool
) -> None:
    warn(LastResort(tmp_path / "log", as_json, logging.lastResort), "got %d", "x")
    assert (tmp_path / "log").read_text() == ""
    assert capsys.readouterr().err.count("--- Logging error ---") == 1


HOLD = """
import sys
from pathlib import Path
from millrace.cli.run_log import mark_in_use
mark_in_use(Path(sys.argv[1]))
print("held", flush=True)
input()
"""


def logs(directory: Path, count: int) -> list[Path]:
    """Logs of runs, the newest first, each with its former part."""
    made = []
    for number in range(count):
        path = directory / f"job-20261122-1200{count - number:02}-{number}.log"
        for file in (path, path.with_name(f"{path.name}.1")):
            file.write_text("said")
            os.utime(file, (1_000 - number,) * 2)
        made.append(path)
    return made


def test_the_newest_stay_and_what_is_no_log(tmp_path: Path) -> None:
    made = logs(tmp_path, 6)
    notes = tmp_path / "notes.log"
    notes.write_text("mine")
    os.utime(notes, (1, 1))
    delete_old_logs(tmp_path, kept=4)
    names = [name for path in made[:4] for name in (path.name, f"{path.name}.1")]
    assert sorted(os.listdir(tmp_path)) == sorted([*names, "notes.log"])
    delete_old_logs(tmp_path, kept=4)
    assert len(os.listdir(tmp_path)) == 9


def test_the_log_of_a_run_that_goes_on_stays(tmp_path: Path) -> None:
    """Though it has said nothing for long; not once its process is dead."""
    *_, oldest = logs(tmp_path, 3)
    run = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(oldest)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert run.stdout is not None
    assert run.stdout.readline() == b"held\n"
    delete_old_logs(tmp_path, kept=1)
    assert oldest.exists()
    assert len(os.listdir(tmp_path)) == 4
    run.kill()
    run.communicate()
    delete_old_logs(tmp_path, kept=1)
    assert not oldest.exists()


def test_a_run_deletes_old_logs(tmp_path: Path) -> None:
    made = logs(tmp_path, KEPT_LOGS + 3)
    loggers = [logging.getLogger(name) for name in ("millrace", "py4j")]
    before = [(logger.level, logger.propagate, logger.handlers[:]) for logger in loggers]
    try:
        own = open_run_log(tmp_path, Path("job.py"), Terminal())
    finally:
        for logger, (level, propagate, handlers) in zip(loggers, before, strict=True):
            logger.level, logger.propagate, logger.handlers = level, propagate, handlers
    assert own.exists()
    assert [path.exists() for path in made] == [True] * (KEPT_LOGS - 1) + [False] * 4
