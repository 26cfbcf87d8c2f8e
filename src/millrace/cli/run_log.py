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


def open_run_log(directory: Path, job: Path, terminal: Terminal) -> Path:
    """Send logging to a new file in ``directory``; warnings of the engine also to the terminal.
    Old logs there are deleted.

    The root logger is left to the job file.
    """
    LocalFileSystem().make_directory(str(directory), durable=False)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    path = directory / f"{job.stem}-{stamp}-{os.getpid()}.log"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))  # what users print is theirs
    mark_in_use(path)
    delete_old_logs(directory)
    to_file = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    to_file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    _route("millrace", logging.INFO, to_file, TerminalHandler(terminal))
    _route("py4j", logging.WARNING, to_file)
    # PySpark warns of every pandas it was not tested with, whether the job uses pandas or not.
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\.")
    return path


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
