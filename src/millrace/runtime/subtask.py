"""A subtask: the operators of one stage at one index. An executor calls its methods.

A subtask takes buffers and produces buffers. An executor delivers and fetches them, and decides
whether an epoch counts. It calls `begin_epoch`, then `on_buffer`, `on_watermark`, `on_timer`,
`read` and `flush` in any order, and at last `on_barrier` and `snapshot`. `commit` or `roll_back`
then accepts or undoes the epoch. An instance stays in its worker between epochs, with its state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain as chain_of
from typing import TYPE_CHECKING

from millrace.common.errors import CheckpointError
from millrace.common.functions.accumulators import Accumulators, merge_all
from millrace.common.types.batch import Batch, ImmutableRows, RowBatch
from millrace.runtime.buffer import MAX_WATERMARK, Buffer, BufferKind
from millrace.runtime.chain import OperatorChain
from millrace.runtime.epoch import (
    Ack,
    AssignedStart,
    EpochContext,
    FreshStart,
    LiveStart,
    ReadPlan,
    RestoredStart,
    SplitPlan,
    StateOrigin,
    SubtaskPlan,
)
from millrace.runtime.gathered_rows import GatheredRows
from millrace.runtime.operator import wall_clock
from millrace.runtime.output import Output
from millrace.runtime.program import Program, Stage
from millrace.runtime.redistribution import Redistribution, RestoringSubtask
from millrace.runtime.state_owners import owners_of
from millrace.runtime.waker import Waker
from millrace.runtime.watermark_valve import VALVE_STATE, Channel, WatermarkValve, reopened
from millrace.state.backend.state_backend import SubtaskId
from millrace.state.delta_payload import Loader
from millrace.state.division import TableDivision
from millrace.state.serialization.payload import COLUMNS, Chunk, decode
from millrace.state.state_delta import FileRef, StateDelta, StatePart
from millrace.state.store import EMPTY, SubtaskState
from millrace.state.table_id import VALVE, TableId

if TYPE_CHECKING:
    from millrace.runtime.column_stream import ColumnStreamReader

SegmentWriter = Callable[[str, Iterable[Chunk]], FileRef]
"""Function that writes the pieces of a big delta to a file of their own, under a name that no other
attempt uses."""


Clock = Callable[[], int]
"""Function that gives the time in ms since the epoch."""


class Subtask:
    """One parallel instance of a stage.

    Args:
        source_clock: clock of source readers.
    """

    def __init__(
        self, program: Program, stage: Stage, index: int, source_clock: Clock = wall_clock
    ) -> None:
        self.program = program
        self.stage = stage
        self.index = index
        subtask_id = SubtaskId(program.job_name, program.run_id, stage.uid, index)
        self.state = SubtaskState(
            backend=program.state_backend.create_keyed_state_backend(subtask_id),
            owners=owners_of(program, stage),
        )
        self.ended = False
        """Whether all the input has been read."""
        self._source_clock = source_clock
        self.waker = Waker()
        self._chain: OperatorChain | None = None
        self._now = 0
        self._valve = WatermarkValve([])
        self._valve_generation = -1
        self._epoch = EpochContext(-1, 0)
        self._ack = Ack(stage.id, index, 0)
        """Acknowledgement of the open epoch."""
        self._inputs: dict[int, Output] = {}
        """Per incoming edge, the input of the head that it feeds."""
        self._readers: dict[Channel, ChannelReader] = {}
        self._gathered = GatheredRows(program.buffer_records)
        self._told: tuple[str, ...] = ()
        """Operators with state, as the driver knows them."""

    @property
    def place(self) -> tuple[int, int]:
        """Number of the stage, and index of the subtask."""
        return self.stage.id, self.index

    @property
    def epoch(self) -> int:
        """Number of the last epoch that began. Negative if there is none."""
        return self._epoch.number

    @property
    def chain(self) -> OperatorChain:
        """Operators of the subtask. They exist from the first epoch until the subtask is rolled
        back."""
        assert self._chain is not None
        return self._chain

    # -- the state with which an epoch begins ------------------------------------------------

    def align(self, plan: SubtaskPlan, load: Loader) -> StateOrigin:
        """Bring the state to the plan's version, and return where the state came from.

        Raises:
            StateMissError: the worker has no state that leads to the version, and the plan does not
                have all deltas.
        """
        before = self.state.generation
        is_new = self.state.version == EMPTY and self._chain is None
        origin = self._brought_to(plan, load)
        if origin != "current" or self.state.generation != before:
            # An attempt failed here before it handed anything over, or another worker ran epochs
            # meanwhile: what user functions hold themselves is not of this version.
            self.discard_operators()
        return "new" if is_new and isinstance(plan.start, FreshStart) else origin

    def _brought_to(self, plan: SubtaskPlan, load: Loader) -> StateOrigin:
        start = plan.start
        if isinstance(start, LiveStart):
            is_current = self.state.align(start.version, start.recent, load)
            return "current" if is_current else "replayed"
        if self.state.settle(start.version):
            return "current"
        self.discard_operators()
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

    # -- an epoch ------------------------------------------------------------------------------

    def begin_epoch(self, epoch: EpochContext, attempt: int = 0, restarts: int = 0) -> None:
        """Begin an epoch, for the task attempt ``attempt``.

        Args:
            restarts: number of restarts of the job: the attempt number of functions opened now.
        """
        self._epoch, self._now = epoch, epoch.now
        self._ack = Ack(*self.place, attempt)
        chain = self._opened(restarts)
        self._refresh(chain)
        self._inputs = chain.inputs()
        self._readers.clear()
        self._gathered = GatheredRows(self.program.buffer_records)
        chain.begin_epoch(epoch.number, attempt, epoch.hands_over)
        # Last first: timers fire as an operator begins, and what follows must be ready for them.
        for operator in reversed(chain.operators):
            operator.begin_epoch(epoch)
            operator.advance_processing_time(epoch.now)
            if epoch.completed_checkpoint is not None:
                operator.notify_checkpoint_complete(epoch.completed_checkpoint)

    def begin_ahead(self, epoch: EpochContext, attempt: int, restarts: int) -> None:
        """Begin the next epoch while the last one, which has ended with `snapshot`, waits for its
        acceptance (`accept_last`). `roll_back` undoes both."""
        self.state.begin_next()
        self.begin_epoch(epoch, attempt, restarts)

    def accept_last(self, completed_checkpoint: int | None) -> None:
        """Accept the epoch before the open one, which has begun ahead of its plan."""
        self.state.commit()
        if completed_checkpoint is not None:
            for operator in reversed(self.chain.operators):
                operator.notify_checkpoint_complete(completed_checkpoint)

    def on_active(self, channel: Channel) -> None:
        """Mark a channel as active. From now on its watermark holds back the subtask's
        watermark."""
        self._valve.set_idle(channel, False)

    def on_buffer(self, channel: Channel, buffer: Buffer) -> None:
        """Process a buffer of records, and the watermark in it."""
        self._gathered.add(*self.decoded(channel, buffer))
        if self._valve.advance(channel, buffer.watermark):
            self._pass_watermark()

    def on_watermark(self, channel: Channel, watermark: int, idle: bool) -> None:
        """Process a channel's watermark, and whether the channel is idle after it."""
        if self._valve.end(channel, watermark, idle):
            self._pass_watermark()

    def on_timer(self, now: int) -> None:
        """Fire the processing-time timers up to ``now`` (ms since the epoch)."""
        self._gathered.hand_on()  # what came before is of the time before
        self._now = now
        for operator in reversed(self.chain.operators):
            operator.advance_processing_time(now)

    # -- the same in smaller steps, for resident tasks -----------------------------------------

    def decoded(self, channel: Channel, buffer: Buffer) -> tuple[Output, Batch]:
        """Decode a buffer to its batch, and the input to which the batch goes."""
        reader = self._readers.get(channel)
        if reader is None:
            reader = self._readers[channel] = ChannelReader()
        batch = reader.read(buffer)
        traffic = self._ack.traffic
        traffic.records_in += len(batch)
        traffic.bytes_in += len(buffer.payload)
        return self._inputs[buffer.edge], batch

    def hear(self, channel: Channel, watermark: int, idle: bool) -> bool:
        """Take a channel's watermark and status within an epoch. Returns whether the subtask's
        watermark advances. If so, the caller must call `pass_watermark` after the records that came
        before.
        """
        return self._valve.hear(channel, watermark, idle)

    def settle(self, ends: Iterable[tuple[Channel, int, bool]]) -> None:
        """Take the watermarks and statuses with which the channels end the epoch, after all records
        were processed.
        """
        if self._valve.settle(ends):
            self.pass_watermark()

    @property
    def awaits_barrier(self) -> bool:
        """Whether a channel is idle whose idleness takes effect only with the next barrier."""
        return self._valve.awaits_barrier

    def pass_watermark(self) -> None:
        """Process the subtask's watermark."""
        self.chain.head.process_watermark(self._valve.watermark)

    def set_clock(self, now: int) -> None:
        """Set the time that functions see (ms since the epoch). No timers fire."""
        self._now = now

    def begin_reading(self, plan: ReadPlan) -> None:
        """Take the splits to read in an epoch; only for a source stage."""
        if not self.ended:
            self.chain.head.begin_reading(plan)

    def revise_reading(self, plan: ReadPlan) -> bool:
        """Take the driver's plan of an epoch that has begun ahead, in a source stage. Returns
        whether the reader must be asked again."""
        return self.chain.head.revise_reading(plan)

    def read_available(self, plan: ReadPlan) -> Iterator[None]:
        """Read the available records. Pauses after each batch."""
        return self.chain.head.read_available(plan)

    def finish_reading(self, plan: ReadPlan) -> None:
        """Advance the source's watermark, after the available records have been read."""
        source = self.chain.head
        if not self.ended:
            result = source.finish_reading(plan)
            self.ended, self._ack.traffic.records_in, self._ack.progress.idle = result
        elif source.watermark < MAX_WATERMARK:
            # it ended at another parallelism: without splits it has taken no watermark over
            source.process_watermark(MAX_WATERMARK)

    def flush_within_epoch(self) -> None:
        """Let the operators emit waiting records, and send all records, watermarks and statuses."""
        chain = self.chain
        for operator in chain.operators:
            operator.flush()
        for edge, idle in chain.idle_exchanges(self._valve.idle).items():
            exchange = chain.exchanges[edge]
            exchange.flush()
            exchange.send_status(idle)

    def next_wakeup(self, with_head: bool = True) -> int | None:
        """Time of the next processing-time timer, in ms since the epoch.

        Args:
            with_head: whether the head counts. The head of a source stage wants to be polled.
        """
        operators = self.chain.operators
        wakeups = [op.next_wakeup() for op in (operators if with_head else operators[1:])]
        return min((at for at in wakeups if at is not None), default=None)

    def next_flush(self) -> int | None:
        """Time at which an operator wants to emit records even without input, in ms since the
        epoch.
        """
        times = [operator.next_flush() for operator in self.chain.operators]
        return min((at for at in times if at is not None), default=None)

    @property
    def wants_barrier(self) -> bool:
        """Whether an operator wants the open epoch to end soon."""
        return any(operator.wants_barrier for operator in self.chain.operators)

    def read(self, plan: ReadPlan) -> Iterator[None]:
        """Read the input of a source stage. Pauses after each batch, so that the caller can send
        the `fetched` buffers."""
        self.begin_reading(plan)
        if not self.ended:
            yield from self.read_available(plan)
        self.finish_reading(plan)

    def flush(self) -> None:
        """Process and send all records that wait to be joined to larger batches."""
        self._gathered.hand_on()
        for exchange in self.chain.exchanges.values():
            exchange.flush()

    def fetched(self) -> Iterator[Buffer]:
        """Buffers that are ready to be sent. Each buffer is returned only once."""
        for exchange in self.chain.exchanges.values():
            if exchange.full:
                yield from exchange.full
                exchange.full.clear()

    def on_barrier(self, epoch: int) -> None:
        """End the open epoch ``epoch``: send the waiting records, and the END buffers last."""
        assert epoch == self._epoch.number
        chain, ack = self.chain, self._ack
        self._gathered.hand_on()
        if self.stage.inputs:
            self.ended = self._valve.ended
            ack.progress.watermark = self._valve.watermark
        else:
            ack.progress.watermark = chain.head.watermark
        ack.time.done_at = time.time() * 1000
        ended = self.ended and not chain.holds_end
        for operator in chain.operators:
            operator.end_epoch(ended)
        for edge, idle in chain.idle_exchanges(self._valve.idle).items():
            chain.exchanges[edge].end_epoch(idle)
            ack.traffic.records_out += chain.exchanges[edge].records

    def snapshot(
        self, write_segment: SegmentWriter | None = None, divide_among: int | None = None
    ) -> Ack:
        """Acknowledgement of the epoch that ended, with the changes of the state.

        Args:
            write_segment: function that writes big payloads to files. None if the acknowledgement
                carries all of them.
            divide_among: number of new subtasks that get a part each of the current state. None if
                there are none.
        """
        ack, version = self._ack, self._epoch.version
        self._keep_valve()
        name = self._epoch.attempt

        def place(pieces: Iterator[Chunk]) -> bytes | FileRef:
            return self._placed(pieces, name, write_segment)

        ack.state.delta = self.state.snapshot(self._epoch.number, version, place)
        ack.state.follows_parts = self.state.follows_parts
        ack.state.version = self.state.version if ack.state.delta is None else version
        stateful = self._stateful()
        if stateful != self._told:
            self._told = ack.state.stateful = stateful
        if divide_among is not None:
            ack.state.parts = self._divided(divide_among, write_segment)
        self._contribute(ack)
        return ack

    def commit(self, epoch: int) -> None:
        """Accept the last epoch, ``epoch``. Its changes are not rolled back any more."""
        assert epoch == self._epoch.number
        self.state.commit()

    def roll_back(self) -> None:
        """Undo the last epoch: restore the former state, and drop the operators."""
        self.discard_operators()
        self.state.roll_back()

    # -- operators -----------------------------------------------------------------------------

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
                self.waker,
            )
            self._chain = chain
            self._valve_generation = -1
            for operator in reversed(chain.operators):
                operator.open()
        return self._chain

    def discard_operators(self) -> None:
        """Close the operators. Data that user functions hold outside of state is stale."""
        if self._chain is not None:
            chain, self._chain = self._chain, None
            closings = [operator.close for operator in chain.operators]
            for close in [*closings, *(e.close for e in chain.exchanges.values())]:
                with suppress(Exception):
                    close()

    def update_program(self, program: Program) -> None:
        """Replace the program of the job with one that has another number of tasks. The state
        stays, but the operators are created anew, as their exchanges depend on that number."""
        self.program = program
        self.discard_operators()

    def close(self) -> None:
        """Close the operators and free the memory of the state (frozen objects in reference cycles
        are never collected). The subtask cannot be used afterwards.
        """
        self.discard_operators()
        self.state.close()

    # -- watermarks ----------------------------------------------------------------------------

    def _pass_watermark(self) -> None:
        self._gathered.hand_on()
        self.pass_watermark()

    def _refresh(self, chain: OperatorChain) -> None:
        """Read the watermarks, which are state, from the tables, if a restore, replay or
        roll-back has changed the tables."""
        if self._valve_generation == self.state.generation:
            return
        self._valve_generation = self.state.generation
        self._valve = WatermarkValve(self.channels())
        self.ended = False
        kept = self.state.operator_table().data.get(VALVE)
        if kept is not None:
            snapshot, self.ended = kept
            if self.program.available_now:
                snapshot, self.ended = reopened(snapshot), False
            self._valve.restore(snapshot)
        chain.restore(self._valve.watermark)

    def channels(self) -> list[Channel]:
        """Input channels, by edge and producer."""
        stages = {stage.id: stage for stage in self.program.stages}
        edges = {edge.id: edge for edge in self.program.edges}
        return [
            (edge, channel)
            for edge in self.stage.inputs
            for channel in range(stages[edges[edge].source_stage].parallelism)
        ]

    def _keep_valve(self) -> None:
        table = self.state.operator_table()
        snapshot = (self._valve.snapshot(), self.ended)
        if table.data.get(VALVE) != snapshot:
            table.put(VALVE, snapshot)

    # -- the answer ----------------------------------------------------------------------------

    def _divided(
        self, parallelism: int, write_segment: SegmentWriter | None
    ) -> tuple[StatePart, ...]:
        """Parts of the state for the new subtasks. If there are none, the new subtasks read all
        deltas, which only takes longer."""
        epoch = self._epoch
        division = TableDivision(parallelism, self.program.max_parallelism)
        parts: list[StatePart] = []

        def delta(payload: bytes, name: str) -> StateDelta:
            data = self._placed(iter([payload]), name, write_segment)
            return StateDelta(epoch.number, name, epoch.number, data)

        with suppress(CheckpointError):
            for index, (rows, rest) in enumerate(self.state.divided(division) or ()):
                name = f"{epoch.attempt}-part{index}"
                parts.append(StatePart(delta(rows, name), delta(rest, f"{name}-rest")))
        return tuple(parts) if len(parts) == parallelism else ()

    def _stateful(self) -> tuple[str, ...]:
        """Operators with state."""
        owners = {uid for uid, *_ in [*self.state.tables, *self.state.operator_table().data]}
        return tuple(node.uid for node in self.stage.nodes if node.uid in owners)

    def _placed(
        self, pieces: Iterator[Chunk], name: str, write_segment: SegmentWriter | None
    ) -> bytes | FileRef:
        """The payload itself, for the acknowledgement, if the payload is small. A big payload is
        written to a file, and the result is a reference to the file."""
        held: list[Chunk] = []
        size = 0
        for piece in pieces:
            held.append(piece)
            size += len(piece)
            if write_segment is not None and size > self.program.inline_limit:
                return write_segment(name, chain_of(held, pieces))
        return b"".join(held)

    def _contribute(self, ack: Ack) -> None:
        chain = self.chain
        ack.progress.ended = self.ended
        ack.traffic.operators = chain.figures(ack.traffic.records_in)
        ack.progress.next_wakeup = self.next_wakeup()
        for operator in chain.operators:
            operator.contribute(ack)
            uid, registry = operator.context.uid, operator.context.metrics
            _add_up(ack.metrics.accumulators, operator.context.accumulators)
            if registry.metrics:
                ack.metrics.values[uid] = registry.news()
                ack.metrics.counts[uid] = registry.counts()
                if described := registry.descriptions():
                    ack.metrics.described[uid] = described


def _add_up(totals: Accumulators, added: Accumulators) -> None:
    """Add an operator's accumulators to the subtask's, and reset the operator's."""
    merge_all(totals, added)
    for accumulator in added.values():
        accumulator.reset_local()


class ChannelReader:
    """Decodes buffers to batches, and remembers the schema of columns."""

    def __init__(self) -> None:
        self._columns: ColumnStreamReader | None = None

    def read(self, buffer: Buffer) -> Batch:
        """Batch of a buffer."""
        if buffer.kind == BufferKind.RECORDS:
            # a column has plain values, or tuples of such
            kind = ImmutableRows if buffer.payload[:1] == COLUMNS else RowBatch
            return kind(*decode(buffer.payload))
        if buffer.batch is not None:
            return buffer.batch
        if buffer.kind == BufferKind.COLUMNS_BEGIN:
            # jobs without columns do without pyarrow, which takes time to import
            from millrace.runtime.column_stream import ColumnStreamReader

            self._columns = ColumnStreamReader()
        assert self._columns is not None
        return self._columns.read(buffer.payload)
