"""Logs of old runs are deleted."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

from millrace.cli import log_retention
from millrace.cli.log_retention import delete_old_logs
from millrace.cli.run_log import open_run_log
from millrace.cli.terminal import Terminal

HOLD = """
import sys
from pathlib import Path
from millrace.cli.log_retention import mark_in_use
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
    made = logs(tmp_path, log_retention.KEPT + 3)
    loggers = [logging.getLogger(name) for name in ("millrace", "py4j")]
    before = [(logger.level, logger.propagate, logger.handlers[:]) for logger in loggers]
    try:
        own = open_run_log(tmp_path, Path("job.py"), Terminal())
    finally:
        for logger, (level, propagate, handlers) in zip(loggers, before, strict=True):
            logger.level, logger.propagate, logger.handlers = level, propagate, handlers
    assert own.exists()
    assert [path.exists() for path in made] == [True] * (log_retention.KEPT - 1) + [False] * 4
