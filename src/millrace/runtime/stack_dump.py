"""Stack dumps of a worker process whose interpreter hangs.

A call into C that holds Python's global lock, such as a regular expression with endless
backtracking, also stops the watchdog's thread. Only a C thread of Python's faulthandler still runs:
it writes all stacks to a file unless it is postponed in time. The watchdog postpones it every
second, so dumps cost nothing while records are processed.
"""

from __future__ import annotations

import faulthandler
import os
import re
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from threading import Lock

import msgspec

from millrace.common.typed_json import decode_json

__all__ = ["SUFFIX", "DumpedSubtask", "StackDumps", "read_dump"]

SUFFIX = ".dump"
AFTER = 3.0
"""Seconds that the interpreter may hang before the dump."""
_HEADER = 1024
_MOST_BYTES = 256 * 1024
_MOST_FILES = 16
_SPARKS_OWN = "PYTHON_TRACEBACK_DUMP_INTERVAL_SECONDS"
"""Environment variable that is set if Spark makes periodic dumps itself
(spark.python.worker.tracebackDumpIntervalSeconds). A process has only one such thread."""
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x.*\n((?:  .*\n?)+)", re.MULTILINE)
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)
_WORKER = os.path.join("millrace", "runtime", "worker.py")


class DumpedSubtask(msgspec.Struct, frozen=True):
    """Subtask that a process was running when it hung."""

    run_id: str
    epoch: int
    attempt: int
    left: tuple[tuple[int, int], ...]
    """(stage, subtask) of all subtasks that the task must still complete, this one first."""
    stage_name: str
    worker: str
    started: float
    """Seconds since the Unix epoch."""


class _DumpFile:
    """A file with a header about the running subtask. faulthandler writes the stacks after the
    header."""

    def __init__(self, path: str) -> None:
        with suppress(FileExistsError):
            os.mkdir(os.path.dirname(path), 0o700)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)

    def describe(self, subtask: DumpedSubtask) -> None:
        header = msgspec.json.encode(subtask)
        if len(header) > _HEADER:
            short = msgspec.structs.replace(subtask, left=subtask.left[:1], stage_name="")
            header = msgspec.json.encode(short)
        os.pwrite(self._fd, header.ljust(_HEADER), 0)

    def arm(self, seconds: float) -> None:
        """Delete the old stacks, and have new ones written after ``seconds`` seconds."""
        os.ftruncate(self._fd, _HEADER)
        os.lseek(self._fd, _HEADER, os.SEEK_SET)
        faulthandler.dump_traceback_later(seconds, file=self._fd)

    def close(self) -> None:
        os.close(self._fd)


class StackDumps:
    """Writes the stacks of this process to a file if its interpreter hangs.

    Args:
        after: seconds that the interpreter may hang before the dump.
    """

    def __init__(self, after: float = AFTER) -> None:
        self._after = after
        self._enabled = not int(os.environ.get(_SPARKS_OWN) or 0)
        self._files: dict[str, _DumpFile] = {}
        self._armed: _DumpFile | None = None
        self._lock = Lock()

    def begin(self, path: str, subtask: DumpedSubtask) -> None:
        """Record that a subtask begins. ``path`` is the path of the dump file of its job."""
        if not self._enabled:
            return
        with self._lock, suppress(OSError):  # then there is no file, and nobody to read it
            file = self._files.get(path)
            if file is None:
                if len(self._files) >= _MOST_FILES:  # most are of jobs that have ended
                    self._close_files()
                file = self._files[path] = _DumpFile(path)
            file.describe(subtask)
            if file is not self._armed:
                file.arm(self._after)
                self._armed = file

    def put_off(self) -> None:
        """Postpone the dump, because the interpreter is running."""
        with self._lock, suppress(OSError):
            if self._armed is not None:
                self._armed.arm(self._after)

    def close(self, unless: Callable[[], bool] = lambda: False) -> None:
        """Close the files because no subtask has run for a while. If ``unless`` returns true, a
        subtask has just begun, and the files stay open.
        """
        with self._lock:
            if not unless():
                self._close_files()

    def _close_files(self) -> None:
        if self._armed is not None:
            faulthandler.cancel_dump_traceback_later()
            self._armed = None
        for file in self._files.values():
            file.close()
        self._files.clear()


def read_dump(path: str) -> tuple[DumpedSubtask, float, str] | None:
    """Subtask, seconds that it has been running, and stack (outermost call first), from a stack
    dump. None if the process has not hung.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not a stack dump.
    """
    with open(path, "rb") as file:
        header, dump = file.read(_HEADER), file.read(_MOST_BYTES).decode(errors="replace")
    if not dump:
        return None
    subtask = decode_json(header, DumpedSubtask)
    return subtask, max(0.0, time.time() - subtask.started), _stack(dump)


def _stack(dump: str) -> str:
    """Stack of the thread that runs subtasks, from the call at which the worker begins its
    level."""
    threads = [_FRAME.findall(frames) for frames in _THREAD.findall(dump)]
    of_worker = [t for t in threads if any(file.endswith(_WORKER) for file, _, _ in t)]
    frames = (of_worker or threads[-1:] or [[]])[0]
    ours = [number for number, (file, _, _) in enumerate(frames) if file.endswith(_WORKER)]
    inner = frames[: ours[0]] if ours else frames
    lines = [traceback.FrameSummary(file, int(line), name) for file, line, name in inner]
    return "".join(traceback.StackSummary.from_list(lines[::-1]).format())
