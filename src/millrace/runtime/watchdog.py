"""Watchdog of a worker process: reports subtasks that run for a long time.

A subtask that runs for less than `FIRST` seconds costs a few microseconds. If one runs longer, a
thread writes a report about every second to a file in the job's directory: the running operator and
its Python stack. The driver reads these files on request (`engine.running_epoch`). If the whole
interpreter hangs, so that this thread cannot run, `stack_dump` reports it. If the job's directory
is not shared, or not on a disk, there are no reports. Flink: the "Thread Dump" and "Flame Graph"
tabs of its web UI.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Event, Lock, Thread, get_ident
from types import FrameType

import msgspec

from millrace.common.errors import CheckpointError
from millrace.common.printable_text import printable
from millrace.filesystem.location import is_local
from millrace.runtime.failure import operator_of
from millrace.runtime.previews import REQUEST as PREVIEW_REQUEST
from millrace.runtime.previews import SUFFIX as PREVIEW
from millrace.runtime.previews import previews
from millrace.runtime.reading_end import SUFFIX as READING_END
from millrace.runtime.report_files import read_report, write_report
from millrace.runtime.stack_dump import SUFFIX, DumpedSubtask, StackDumps, read_dump
from millrace.runtime.stack_samples import REQUEST as SAMPLES_REQUEST
from millrace.runtime.stack_samples import SUFFIX as SAMPLES
from millrace.runtime.stack_samples import RunningSubtask, StackSampler, read_request
from millrace.runtime.turn_record import SUFFIX as TURN
from millrace.runtime.turn_record import read_turn
from millrace.state.checkpoint.files import delete_quietly

__all__ = [
    "FIRST",
    "REPORTS",
    "SubtaskReport",
    "Watchdog",
    "clear_reports",
    "reports_in",
    "turn_path",
]

log = logging.getLogger(__name__)

REPORTS = "running"
"""Directory of the reports, within the job's directory."""
FIRST = 2.0
"""Seconds that a subtask may run before it is reported."""
PERIOD = 1.0
STACK_BYTES = 16_000
"""Maximum number of bytes of a report's stack. The innermost calls are kept."""
IDLE = 60.0
"""Seconds without a subtask after which the thread rests."""
_MAX_BYTES = 64 * 1024
_SUFFIXES = (
    ".json",
    SUFFIX,
    TURN,
    READING_END,
    SAMPLES,
    SAMPLES_REQUEST,
    PREVIEW,
    PREVIEW_REQUEST,
)
"""Ends of the names of the files that `clear_reports` deletes."""
_MOST_JOBS = 16
"""Maximum number of jobs for which a process looks for requests of samples."""
_WORKERS = (
    os.path.join("millrace", "runtime", "worker.py"),
    os.path.join("millrace", "runtime", "resident", "resident_worker.py"),
)
"""Ends of the paths of the modules that call a subtask."""


class SubtaskReport(msgspec.Struct, frozen=True):
    """Report of a subtask that has been running for a long time; the content of a report file."""

    run_id: str
    epoch: int
    attempt: int
    """Attempt to run the epoch."""
    stage: int
    subtask: int
    operator: str
    """Name of the running operator, or of the stage if no operator is running."""
    worker: str
    """Process of the worker, as host:pid."""
    seconds: float
    """Seconds that the subtask had been running."""
    left: tuple[tuple[int, int], ...]
    """(stage, subtask) of all subtasks that the task must still complete, including this one."""
    stack: str
    """Stack of the subtask's thread, the outermost call first."""


@dataclass(slots=True)
class WatchedSubtask:
    """Stage and subtasks that a thread runs."""

    job_dir: str
    run_id: str
    epoch: int
    attempt: int
    left: tuple[tuple[int, int], ...]
    stage_name: str
    started: float
    is_reported: bool = False


class Watchdog:
    """Tracks the subtasks that the threads of this process run, and reports slow ones.

    Args:
        first: seconds that a subtask may run before it is reported.
        period: seconds between two reports.
        dumps: stack dumps of this process, if the process only runs subtasks. A process has only
            one faulthandler timer, which other users, such as pytest, may need.
    """

    def __init__(
        self,
        worker: str = "",
        first: float = FIRST,
        period: float = PERIOD,
        dumps: StackDumps | None = None,
    ) -> None:
        self._worker = worker or f"{socket.gethostname()}:{os.getpid()}"
        self._first = first
        self._period = period
        self._dumps = dumps
        self._watched: dict[int, WatchedSubtask] = {}
        self._sampled: dict[str, str] = {}
        """Directories of the jobs that run here, each with the id of the last request for samples.
        The job that began last is the last one."""
        self._has_failed = False
        """Whether an unforeseen error has been logged."""
        self._busy = Event()
        self._starting = Lock()
        self._thread: Thread | None = None

    def begin(
        self,
        job_dir: str | None,
        run_id: str,
        epoch: tuple[int, int],
        left: tuple[tuple[int, int], ...],
        stage_name: str,
    ) -> None:
        """Record that this thread begins the first of the task's remaining subtasks ``left``.
        ``epoch`` is the number and the attempt of the epoch.
        """
        watched = self.watch(job_dir, run_id, epoch, left, stage_name)
        if watched is not None:
            self.resume(watched)

    def watch(
        self,
        job_dir: str | None,
        run_id: str,
        epoch: tuple[int, int],
        left: tuple[tuple[int, int], ...],
        stage_name: str,
    ) -> WatchedSubtask | None:
        """The subtask that this thread is about to run, once or in many turns; see `begin`. None if
        there are no reports."""
        if job_dir is None or not is_local(job_dir):
            return None
        watched = WatchedSubtask(job_dir, run_id, *epoch, left, stage_name, time.monotonic())
        if job_dir not in self._sampled:
            self._sampled[job_dir] = ""
        if self._dumps is not None:
            path = os.path.join(job_dir, REPORTS, f"{self._file_name}{SUFFIX}")
            header = DumpedSubtask(run_id, *epoch, left, stage_name, self._worker, time.time())
            self._dumps.begin(path, header)
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    self._thread = Thread(target=self._run, name="millrace-watchdog", daemon=True)
                    self._thread.start()
        return watched

    def resume(self, watched: WatchedSubtask) -> None:
        """Record that this thread begins a turn of the subtask. Takes about a microsecond."""
        watched.started = time.monotonic()
        self._watched[get_ident()] = watched
        self._busy.set()

    def end(self) -> None:
        """Record that this thread no longer runs a subtask."""
        watched = self._watched.pop(get_ident(), None)
        if watched is not None and watched.is_reported:
            delete_quietly(self._path(watched.job_dir, get_ident()))

    def _path(self, job_dir: str, thread: int) -> str:
        return os.path.join(job_dir, REPORTS, f"{self._file_name}-{thread}.json")

    @property
    def _file_name(self) -> str:
        return _file_name(self._worker)

    # -- in the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        idle = 0.0
        while True:
            if self._dumps is None or idle >= IDLE:
                self._rest()
            time.sleep(self._period)
            idle = 0.0 if self._busy.is_set() else idle + self._period
            self._busy.clear()
            if self._dumps is not None:
                self._dumps.put_off()
            for job_dir, last in list(self._sampled.items()):
                with self._going_on():
                    self._take_requests(job_dir, last)
            for job_dir in list(self._sampled)[:-_MOST_JOBS]:
                del self._sampled[job_dir]
                previews.forget(os.path.join(job_dir, REPORTS), self._file_name)
            for thread, watched in list(self._watched.items()):
                self._busy.set()
                if time.monotonic() - watched.started > self._first:
                    with self._going_on():
                        self._report(thread, watched)

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """Context after which the thread goes on, whatever happened: without it, the process would
        never again report a stuck subtask."""
        try:
            yield
        except (CheckpointError, OSError):
            pass  # the reader sees that no task reports
        except Exception:
            if not self._has_failed:
                log.exception("the watchdog cannot report what a subtask does")
            self._has_failed = True

    def _take_requests(self, job_dir: str, last: str) -> None:
        """Look for people who want stack samples of a job, or watch an operator's output."""
        reports = os.path.join(job_dir, REPORTS)
        previews.look(reports, self._file_name)
        request = read_request(reports)
        if request is not None and request.id != last:
            self._sampled[job_dir] = request.id
            if time.time() < request.until:
                running = partial(self._running_of, job_dir)
                sampler = StackSampler(request, self._worker, running, _calls_subtasks)
                sampler.start(os.path.join(reports, self._file_name + SAMPLES))

    def _running_of(self, job_dir: str) -> dict[int, RunningSubtask]:
        """The subtasks of a job that run in this process, by their threads."""
        return {
            thread: RunningSubtask(watched.run_id, *watched.left[0])
            for thread, watched in list(self._watched.items())
            if watched.job_dir == job_dir
        }

    def _rest(self) -> None:
        """Close the dump files, and wait until the next subtask begins."""
        if self._dumps is not None:
            self._dumps.close(unless=self._busy.is_set)
        self._busy.wait()

    def _report(self, thread: int, watched: WatchedSubtask) -> None:
        frame = sys._current_frames().get(thread)
        if frame is None or self._watched.get(thread) is not watched:
            return
        stage, subtask = watched.left[0]
        report = SubtaskReport(
            run_id=watched.run_id,
            epoch=watched.epoch,
            attempt=watched.attempt,
            stage=stage,
            subtask=subtask,
            operator=operator_of(frame) or watched.stage_name,
            worker=self._worker,
            seconds=time.monotonic() - watched.started,
            left=watched.left,
            stack=stack_of(frame),
        )
        path = self._path(watched.job_dir, thread)
        watched.is_reported = True
        write_report(path, report)
        if self._watched.get(thread) is not watched:
            delete_quietly(path)


def _calls_subtasks(path: str) -> bool:
    return path.endswith(_WORKERS)


def turn_path(job_dir: str, worker: str) -> str:
    """Path of the record of a worker's running subtask; see `turn_record`."""
    return os.path.join(job_dir, REPORTS, _file_name(worker) + TURN)


def _file_name(worker: str) -> str:
    return worker.replace(":", "-")


def stack_of(frame: FrameType) -> str:
    """A stack in the form of tracebacks, from the call at which a worker begins its level. Cut
    to `STACK_BYTES`."""
    lines = traceback.StackSummary.extract(traceback.walk_stack(frame), limit=None)
    lines.reverse()
    within = [index for index, line in enumerate(lines) if line.filename.endswith(_WORKERS)]
    inner = lines[within[-1] + 1 :] if within else list(lines)
    return shortened_stack(printable("".join(traceback.StackSummary.from_list(inner).format())))


def shortened_stack(text: str) -> str:
    """A stack cut to `STACK_BYTES`. The innermost calls are kept."""
    data = text.encode(errors="replace")
    cut = "  ...\n" if len(data) > STACK_BYTES else ""
    return cut + data[-STACK_BYTES:].decode(errors="replace")


def reports_in(job_dir: str) -> Iterator[SubtaskReport]:
    """Existing reports. Some may belong to past epochs or runs. A report about a hung process
    has the stack in which it hangs."""
    directory = os.path.join(job_dir, REPORTS)
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    reports: dict[tuple[str, int, int], SubtaskReport] = {}
    for suffix, read in ((".json", _read), (SUFFIX, _read_dump)):
        for name in names:
            report = read(os.path.join(directory, name)) if name.endswith(suffix) else None
            if report is not None:
                reports[report.worker, report.stage, report.subtask] = report
    yield from reports.values()


def clear_reports(job_dir: str) -> None:
    """Delete the files that workers have left in the reports directory. The caller holds the
    job's lease."""
    directory = os.path.join(job_dir, REPORTS)
    with suppress(OSError):
        for name in os.listdir(directory):
            if name.endswith(_SUFFIXES):
                delete_quietly(os.path.join(directory, name))
        os.rmdir(directory)


def _read_dump(path: str) -> SubtaskReport | None:
    try:
        dumped = read_dump(path)
        if dumped is None:
            return None
        subtask, seconds, stack = dumped
        # a resident task begins all its subtasks, and then gives them their turns
        turn = read_turn(path.removesuffix(SUFFIX) + TURN)
        if turn is not None and turn.run_id == subtask.run_id:
            left, name = ((turn.stage, turn.subtask),), turn.stage_name
            subtask = msgspec.structs.replace(subtask, left=left, stage_name=name)
        stage, index = subtask.left[0]
    except (OSError, msgspec.MsgspecError, ValueError, IndexError, RecursionError):
        return None
    return SubtaskReport(
        run_id=subtask.run_id,
        epoch=subtask.epoch,
        attempt=subtask.attempt,
        stage=stage,
        subtask=index,
        operator=subtask.stage_name,
        worker=subtask.worker,
        seconds=seconds,
        left=subtask.left,
        stack=shortened_stack(stack),
    )


def _read(path: str) -> SubtaskReport | None:
    return read_report(path, SubtaskReport, _MAX_BYTES)
