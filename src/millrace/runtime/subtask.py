"""A subtask: one stage's operators at one index, run epoch by epoch.

It takes buffers and gives buffers; the last one is its acknowledgement. What drives it (Spark, a
test) it does not know. An instance stays in its worker between epochs, with its state; a plan that
does not lead on from what it did last makes it roll back or restore.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain as chain_of

from millrace.common.errors import CheckpointError
from millrace.common.functions.accumulators import Accumulators, merge_all
from millrace.runtime.buffer import MAX_WATERMARK, Buffer, BufferKind, ends_idle
from millrace.runtime.chain import OperatorChain
from millrace.runtime.channel_reader import ChannelReader
from millrace.runtime.delivered_input import by_lane
from millrace.runtime.epoch import (
    Ack,
    AssignedStart,
    EpochContext,
    EpochPlan,
    Failure,
    FailureKind,
    FreshStart,
    LiveStart,
    ReadPlan,
    ReadResult,
    RestoredStart,
    SplitPlan,
    StateOrigin,
    SubtaskPlan,
    SubtaskStart,
)
from millrace.runtime.failure import describe_failure, shortened
from millrace.runtime.gathered_rows import GatheredRows
from millrace.runtime.logs.worker_log import take_shipped
from millrace.runtime.operator import wall_clock
from millrace.runtime.operators.iteration import fed_back
from millrace.runtime.program import Program, Stage
from millrace.runtime.reading_end import ReadingEnd
from millrace.runtime.redistribution import Redistribution, RestoringSubtask
from millrace.runtime.state_owners import owners_of
from millrace.runtime.subtask_input import IncompleteInputError, SubtaskInput
from millrace.runtime.watermark_valve import VALVE_STATE, Channel, WatermarkValve, reopened
from millrace.state.backend.state_backend import SubtaskId
from millrace.state.delta_payload import Loader
from millrace.state.division import Division
from millrace.state.serialization.payload import Chunk, encode
from millrace.state.state_delta import FileRef, StateDelta
from millrace.state.store import EMPTY, StateMissError, SubtaskState
from millrace.state.table_id import VALVE, TableId

SegmentWriter = Callable[[str, Iterable[Chunk]], FileRef]
"""Writes the pieces of a big delta to a file of their own, under a name that no other attempt
uses."""


Clock = Callable[[], int]
"""Gives the time, ms since the epoch."""


class Subtask:
    """One parallel instance of a stage."""

    def __init__(
        self,
        program: Program,
        stage: Stage,
        index: int,
        worker: str = "",
        source_clock: Clock = wall_clock,
        neighbour: Callable[[Program, Stage, int], Subtask] | None = None,
        interruptible: bool = False,
    ) -> None:
        self.program = program
        self.stage = stage
        self.index = index
        subtask_id = SubtaskId(program.job_name, program.run_id, stage.uid, index)
        self.state = SubtaskState(
            backend=program.state_backend.create_keyed_state_backend(subtask_id),
            owners=owners_of(program, stage),
        )
        self._worker = worker
        self._source_clock = source_clock
        self._neighbour = neighbour
        """Gives a subtask of another stage: one with the same index is in the same worker."""
        self._interruptible = interruptible
        """Whether Ctrl-C ends the program that runs here, instead of being a user's failure."""
        self.evicted = False
        """Whether its last answer was that it leaves the worker."""
        self._prepared: tuple[EpochPlan, StateOrigin] | None = None
        self._chain: OperatorChain | None = None
        self._now = 0
        self._valve = WatermarkValve([])
        self._valve_generation = -1
        self._ended = False
        self.last_epoch = -1
        """The last that it was to run."""
        self._last_version = EMPTY
        self._told: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether all its input has been read, in the last epoch that ran here."""
        return self._ended

    def run(
        self,
        epoch: EpochPlan,
        attempt: int,
        buffers: Iterable[Buffer],
        load: Loader,
        write_segment: SegmentWriter | None = None,
        memory_is_short: Callable[[], bool] = lambda: False,
    ) -> Iterator[Buffer]:
        """Run one epoch: yields the buffers for the next stages, the acknowledgement last.

        Args:
            memory_is_short: whether the subtask is not to stay in the worker after that.
        """
        clock = time.perf_counter
        started = clock()
        ack = Ack(self.stage.id, self.index, attempt, worker=self._worker)
        ack.time.began_at = time.time() * 1000
        steps = self._run(epoch, attempt, buffers, load, write_segment, ack)
        with closing(steps):
            while (buffer := self._next(steps, ack)) is not None:
                if buffer.kind != BufferKind.END:
                    ack.traffic.bytes_out += len(buffer.payload)
                handed_on = clock()
                yield buffer
                ack.time.handing_seconds += clock() - handed_on
        self.evicted = ack.state.evicted = memory_is_short()
        ack.time.seconds = clock() - started
        yield self._acknowledgement(ack)

    def _next(self, steps: Iterator[Buffer], ack: Ack) -> Buffer | None:
        """The next buffer; None: that was all, or the subtask has failed. Whatever a user raises
        is a failure like any other, what ends processes and generators, too."""
        name = self.stage.name
        try:
            return next(steps, None)
        except IncompleteInputError as missing:
            ack.failure = Failure(name, None, str(missing), FailureKind.INCOMPLETE)
        except StateMissError as miss:
            ack.failure = Failure(name, None, str(miss), FailureKind.STATE_MISS)
            return None
        except CheckpointError as error:
            ack.failure = Failure(name, None, shortened(str(error)), FailureKind.STORAGE)
        except BaseException as error:
            if self._interruptible and isinstance(error, KeyboardInterrupt):
                raise
            ack.failure = describe_failure(error, name)
        self._discard()
        return None

    def _run(
        self,
        epoch: EpochPlan,
        attempt: int,
        buffers: Iterable[Buffer],
        load: Loader,
        write_segment: SegmentWriter | None,
        ack: Ack,
    ) -> Generator[Buffer, None, None]:
        plan = epoch.subtasks[self.stage.id, self.index]
        self._now = epoch.now
        ack.state.origin = self.prepare(epoch, load)
        self._prepared = None
        chain = self._opened(epoch.restarts)
        version = f"{self.program.run_id}-{epoch.epoch}-{epoch.attempt}-{attempt}"
        feedback = self._feedback(epoch, load)
        self._begin(chain, epoch, attempt, version, feedback)
        if self.stage.inputs:
            yield from self._take_input(chain, buffers, ack)
        else:
            yield from self._read_source(chain, plan, buffers, ack, ReadingEnd(epoch.end_file))
        ack.time.done_at = time.time() * 1000
        ended = self._ended and not chain.holds_end
        for operator in chain.operators:
            operator.end_epoch(ended)
        for edge, idle in chain.idle_exchanges(self._valve.idle).items():
            chain.exchanges[edge].end_epoch(idle)
            ack.traffic.records_out += chain.exchanges[edge].records
        yield from self._drain(chain)
        self._snapshot(epoch, version, ack, write_segment)
        self._contribute(chain, ack)

    def prepare(self, epoch: EpochPlan, load: Loader) -> StateOrigin:
        """Bring the state to the version that the epoch starts from, before the epoch runs here or
        for a neighbour that reads the state; returns how it was found."""
        if self._prepared is None or self._prepared[0] is not epoch:
            plan = epoch.subtasks[self.stage.id, self.index]
            if self._was_rolled_back(epoch, plan.start):
                # what user functions hold themselves is stale
                self._discard_operators()
            self.last_epoch = epoch.epoch
            self._prepared = epoch, self._align(plan, load)
        return self._prepared[1]

    def _feedback(self, epoch: EpochPlan, load: Loader) -> dict[str, list[bytes]]:
        """Per loop that begins here, what was fed back in the epoch before."""
        found: dict[str, list[bytes]] = {}
        for ends in self.program.loops:
            if ends.head_stage == self.stage.id:
                end: Subtask = self
                if ends.tail_stage != self.stage.id:
                    assert self._neighbour is not None
                    stage = next(s for s in self.program.stages if s.id == ends.tail_stage)
                    end = self._neighbour(self.program, stage, self.index)
                    end.prepare(epoch, load)
                found[ends.loop] = fed_back(end.state, ends.tail)
        return found

    def _was_rolled_back(self, epoch: EpochPlan, start: SubtaskStart) -> bool:
        """Whether the last epoch that ran here did not count."""
        if epoch.epoch <= self.last_epoch:
            return True
        recent = start.recent if isinstance(start, LiveStart) else ()
        return self._last_version not in {start.version, *(delta.version for delta in recent)}

    def _align(self, plan: SubtaskPlan, load: Loader) -> StateOrigin:
        """Bring the state to the plan's version; returns how it was found.

        Raises:
            StateMissError: the worker has nothing that leads to it, and the plan not all of it.
        """
        before = self.state.generation
        is_new = self.state.version == EMPTY and self._chain is None
        origin = self._brought_to(plan, load)
        if origin != "current" or self.state.generation != before:
            # An attempt failed here before it handed anything over, or another worker ran epochs
            # meanwhile: what user functions hold themselves is not of this version.
            self._discard_operators()
        return "new" if is_new and isinstance(plan.start, FreshStart) else origin

    def _brought_to(self, plan: SubtaskPlan, load: Loader) -> StateOrigin:
        start = plan.start
        if isinstance(start, LiveStart):
            is_current = self.state.align(start.version, start.recent, load)
            return "current" if is_current else "replayed"
        if self.state.settle(start.version):
            return "current"
        self._discard_operators()
        match start:
            case FreshStart():
                self.state.reset()
            case RestoredStart():
                self.state.restore(start.version, start.deltas, load)
            case AssignedStart():
                self._redistribute(start, plan.splits, load)
        return "restored"

    def _redistribute(
        self, start: AssignedStart, splits: Sequence[SplitPlan], load: Loader
    ) -> None:
        nodes = self.stage.nodes
        states = {TableId(n.uid, state.name): state for n in nodes for state in n.operator_states}
        subtask = RestoringSubtask(
            self.index,
            self.stage.parallelism,
            self.program.max_parallelism,
            {node.uid: node.name for node in nodes},
            {**states, TableId(*VALVE): VALVE_STATE},
            frozenset(split.split.split_id for split in splits),
            frozenset(split.source for split in splits),
        )
        Redistribution(self.state, subtask, load).restore(start.assignment, start.version)

    def _opened(self, attempt_number: int) -> OperatorChain:
        if self._chain is None:
            chain = OperatorChain(
                self.program,
                self.stage,
                self.index,
                self.state,
                lambda: self._now,
                attempt_number,
                self._source_clock,
            )
            self._chain = chain
            self._valve_generation = -1
            for operator in reversed(chain.operators):
                operator.open()
        return self._chain

    def _begin(
        self,
        chain: OperatorChain,
        epoch: EpochPlan,
        attempt: int,
        version: str,
        feedback: dict[str, list[bytes]],
    ) -> None:
        self._refresh(chain)
        chain.begin_epoch(epoch.epoch, attempt)
        plan = epoch.subtasks[self.stage.id, self.index]
        context = EpochContext(
            epoch.epoch,
            epoch.now,
            attempt=f"{version}-{self.stage.id}-{self.index}",
            directory=epoch.job_dir or "",
            leaves_nothing_open=epoch.flush,
            ends_run=epoch.ends_run,
            commits=plan.commits,
            feedback=feedback,
            drained=plan.drained,
        )
        # Last first: timers fire as an operator begins, and what follows must be ready for them.
        for operator in reversed(chain.operators):
            operator.begin_epoch(context)
            operator.advance_processing_time(epoch.now)
            if epoch.completed_checkpoint is not None:
                operator.notify_checkpoint_complete(epoch.completed_checkpoint)

    def _refresh(self, chain: OperatorChain) -> None:
        """Watermarks are state: take them from the tables when those changed under the chain."""
        if self._valve_generation == self.state.generation:
            return
        self._valve_generation = self.state.generation
        self._valve = WatermarkValve(self._channels())
        self._ended = False
        kept = self.state.operator_table().data.get(VALVE)
        if kept is not None:
            snapshot, self._ended = kept
            if self.program.available_now:
                snapshot, self._ended = reopened(snapshot), False
            self._valve.restore(snapshot)
        chain.restore(self._valve.watermark)

    def _channels(self) -> list[Channel]:
        stages = {stage.id: stage for stage in self.program.stages}
        edges = {edge.id: edge for edge in self.program.edges}
        return [
            (edge, channel)
            for edge in self.stage.inputs
            for channel in range(stages[edges[edge].source_stage].parallelism)
        ]

    def _read_source(
        self,
        chain: OperatorChain,
        plan: SubtaskPlan,
        buffers: Iterable[Buffer],
        ack: Ack,
        end: ReadingEnd,
    ) -> Iterator[Buffer]:
        source = chain.head
        if not self._ended:
            steps = source.read(
                ReadPlan(
                    plan.splits,
                    self.program.buffer_records,
                    plan.source_events,
                    plan.max_watermark,
                    plan.no_more_splits,
                    by_lane(buffers),
                    end.is_wanted,
                )
            )
            result = yield from self._drained(steps, chain)
            self._ended, ack.traffic.records_in, ack.progress.idle = result
        elif source.watermark < MAX_WATERMARK:
            # it ended at another parallelism: without splits it has taken no watermark over
            source.process_watermark(MAX_WATERMARK)
        ack.progress.watermark = source.watermark

    def _drained(
        self, steps: Generator[None, None, ReadResult], chain: OperatorChain
    ) -> Generator[Buffer, None, ReadResult]:
        """Yield what the chain gives after each step."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                result: ReadResult = end.value
                return result
            yield from self._drain(chain)

    def _take_input(
        self, chain: OperatorChain, buffers: Iterable[Buffer], ack: Ack
    ) -> Iterator[Buffer]:
        head, valve, inputs = chain.head, self._valve, chain.inputs()
        position = self.index // self.program.max_width
        taken = SubtaskInput.sorted_out(buffers, self._channels(), position)
        ack.consumed = taken.attempts
        # A channel that is active at the end of this epoch counts from its beginning, so that its
        # records are not late only because other channels are taken before it.
        for channel, end in taken.ends:
            if not ends_idle(end):
                valve.set_idle(channel, False)
        gathered = GatheredRows(self.program.buffer_records)
        for channel, end in taken.ends:
            reader = ChannelReader()
            for buffer in taken.records.get(channel, ()):
                batch = reader.read(buffer)
                ack.traffic.records_in += len(batch)
                ack.traffic.bytes_in += len(buffer.payload)
                gathered.add(inputs[buffer.edge], batch)
                if valve.advance(channel, buffer.watermark):
                    gathered.hand_on()
                    head.process_watermark(valve.watermark)
                yield from self._drain(chain)
            if valve.end(channel, end.watermark, ends_idle(end)):
                gathered.hand_on()
                head.process_watermark(valve.watermark)
                yield from self._drain(chain)
        gathered.hand_on()
        yield from self._drain(chain)
        self._ended = valve.ended
        ack.progress.watermark = valve.watermark

    def _drain(self, chain: OperatorChain) -> Iterator[Buffer]:
        for exchange in chain.exchanges.values():
            if exchange.full:
                yield from exchange.full
                exchange.full.clear()

    def _snapshot(
        self, epoch: EpochPlan, version: str, ack: Ack, write_segment: SegmentWriter | None
    ) -> None:
        self._keep_valve()
        name = f"{version}-{self.stage.id}-{self.index}"

        def place(pieces: Iterator[Chunk]) -> bytes | FileRef:
            return self._placed(pieces, name, write_segment)

        delta = self.state.snapshot(epoch.epoch, version, place)
        self._last_version = ack.state.version = self.state.version if delta is None else version
        stateful = self._stateful()
        if stateful != self._told:
            self._told = ack.state.stateful = stateful
        ack.state.delta = delta
        parallelism = epoch.divide.get(self.stage.id)
        if parallelism is not None:
            self._divide(parallelism, epoch.epoch, version, ack, write_segment)

    def _divide(
        self,
        parallelism: int,
        epoch: int,
        version: str,
        ack: Ack,
        write_segment: SegmentWriter | None,
    ) -> None:
        """Without parts the new subtasks read all deltas: it takes longer, that is all."""
        division = Division(parallelism, self.program.max_parallelism)
        parts: list[StateDelta] = []
        with suppress(CheckpointError):
            for index, payload in enumerate(self.state.divided(division) or ()):
                name = f"{version}-{self.stage.id}-{self.index}-part{index}"
                data = self._placed(iter([payload]), name, write_segment)
                parts.append(StateDelta(epoch, version, epoch, data))
        if len(parts) == parallelism:
            ack.state.parts = tuple(parts)

    def _stateful(self) -> tuple[str, ...]:
        """The operators with state."""
        owners = {uid for uid, *_ in [*self.state.tables, *self.state.operator_table().data]}
        return tuple(node.uid for node in self.stage.nodes if node.uid in owners)

    def _placed(
        self, pieces: Iterator[Chunk], name: str, write_segment: SegmentWriter | None
    ) -> bytes | FileRef:
        """A small payload goes into the acknowledgement, a big one into a file."""
        held: list[Chunk] = []
        size = 0
        for piece in pieces:
            held.append(piece)
            size += len(piece)
            if write_segment is not None and size > self.program.inline_limit:
                return write_segment(name, chain_of(held, pieces))
        return b"".join(held)

    def _keep_valve(self) -> None:
        table = self.state.operator_table()
        snapshot = (self._valve.snapshot(), self._ended)
        if table.data.get(VALVE) != snapshot:
            table.put(VALVE, snapshot)

    def _contribute(self, chain: OperatorChain, ack: Ack) -> None:
        ack.progress.ended = self._ended
        ack.traffic.operators = chain.figures(ack.traffic.records_in)
        wakeups = [operator.next_wakeup() for operator in chain.operators]
        ack.progress.next_wakeup = min((at for at in wakeups if at is not None), default=None)
        for operator in chain.operators:
            operator.contribute(ack)
            uid, registry = operator.context.uid, operator.context.metrics
            _add_up(ack.metrics.accumulators, operator.context.accumulators)
            if registry.metrics:
                ack.metrics.values[uid] = registry.news()
                ack.metrics.counts[uid] = registry.counts()
                if described := registry.descriptions():
                    ack.metrics.described[uid] = described

    def _acknowledgement(self, ack: Ack) -> Buffer:
        ack.log = take_shipped()
        try:
            payload = encode(ack)
        except Exception as error:  # a metric that cannot be pickled, for example
            failure = describe_failure(error, self.stage.name)
            self._discard()
            payload = encode(Ack(self.stage.id, self.index, ack.attempt, failure))
        return Buffer(self.index, 0, self.index, ack.attempt, 0, BufferKind.ACK, 0, 0, payload)

    def _discard(self) -> None:
        """An attempt failed: take the state back and forget the operators."""
        self._discard_operators()
        self.state.roll_back()

    def _discard_operators(self) -> None:
        if self._chain is not None:
            chain, self._chain = self._chain, None
            closings = [operator.close for operator in chain.operators]
            for close in [*closings, *(e.close for e in chain.exchanges.values())]:
                with suppress(Exception):
                    close()

    def update_program(self, program: Program) -> None:
        """Replace the program of the job by one with another number of tasks: the state stays, the
        operators are built anew, as their exchanges depend on that number."""
        self.program = program
        self._discard_operators()

    def close(self) -> None:
        """Close the operators and give the memory of the state back (frozen objects in reference
        cycles are never collected); the subtask is not used again."""
        self._discard_operators()
        self.state.close()


def _add_up(totals: Accumulators, added: Accumulators) -> None:
    """Move what an operator's accumulators hold into the subtask's."""
    merge_all(totals, added)
    for accumulator in added.values():
        accumulator.reset_local()
