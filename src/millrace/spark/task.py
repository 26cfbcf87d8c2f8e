"""Body of a Spark task, which runs one task of one level of an epoch."""

from __future__ import annotations

import gc
import hashlib
import marshal
import pickle
import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext

from millrace.filesystem.crash_points import crash_point
from millrace.filesystem.settings import use_settings
from millrace.runtime.buffer import PACKED
from millrace.runtime.epoch import EpochPlan
from millrace.runtime.logs.worker_log import set_up_worker_log
from millrace.runtime.main_classes import install_main_classes
from millrace.runtime.program import Program
from millrace.runtime.stack_dump import StackDumps
from millrace.runtime.subtask import SegmentWriter
from millrace.runtime.watchdog import Watchdog
from millrace.runtime.worker import Worker
from millrace.spark.hangup_filter import filter_hangups
from millrace.spark.shipped_plan import decode_plan
from millrace.spark.worker_environment import WorkerEnvironment
from millrace.spark.worker_memory import set_up_memory
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.checkpoint.segment import write_segment
from millrace.state.serialization.payload import Chunk
from millrace.state.state_delta import FileRef

if TYPE_CHECKING:
    from pyspark.core.broadcast import Broadcast

PLAN_PROPERTY = "millrace.plan"
"""Local property of the Spark job with the epoch's plan."""
ANCHOR = b"\x00anchor"
"""The only element of each partition of an anchor; it is not a buffer."""

_TARGET = struct.Struct(">q")
_FRAME = 256 * 1024
_ALONE = 64 * 1024
"""Size in bytes from which a packed buffer is a frame by itself, so that it is not copied."""

_programs: dict[str, Program] = {}
_worker: Worker | None = None


class LevelTask:
    """Function of a Python RDD. It is shipped once per job; the plan of each epoch comes as a local
    property.
    """

    def __init__(
        self,
        program: Broadcast[bytes],
        digest: str,
        level: int,
        tasks: tuple[int, ...],
        last: bool,
        environment: WorkerEnvironment,
    ) -> None:
        self._program = program
        self._digest = digest
        self._level = level
        self._tasks = tasks
        self._last = last
        self._environment = environment

    def __call__(self, split: int, elements: Iterable[Any]) -> Iterator[bytes]:
        """Run task ``split`` of this slot; yields alternating targets and buffers for a shuffle,
        or only buffers at the last level."""
        context = TaskContext.get()
        assert context is not None
        # the program first: classes of the job file may be in the plan
        program = self._load_program()
        plan = decode_plan(context.getLocalProperty(PLAN_PROPERTY) or "", self._tasks[split])
        made = worker().run_level(
            program,
            self._level,
            self._tasks[split],
            plan,
            context.taskAttemptId(),
            unframed(elements),
            delta_loader(plan),
            segment_writer(plan),
        )
        for target, frame in framed(made):
            if not self._last:
                yield _TARGET.pack(target)
            yield frame
        crash_point("task-end")
        tidy()

    def _load_program(self) -> Program:
        program = _programs.get(self._digest)
        if program is None:
            program = _prepared(self._digest, self._program.value, self._environment)
        return program


def worker_program(code: bytes, environment: WorkerEnvironment) -> Program:
    """The program in ``code``, for which this process is prepared."""
    digest = hashlib.sha256(code).hexdigest()
    return _programs.get(digest) or _prepared(digest, code, environment)


def _prepared(digest: str, code: bytes, environment: WorkerEnvironment) -> Program:
    set_up_memory()  # before the program is loaded, and with it the libraries
    environment.enter()
    program = load_program(code)
    use_settings(program.file_systems)
    set_up_worker_log(program.log)
    _programs[digest] = program
    for other_digest, other in list(_programs.items()):
        if other.run_id in program.closed_runs:
            worker().forget(other.run_id)
            del _programs[other_digest]
    return program


def framed(elements: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Join the buffers of each task into few pieces, because each piece costs time in Spark and
    in its consumer. The order within a task is not kept: buffers are numbered."""
    waiting: dict[int, list[bytes]] = {}
    sizes: dict[int, int] = {}
    for target, element in elements:
        if len(element) >= _ALONE:
            yield target, element
            continue
        waiting.setdefault(target, []).append(element)
        sizes[target] = sizes.get(target, 0) + len(element)
        if sizes[target] > _FRAME:
            yield target, marshal.dumps(waiting.pop(target))
            sizes[target] = 0
    for target, left in waiting.items():
        yield target, marshal.dumps(left)


def unframed(frames: Iterable[Any]) -> Iterator[bytes]:
    """The elements from which `framed` made the pieces."""
    for frame in frames:
        if frame[0] == PACKED:
            yield frame
        elif frame != ANCHOR:
            yield from marshal.loads(frame)


class WarmUp:
    """Function without effect. A worker that has received it has imported all modules it needs."""

    def __call__(self, split: int, elements: Iterable[Any]) -> Iterator[bytes]:
        """Return nothing."""
        worker()
        for _ in elements:
            pass
        return iter(())


class CloseEnded:
    """Closes the subtasks of its worker whose input has ended."""

    def __call__(self, split: int, elements: Iterable[Any]) -> Iterator[bytes]:
        """Close the subtasks, and return nothing."""
        worker().close_ended()
        for _ in elements:
            pass
        return iter(())


def worker() -> Worker:
    """The worker of this process, with its subtasks."""
    global _worker  # noqa: PLW0603 (one per process is the point)
    if _worker is None:
        filter_hangups()
        _worker = Worker(watchdog=Watchdog(dumps=StackDumps()))
        # the collector would look at every state object again and again; and nothing may get into
        # the oldest generation before `tidy`
        gc.set_threshold(100_000, 10_000, 1000)
    return _worker


def load_program(data: bytes) -> Program:
    """The program, with the job file's own classes registered under their names."""
    program = pickle.loads(data)
    assert isinstance(program, Program)
    install_main_classes(program.main_classes)
    return program


def tidy() -> None:
    """Exempt the state's objects from garbage collection, because PySpark runs a full collection
    after every task.

    Not the oldest generation here: a full collection stops tracking a dict of plain tuples, the
    next update tracks it again, and so each epoch would walk through all its entries.
    """
    gc.collect(1)
    gc.freeze()


def delta_loader(plan: EpochPlan) -> DeltaLoader:
    """Loader of the deltas in the job's directory."""
    assert plan.job_dir is not None
    return DeltaLoader(plan.job_dir)


def segment_writer(plan: EpochPlan) -> SegmentWriter:
    """Writer of big deltas to the job's directory."""
    job_dir, durable = plan.job_dir, plan.durable
    assert job_dir is not None

    def write(name: str, pieces: Iterable[Chunk]) -> FileRef:
        reference = write_segment(job_dir, name, pieces, durable)
        crash_point("after-segment")
        return reference

    return write
