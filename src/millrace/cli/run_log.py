"""The log file of one run: all that Spark, py4j and the engine have to say."""

from __future__ import annotations

import logging
import os
import time
import warnings
from pathlib import Path

from millrace.cli.log_retention import delete_old_logs, mark_in_use
from millrace.cli.terminal import Terminal
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.runtime.logs.log_formats import placed
from millrace.runtime.logs.log_settings import RUN_LOG


def open_run_log(directory: Path, job: Path, terminal: Terminal, as_json: bool = False) -> Path:
    """Send logging to a new file in ``directory``; warnings of the engine also to the terminal.
    Old logs there are deleted. With `RUN_LOG` that file is the log, and all goes there alone.

    The root logger is left to the job file.
    """
    given = os.environ.get(RUN_LOG)
    path = _new_log(directory, job) if given is None else Path(given)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))  # what users print is theirs
    mark_in_use(path)
    if given is None:
        delete_old_logs(directory)
    to_file = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    others = [TerminalHandler(terminal)] if given is None else []
    _route("millrace", logging.INFO, placed(to_file, as_json), *others)
    _route("py4j", logging.WARNING, to_file)
    # PySpark warns of every pandas it was not tested with, whether the job uses pandas or not.
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\.")
    return path


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
    """Shows the first line of warnings; the rest is in the log."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(logging.WARNING)
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info is None:
            self._terminal.say(record.getMessage().partition("\n")[0])
