"""Stack samples of the subtasks that a worker process runs, taken on request.

A request for samples is a file in the job's directory. The watchdog's thread of each worker
looks for one every second, so that nothing is paid by records; a sampling thread then reads the
stacks of the subtasks' threads every few milliseconds, and writes what it has seen to a file.

A thread that wants Python's lock gets it when the running thread waits for something, or after the
switch interval, which is 5 ms by default. Most turns of a subtask are shorter. So a sampling thread
would see their ends, when no subtask runs any more, and hardly ever what they spend their time on.
While samples are taken, the interval is shorter.

Flink: ``VertexThreadInfoTracker``, for its flame graphs.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from types import CodeType, FrameType
from typing import NamedTuple

import msgspec

from millrace.common.errors import CheckpointError
from millrace.common.printable_text import printable
from millrace.runtime.report_files import read_report, reports_with, write_report

__all__ = [
    "REQUEST",
    "SUFFIX",
    "SampleRequest",
    "SampledStack",
    "SampledSubtask",
    "StackSampler",
    "WorkerSamples",
    "read_request",
    "samples_in",
    "write_request",
]

REQUEST = "samples.request"
"""Name of the request's file, in the directory of reports."""
SUFFIX = ".samples"
_DEEPEST = 200
"""Maximum number of frames of a stack; the innermost ones are dropped."""
_MOST_STACKS = 4_000
"""Maximum number of different stacks of a worker."""
_MOST_BYTES = 16 << 20
_SWITCH_SECONDS = 0.000_1
"""Seconds after which the sampling thread asks the running one for Python's lock."""
_LIBRARIES = ("site-packages" + os.sep, "dist-packages" + os.sep)
_STANDARD = os.path.dirname(os.__file__) + os.sep


class SampleRequest(msgspec.Struct, frozen=True):
    """Request to sample the stacks of a job's subtasks."""

    id: str
    until: float
    """Time of the last sample, in seconds since the Unix epoch."""
    period: float = 0.02
    """Seconds between two samples."""


class SampledStack(msgspec.Struct, frozen=True, array_like=True):
    """A stack, and the number of samples in which it was seen."""

    frames: tuple[int, ...]
    """Positions in `WorkerSamples.frames`, the outermost call first."""
    on_cpu: int
    """Number of samples in which the thread was running."""
    off_cpu: int
    """Number of samples in which the thread waited: for input and output, a lock, Python's global
    lock, or a processor."""


class SampledSubtask(msgspec.Struct, frozen=True):
    """Stacks of a subtask."""

    run_id: str
    stage: int
    subtask: int
    stacks: tuple[SampledStack, ...]


class WorkerSamples(msgspec.Struct, frozen=True):
    """Samples of a worker; the content of its file."""

    id: str
    """Id of the request."""
    worker: str
    ended: float
    """Time of the last sample, in seconds since the Unix epoch."""
    ticks: int
    """Number of times at which stacks were read; between turns, subtasks have none."""
    frames: tuple[str, ...]
    subtasks: tuple[SampledSubtask, ...]


class RunningSubtask(NamedTuple):
    """Subtask that a thread runs at the time of a sample."""

    run_id: str
    stage: int
    subtask: int


_Stack = tuple[tuple[CodeType, int], ...]


class StackSampler:
    """Samples the stacks of this process for one request.

    Args:
        running: function that returns the running subtasks by their threads.
        is_root: function that says whether a file calls subtasks. Its frames, and those outside
            of them, are left out.
    """

    def __init__(
        self,
        request: SampleRequest,
        worker: str,
        running: Callable[[], Mapping[int, RunningSubtask]],
        is_root: Callable[[str], bool],
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._request = request
        self._worker = worker
        self._running = running
        self._is_root = is_root
        self._clock = clock
        self._sleep = sleep
        self._seen: Counter[tuple[RunningSubtask, _Stack, bool]] = Counter()
        self._processor_times: dict[int, tuple[int, int]] = {}
        """Per thread, nanoseconds of a monotonic clock and of the processor, at its last sample."""
        self._ticks = 0

    def start(self, path: str) -> None:
        """Sample in a thread of its own, and write the samples to a file."""

        def run() -> None:
            with suppress(CheckpointError, OSError):  # the reader sees that no file comes
                self.run()
                write_report(path, self.result())

        Thread(target=run, name="millrace-samples", daemon=True).start()

    def run(self) -> None:
        """Sample until the request's end."""
        with _switching_soon():
            while self._clock() < self._request.until:
                self.sample()
                self._sleep(self._request.period)

    def sample(self) -> None:
        """Read the stacks of all running subtasks once."""
        self._ticks += 1
        running = self._running()
        if not running:
            return
        frames = sys._current_frames()
        natives = _native_ids()
        for thread, running_subtask in running.items():
            frame = frames.get(thread)
            if frame is not None:
                stack = self._stack(frame)
                key = (running_subtask, stack, self._is_on_cpu(thread, natives.get(thread)))
                if key in self._seen or len(self._seen) < _MOST_STACKS:
                    self._seen[key] += 1

    def _stack(self, innermost: FrameType) -> _Stack:
        calls: list[tuple[CodeType, int]] = []
        frame: FrameType | None = innermost
        while frame is not None and not self._is_root(frame.f_code.co_filename):
            calls.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back
        return tuple(calls[::-1][:_DEEPEST])

    def _is_on_cpu(self, thread: int, native: int | None) -> bool:
        """Whether a thread ran for most of the time since its last sample. True if the system does
        not tell."""
        used = _processor_time(native)
        if used is None:
            return True
        now = time.monotonic_ns()
        before = self._processor_times.get(thread)
        self._processor_times[thread] = (now, used)
        return before is None or 2 * (used - before[1]) >= now - before[0]

    def result(self) -> WorkerSamples:
        """The samples so far."""
        numbers: dict[tuple[CodeType, int], int] = {}
        stacks: dict[RunningSubtask, dict[_Stack, list[int]]] = {}
        for (running_subtask, stack, is_on_cpu), times in self._seen.items():
            counted = stacks.setdefault(running_subtask, {}).setdefault(stack, [0, 0])
            counted[0 if is_on_cpu else 1] += times
            for call in stack:
                numbers.setdefault(call, len(numbers))
        return WorkerSamples(
            id=self._request.id,
            worker=self._worker,
            ended=self._clock(),
            ticks=self._ticks,
            frames=tuple(_frame_name(*call) for call in numbers),
            subtasks=tuple(
                SampledSubtask(
                    *running_subtask,
                    tuple(
                        SampledStack(tuple(numbers[call] for call in stack), *counted)
                        for stack, counted in counts.items()
                    ),
                )
                for running_subtask, counts in stacks.items()
            ),
        )


class _SwitchInterval:
    """The thread switch interval of this process. Several samplers may shorten it at the same
    time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._before = 0.0

    @contextmanager
    def shortened(self) -> Iterator[None]:
        """Context with a short interval. The last one to leave restores the former interval."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._before = sys.getswitchinterval()
                sys.setswitchinterval(min(self._before, _SWITCH_SECONDS))
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    sys.setswitchinterval(self._before)


_switching_soon = _SwitchInterval().shortened


def _native_ids() -> dict[int | None, int | None]:
    """Ids that the system gives to the threads of this process, by Python's ids."""
    natives = {thread.ident: thread.native_id for thread in threading.enumerate()}
    if sys.platform == "linux":
        # a process that was forked, as workers of Spark are, still has the number of the thread
        # that forked it; on Linux the first thread has the number of its process
        natives[threading.main_thread().ident] = os.getpid()
    return natives


def _processor_time(native: int | None) -> int | None:
    """Nanoseconds that a thread has run on a processor; None if the system does not tell."""
    try:
        with open(f"/proc/self/task/{native}/schedstat", "rb") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _frame_name(code: CodeType, line: int) -> str:
    """Name of a call in a flame graph, such as ``Scorer.score (jobs/score.py:17)``."""
    return printable(f"{code.co_qualname} ({_short(code.co_filename)}:{line})")


def _short(path: str) -> str:
    """Path of a file below the directory of its library; a program's own files have the whole
    path."""
    for root in _LIBRARIES:
        _, root_found, rest = path.rpartition(root)
        if root_found:
            return rest
    if path.startswith(_STANDARD):
        return path[len(_STANDARD) :]
    before, root_found, rest = path.rpartition(f"src{os.sep}millrace{os.sep}")
    return f"millrace{os.sep}{rest}" if root_found and before else path


def write_request(reports: str, request: SampleRequest) -> None:
    """Ask all workers of a job for samples.

    Args:
        reports: the directory of reports in the job's directory.

    Raises:
        CheckpointError: the file cannot be written.
        OSError: the directory of reports cannot be made.
    """
    write_report(os.path.join(reports, REQUEST), request)


def read_request(reports: str) -> SampleRequest | None:
    """The newest request in a directory of reports; None if there is none."""
    return read_report(os.path.join(reports, REQUEST), SampleRequest, _MOST_BYTES)


def samples_in(reports: str, request: SampleRequest) -> Iterator[WorkerSamples]:
    """The samples that workers have written for a request."""
    for samples in reports_with(reports, SUFFIX, WorkerSamples, _MOST_BYTES):
        if samples.id == request.id:
            yield samples
