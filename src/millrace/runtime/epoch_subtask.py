"""A subtask driven by the epoch executor: one call per epoch, with all input of the epoch.

The order is always the same: bring the state to the version at which the epoch begins, begin the
epoch, process the whole input channel by channel (or read the source), end the epoch, write the
changes, acknowledge. The last buffer is the acknowledgement, which also reports failures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing

from millrace.common.errors import CheckpointError
from millrace.runtime.buffer import Buffer, BufferKind, ends_idle
from millrace.runtime.epoch import (
    Ack,
    EpochContext,
    EpochPlan,
    Failure,
    FailureKind,
    LiveStart,
    ReadPlan,
    StateOrigin,
    SubtaskPlan,
    SubtaskStart,
)
from millrace.runtime.failure import describe_failure, shortened
from millrace.runtime.logs.job_notices import take_notices
from millrace.runtime.logs.worker_log import take_shipped
from millrace.runtime.operators.iteration import fed_back
from millrace.runtime.program import Program, Stage
from millrace.runtime.reading_end import ReadingEnd
from millrace.runtime.subtask import SegmentWriter, Subtask
from millrace.runtime.subtask_input import IncompleteInputError, SubtaskInput, by_lane
from millrace.state.delta_payload import Loader
from millrace.state.serialization.payload import encode
from millrace.state.store import EMPTY, StateMissError

__all__ = ["EpochSubtask"]


class EpochSubtask:
    """Runs a subtask epoch by epoch.

    Args:
        worker: name of the process, host:pid.
        neighbour: function that gives a subtask of another stage. A subtask with the same index is
            in the same worker.
        interruptible: whether Ctrl-C ends the program that runs here; else it is a failure of the
            user's function like any other.
    """

    def __init__(
        self,
        subtask: Subtask,
        worker: str = "",
        neighbour: Callable[[Program, Stage, int], EpochSubtask] | None = None,
        interruptible: bool = False,
    ) -> None:
        self.subtask = subtask
        self._worker = worker
        self._neighbour = neighbour
        self._interruptible = interruptible
        self.evicted = False
        """Whether the last acknowledgement said that the subtask leaves the worker."""
        self.last_epoch = -1
        """Number of the last epoch that the subtask was to run."""
        self._last_version = EMPTY
        self._prepared: tuple[EpochPlan, StateOrigin] | None = None

    def run(
        self,
        epoch: EpochPlan,
        attempt: int,
        buffers: Iterable[Buffer],
        load: Loader,
        write_segment: SegmentWriter | None = None,
        memory_is_short: Callable[[], bool] = lambda: False,
    ) -> Iterator[Buffer]:
        """Run one epoch. Yields the buffers for the next stages, and the acknowledgement last.

        Args:
            memory_is_short: tells whether the subtask must leave the worker afterwards.
        """
        clock = time.perf_counter
        started, began_at = clock(), time.time() * 1000
        bytes_out, handing_seconds = 0, 0.0
        steps = self._run(epoch, attempt, buffers, load, write_segment)
        result: Ack | Buffer
        with closing(steps):
            while isinstance(result := self._next(steps, attempt), Buffer):
                if result.kind != BufferKind.END:
                    bytes_out += len(result.payload)
                handed_on = clock()
                yield result
                handing_seconds += clock() - handed_on
        ack = result
        ack.worker = self._worker
        ack.traffic.bytes_out = bytes_out
        ack.time.began_at, ack.time.handing_seconds = began_at, handing_seconds
        self.evicted = ack.state.evicted = memory_is_short()
        ack.time.seconds = clock() - started
        yield self._acknowledgement(ack)

    def _next(self, steps: Generator[Buffer, None, Ack], attempt: int) -> Buffer | Ack:
        """The next buffer, or the acknowledgement if there are no more buffers. Every exception
        of user code becomes a failure, also exceptions such as SystemExit."""
        try:
            return next(steps)
        except StopIteration as end:
            ack: Ack = end.value
            return ack
        except BaseException as error:
            return self.failed_by(error, attempt)

    def failed_by(self, error: BaseException, attempt: int) -> Ack:
        """Acknowledgement of an epoch that failed in this subtask, which is rolled back."""
        name = self.subtask.stage.name
        if isinstance(error, StateMissError):
            # what the worker has may do for another plan
            return self._failed(attempt, Failure(name, None, str(error), FailureKind.STATE_MISS))
        if isinstance(error, IncompleteInputError):
            failure = Failure(name, None, str(error), FailureKind.INCOMPLETE)
        elif isinstance(error, CheckpointError):
            failure = Failure(name, None, shortened(str(error)), FailureKind.STORAGE)
        elif self._interruptible and isinstance(error, KeyboardInterrupt):
            raise error
        else:
            failure = describe_failure(error, name)
        self.subtask.roll_back()
        return self._failed(attempt, failure)

    def _failed(self, attempt: int, failure: Failure) -> Ack:
        return Ack(*self.subtask.place, attempt, failure)

    def _run(
        self,
        epoch: EpochPlan,
        attempt: int,
        buffers: Iterable[Buffer],
        load: Loader,
        write_segment: SegmentWriter | None,
    ) -> Generator[Buffer, None, Ack]:
        subtask = self.subtask
        plan = epoch.subtasks[subtask.place]
        origin = self.begin(epoch, attempt, load, self._feedback(epoch, load))
        consumed: dict[int, tuple[int, ...]] = {}
        if subtask.stage.inputs:
            consumed = yield from self._take_input(buffers)
        else:
            end = ReadingEnd(epoch.end_file, epoch.end_object)
            yield from self._read_source(plan, buffers, end)
        subtask.on_barrier(epoch.epoch)
        yield from subtask.fetched()
        return self.acknowledged(epoch, origin, consumed, write_segment)

    def begin(
        self,
        epoch: EpochPlan,
        attempt: int,
        load: Loader,
        feedback: dict[str, list[bytes]] | None = None,
    ) -> StateOrigin:
        """Bring the state to the version of the plan, and begin the epoch.

        Args:
            feedback: records fed back in the epoch before, for each loop that begins here. None if
                the heads of loops take records from their tails at once.
        """
        subtask = self.subtask
        plan = epoch.subtasks[subtask.place]
        origin = self.prepare(epoch, load)
        self._prepared = None
        context = self._context(epoch, plan, attempt, feedback)
        subtask.begin_epoch(context, attempt, epoch.restarts)
        return origin

    def begin_ahead(self, epoch: EpochPlan, attempt: int) -> StateOrigin:
        """Begin an epoch before its plan arrives, by a plan of the subtask's own, while the last
        epoch waits for its acceptance. For jobs without loops."""
        self.last_epoch = epoch.epoch
        plan = epoch.subtasks[self.subtask.place]
        context = self._context(epoch, plan, attempt, None)
        self.subtask.begin_ahead(context, attempt, epoch.restarts)
        return "current"

    def confirm(self, epoch: EpochPlan) -> None:
        """Take the driver's plan of the epoch that has begun ahead: the last one is accepted.

        Raises:
            StateMissError: the plan does not follow the subtask's last epoch, or has something that
                an epoch must begin with.
        """
        place = self.subtask.place
        plan = epoch.subtasks[place]
        follows = isinstance(plan.start, LiveStart) and plan.start.version == self._last_version
        is_special = epoch.flush or epoch.ends_run or epoch.only_commits or epoch.attempt
        has_more = plan.commits or plan.drained or epoch.messages or place[0] in epoch.divide
        if epoch.epoch != self.last_epoch or not follows or is_special or has_more:
            raise StateMissError(f"epoch {self.last_epoch} began ahead of another plan")
        self.subtask.accept_last(epoch.completed_checkpoint)

    def acknowledged(
        self,
        epoch: EpochPlan,
        origin: StateOrigin,
        consumed: dict[int, tuple[int, ...]],
        write_segment: SegmentWriter | None,
    ) -> Ack:
        """Acknowledgement of an epoch after its barrier."""
        ack = self.subtask.snapshot(write_segment, epoch.divide.get(self.subtask.stage.id))
        ack.worker = self._worker
        ack.consumed, ack.state.origin = consumed, origin
        self._last_version = ack.state.version
        return ack

    def _context(
        self,
        epoch: EpochPlan,
        plan: SubtaskPlan,
        attempt: int,
        feedback: dict[str, list[bytes]] | None,
    ) -> EpochContext:
        subtask = self.subtask
        version = f"{subtask.program.run_id}-{epoch.epoch}-{epoch.attempt}-{attempt}"
        return EpochContext(
            epoch.epoch,
            epoch.now,
            version=version,
            attempt=f"{version}-{subtask.stage.id}-{subtask.index}",
            directory=epoch.job_dir or "",
            leaves_nothing_open=epoch.flush,
            ends_run=epoch.ends_run,
            completed_checkpoint=epoch.completed_checkpoint,
            commits=plan.commits,
            feedback=feedback or {},
            feeds_at_once=feedback is None,
            hands_over=feedback is None,
            drained=plan.drained,
            messages=epoch.messages,
        )

    # -- before an epoch -----------------------------------------------------------------------

    def prepare(self, epoch: EpochPlan, load: Loader) -> StateOrigin:
        """Bring the state to the version from which the epoch starts, and return its origin. Called
        before the epoch runs here, or before another subtask reads the state.
        """
        if self._prepared is None or self._prepared[0] is not epoch:
            plan = epoch.subtasks[self.subtask.place]
            if self._was_rolled_back(epoch, plan.start):
                self.subtask.discard_operators()
            else:
                self.subtask.commit(self.subtask.epoch)
            self.last_epoch = epoch.epoch
            self._prepared = epoch, self.subtask.align(plan, load)
        return self._prepared[1]

    def _was_rolled_back(self, epoch: EpochPlan, start: SubtaskStart) -> bool:
        """Whether the last epoch that ran here was rolled back."""
        if epoch.epoch <= self.last_epoch:
            return True
        recent = start.recent if isinstance(start, LiveStart) else ()
        return self._last_version not in {start.version, *(delta.version for delta in recent)}

    def _feedback(self, epoch: EpochPlan, load: Loader) -> dict[str, list[bytes]]:
        """Records fed back in the epoch before, for each loop that begins here."""
        by_loop: dict[str, list[bytes]] = {}
        for ends in self.subtask.program.loops:
            if ends.head_stage == self.subtask.stage.id:
                end = self
                if ends.tail_stage != self.subtask.stage.id:
                    assert self._neighbour is not None
                    stage = next(s for s in self.subtask.program.stages if s.id == ends.tail_stage)
                    end = self._neighbour(self.subtask.program, stage, self.subtask.index)
                end.prepare(epoch, load)
                by_loop[ends.loop] = fed_back(end.subtask.state, ends.tail)
        return by_loop

    # -- the input -----------------------------------------------------------------------------

    def _take_input(
        self, buffers: Iterable[Buffer]
    ) -> Generator[Buffer, None, dict[int, tuple[int, ...]]]:
        """Process all input, channel by channel. Returns the attempts of the producers, by edge."""
        subtask = self.subtask
        position = subtask.index // subtask.program.max_width
        taken = SubtaskInput.sorted_out(buffers, subtask.channels(), position)
        # A channel that is active at the end of this epoch counts from its beginning, so that its
        # records are not late only because other channels are taken before it.
        for channel, end in taken.ends:
            if not ends_idle(end):
                subtask.on_active(channel)
        for channel, end in taken.ends:
            for buffer in taken.records.get(channel, ()):
                subtask.on_buffer(channel, buffer)
                yield from subtask.fetched()
            subtask.on_watermark(channel, end.watermark, ends_idle(end))
            yield from subtask.fetched()
        return taken.attempts

    def _read_source(
        self, plan: SubtaskPlan, buffers: Iterable[Buffer], end: ReadingEnd
    ) -> Iterator[Buffer]:
        reading = ReadPlan(
            plan.splits,
            self.subtask.program.buffer_records,
            plan.source_events,
            plan.max_watermark,
            plan.no_more_splits,
            by_lane(buffers),
            end.is_wanted,
        )
        for _ in self.subtask.read(reading):
            yield from self.subtask.fetched()

    def encoded(self, ack: Ack) -> bytes:
        """Payload of an acknowledgement."""
        ack.log, ack.notices = take_shipped(), take_notices(self.subtask.program.job_name)
        try:
            return encode(ack)
        except Exception as error:  # a metric that cannot be pickled, for example
            return encode(self.failed_by(error, ack.attempt))

    def _acknowledgement(self, ack: Ack) -> Buffer:
        payload = self.encoded(ack)
        index = self.subtask.index
        return Buffer(index, 0, index, ack.attempt, 0, BufferKind.ACK, 0, 0, payload)
