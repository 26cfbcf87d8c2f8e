"""The log file of one run, with the messages of Spark, py4j and the engine. Old logs are deleted,
except the newest ones and those of running jobs.

Flink keeps a number of old log files, too: configuration ``env.log.max``.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

from millrace.cli.log_rotation import former
from millrace.cli.terminal import Terminal
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.runtime.logs.log_file import LogFile
from millrace.runtime.logs.log_formats import placed
from millrace.runtime.logs.log_settings import RUN_LOG
from millrace.runtime.logs.printed_lines import STDERR, STDOUT, PrintedLines, log_printed


def open_run_log(directory: Path, job: Path, terminal: Terminal, as_json: bool = False) -> Path:
    """Send logging to a new file in ``directory``, and the engine's warnings to the terminal as
    well. Old logs there are deleted. If `RUN_LOG` is set, its file alone gets everything.

    The root logger is left to the job file. If the job file logs without setting up logging, its
    messages are in the log, too.
    """
    given = os.environ.get(RUN_LOG)
    path = _new_log(directory, job) if given is None else Path(given)
    to_file = placed(LogFile(path), as_json)
    mark_in_use(path)
    if given is None:
        delete_old_logs(directory)
    others = [TerminalHandler(terminal)] if given is None else []
    _route("millrace", logging.INFO, to_file, *others)
    _route("py4j", logging.WARNING, to_file)
    logging.lastResort = LastResort(path, as_json, None if given else logging.lastResort)
    # PySpark warns of every pandas it was not tested with, whether the job uses pandas or not.
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\.")
    return path


@contextmanager
def prints_in_log() -> Iterator[None]:
    """Context in which printed lines are written whole to the log, as records if the log is
    JSON. It has no effect if the process prints elsewhere."""
    path = os.environ.get(RUN_LOG)
    streams = {STDOUT: sys.stdout, STDERR: sys.stderr}
    printed = {
        name: PrintedLines(stream, partial(_print, name, stream))
        for name, stream in streams.items()
        if path is not None and _writes_to(stream, path)
    }
    for name, lines in printed.items():
        setattr(sys, name, lines)
    try:
        yield
    finally:
        for name, lines in printed.items():
            lines.finish(everything=True)
            setattr(sys, name, streams[name])


def _writes_to(stream: TextIO, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), os.stat(path))
    except (OSError, ValueError):  # there is no such file yet, or no file behind the stream
        return False


def _print(name: str, stream: TextIO, line: str) -> None:
    handlers = logging.getLogger("millrace").handlers
    to_file = next((one for one in handlers if isinstance(one, LogFile)), None)
    log_printed(to_file, name, stream, line)


class LastResort(LogFile):
    """Handler of warnings for which the job file has no handler. It writes them to the log, and
    passes them to Python's own handler of last resort if there is no other log."""

    def __init__(self, path: Path, as_json: bool, shown: logging.Handler | None) -> None:
        super().__init__(path)
        self.setLevel(logging.WARNING)
        self._shown = shown
        placed(self, as_json)

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record."""
        if self.append_record(record) and self._shown is not None:
            self._shown.handle(record)


def _new_log(directory: Path, job: Path) -> Path:
    LocalFileSystem().make_directory(str(directory), durable=False)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return directory / f"{job.stem}-{stamp}-{os.getpid()}.log"


def _route(name: str, level: int, *handlers: logging.Handler) -> None:
    logger = logging.getLogger(name)
    logger.setLevel(level)
    logger.propagate = False
    for handler in handlers:
        logger.addHandler(handler)


class TerminalHandler(logging.Handler):
    """Handler that shows the first line of warnings; the log has the rest."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(logging.WARNING)
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info is None:
            self._terminal.say(record.getMessage().partition("\n")[0])


KEPT_LOGS = 50
"""Logs that stay in a directory; a run has one, and perhaps its former part beside it."""
_NAME = re.compile(r".+-\d{8}-\d{6}-\d+\.log")


def mark_in_use(path: Path) -> None:
    """Protect a log from deletion until this process ends, even if it is killed."""
    # never closed: the lock is released with the process, and children do not inherit it
    fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_SH)


def delete_old_logs(directory: Path, kept: int = KEPT_LOGS) -> None:
    """Delete all but the newest logs, except those in use. Other files stay, as do files that
    cannot be deleted."""
    logs: list[tuple[float, Path]] = []
    for path in directory.iterdir():
        if _NAME.fullmatch(path.name):
            with contextlib.suppress(OSError):
                logs.append((path.stat().st_mtime, path))
    for _, path in sorted(logs, reverse=True)[kept:]:
        with contextlib.suppress(OSError):
            _delete_unused(path)


def _delete_unused(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
        spark = path.with_name(f"{path.name}.spark")
        for beside in (former(path), spark, former(spark)):
            beside.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
