"""Resident subtask: processes input as it arrives, and ends an epoch at its barrier."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from millrace.common.errors import JobExecutionError
from millrace.common.types.batch import BatchForm
from millrace.runtime.buffer import ends_idle
from millrace.runtime.epoch import Ack, EpochPlan, ReadPlan, StateOrigin
from millrace.runtime.epoch_subtask import EpochSubtask
from millrace.runtime.logs.log_origin import LogOrigin
from millrace.runtime.operators.source import SourceOperator
from millrace.runtime.resident.credits import CreditWindow, Pace, Preemptions
from millrace.runtime.resident.epoch_ahead import EpochAhead, ended_epoch, plan_after
from millrace.runtime.resident.feedback import Feedback
from millrace.runtime.resident.frames import MOST_PAYLOAD
from millrace.runtime.resident.gate import InputGate
from millrace.runtime.resident.intake import Intake
from millrace.runtime.resident.load_meter import Load, LoadMeter
from millrace.runtime.resident.outbox import Outbox
from millrace.runtime.resident.patience import Patience, Share
from millrace.runtime.subtask import SegmentWriter
from millrace.runtime.turn_record import RecordedTurn
from millrace.runtime.watchdog import Watchdog, WatchedSubtask
from millrace.runtime.watermark_valve import Channel
from millrace.state.delta_payload import Loader

__all__ = ["Grant", "Phase", "ResidentSubtask", "Storage"]

Grant = Callable[[Channel, int, int], None]
"""Function that grants records to a channel: (channel, target subtask, records)."""
FIRST_POLL_MS, MOST_POLL_MS = 1, 50
"""Milliseconds between two polls of a reader that does not know when it has records."""


class Phase(Enum):
    """Phase of a subtask."""

    WAITING = "WAITING"
    """The subtask waits for the plan of its next epoch."""
    OPEN = "OPEN"
    FAILED = "FAILED"
    """The subtask waits until the driver connects the workers anew."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Access to the files of the job's state.

    Args:
        load: function that reads a delta.
        write_segment: function that writes a big delta.
    """

    load: Loader
    write_segment: SegmentWriter | None


class ResidentSubtask:
    """One subtask of a resident task.

    Args:
        held: subtask with its state, which outlives the connections of an attempt.
        attempt: number of the attempt, which buffers carry.
        position: number of the subtask among those of its stage in this task.
        acknowledge: function that sends an acknowledgement to the driver.
        clock: processing time in ms since the epoch.
        patience: time that records wait for others, which the worker's subtasks share.
        watchdog: watchdog for long turns.
    """

    def __init__(
        self,
        held: EpochSubtask,
        attempt: int,
        position: int,
        outbox: Outbox,
        grant: Grant,
        acknowledge: Callable[[bytes], None],
        clock: Callable[[], int],
        patience: Patience | None = None,
        watchdog: Watchdog | None = None,
    ) -> None:
        self.held = held
        self.subtask = held.subtask
        self.outbox = outbox
        channels = self.subtask.channels()
        self.gate = InputGate(channels, position)
        self._intake = Intake(self.subtask, self.gate)
        producers = Counter(edge for edge, _ in channels)
        # all buffers are of this attempt, as connections of others are refused
        self._consumed = {edge: (attempt,) * count for edge, count in producers.items()}
        self._window = CreditWindow(channels)
        self._pace = Pace()
        self._preemptions = Preemptions()
        self._attempt = attempt
        self._grant, self._acknowledge = grant, acknowledge
        self._clock = clock
        self._patience = patience or Patience()
        self._watchdog = watchdog
        self._watched: WatchedSubtask | None = None
        self.is_source = not self.subtask.stage.inputs
        self._reads_columns = False
        """Whether operators of a source's chain take columns."""
        self.phase = Phase.WAITING
        self._wakeup: int | None = None
        self._flush_at: int | None = None
        """Time at which operators emit although no input comes. None if they do not."""
        self._is_held = False
        """Whether an operator holds the barrier, which otherwise would be passed on now."""
        self._held_end = False
        """Whether an operator delayed the end of the input at the last barrier."""
        self._told = 0
        """Time that operators were told last, in ms since the epoch."""
        self._share = Share()
        self._waiting_since: float | None = None
        """Time since which input waits for more, before a turn. None if none does."""
        self._unflushed: float | None = None
        """Time since which something may wait to be sent. None if nothing does."""
        self._unsent = 0
        """Records processed since the last flush."""
        self._yield, self._ahead = _Yield(), EpochAhead()
        self._reading: _Reading | None = None
        self.feedback: Feedback | None = None
        """Feedback of the loops that begin here. None if there are none."""
        self._meter = LoadMeter()
        self.has_news = False
        """Whether anything has been processed in this epoch."""
        program, stage = self.subtask.program, self.subtask.stage
        self.log_origin = LogOrigin(program.job_name, stage.name, self.subtask.index)
        self.turn_record = RecordedTurn(program.run_id, *self.place, stage.name).encode()

    @property
    def place(self) -> tuple[int, int]:
        """Number of the stage, and index of the subtask."""
        return self.subtask.place

    # -- an epoch ------------------------------------------------------------------------------

    def begin(self, plan: EpochPlan, storage: Storage) -> None:
        """Begin the epoch of a plan, or go on with it if it has begun ahead of the plan."""
        if self._ahead.is_open:
            self._ahead.is_open, self._storage = False, storage
            self._guarded(lambda: self._confirm(plan))
        else:
            self._ahead.last = None
            self._start(plan, storage, lambda: self.held.begin(plan, self._attempt, storage.load))

    def _start(self, plan: EpochPlan, storage: Storage, begin: Callable[[], StateOrigin]) -> None:
        self._plan, self._storage = plan, storage
        self._began_at, self._turn_began = time.time() * 1000, time.perf_counter()
        self._meter.enter(Load.BUSY)
        if self._watchdog is not None:
            self._watched = self._watchdog.watch(
                plan.job_dir,
                self.subtask.program.run_id,
                (plan.epoch, plan.attempt),
                (self.place,),
                self.subtask.stage.name,
            )
            if self._watched is not None:
                self._watchdog.resume(self._watched)
        self._origin: StateOrigin = "current"
        self.has_news = False
        self._guarded(lambda: self._begin(begin))
        self._meter.enter(self._load)

    def _begin(self, begin: Callable[[], StateOrigin]) -> None:
        self._origin = begin()
        self.phase = Phase.OPEN
        self.gate.open()
        if self.is_source:
            self._reads_columns = any(
                operator.takes is BatchForm.COLUMNS for operator in self.subtask.chain.operators
            )
            read = self._read_plan()
            self.subtask.begin_reading(read)
            self._reading = _Reading(read)
        else:
            self._wakeup = self.subtask.next_wakeup()
        self._flush_at, self._is_held = self.subtask.next_flush(), False
        chain = self.subtask.chain
        # by timers, or by requests that ended, the last of which may have had no result
        self.has_news = chain.has_emitted or (self._held_end and not chain.holds_end)
        self._note_output()

    def _read_plan(self) -> ReadPlan:
        part = self._plan.subtasks[self.place]
        return ReadPlan(
            part.splits,
            self.subtask.program.buffer_records,
            part.source_events,
            part.max_watermark,
            part.no_more_splits,
            room=self._room,
        )

    # -- an epoch that begins ahead of its plan ------------------------------------------------

    def may_run_ahead_of(self, epoch: int) -> bool:
        """Whether the subtask has acknowledged the epoch before this one, and needs no answer of
        the driver to begin it."""
        last = self._ahead.last
        return last is not None and last.plan.epoch + 1 == epoch and self.phase is Phase.WAITING

    def begin_ahead(self) -> None:
        """Begin the next epoch before its plan arrives, if the subtask `may_run_ahead_of` it."""
        last, self._ahead.last = self._ahead.last, None
        assert last is not None
        self._ahead.is_open = True
        plan = plan_after(last, self.place, self._clock())
        self._start(plan, self._storage, lambda: self.held.begin_ahead(plan, self._attempt))

    def _confirm(self, plan: EpochPlan) -> None:
        """Take the driver's plan of the open epoch."""
        if self._ahead.failure is not None:
            failure, self._ahead.failure = self._ahead.failure, None
            self._send(failure)
            return
        self.held.confirm(plan)
        self._plan = plan
        if self._reading is not None:
            read = self._read_plan()
            self._reading.plan = read
            if self.subtask.revise_reading(read):
                self._reading.poll_again(self._clock())
        self._note_output()

    def end_reading(self) -> None:
        """Let a source end the open epoch after its current batch."""
        if self._reading is not None:
            self._reading.is_end_wanted = True

    @property
    def is_exhausted(self) -> bool:
        """Whether the sources have read all the input that the run has for them at present."""
        if self.phase is not Phase.OPEN or self._reading is None:
            return False
        if self._reading.batches is not None or self._reading.next_poll == 0:
            return False
        head, bounded = self.subtask.chain.head, self.subtask.program.available_now
        at_end = bounded and isinstance(head, SourceOperator) and head.is_exhausted
        return self.subtask.ended or at_end

    # -- a turn in the loop --------------------------------------------------------------------

    def due_at(self, now: int, clock: float) -> float | None:
        """Seconds until the subtask needs a turn. 0 if it needs one now; None if it waits for
        input, credit or the driver."""
        if self.phase is not Phase.OPEN or self.outbox.is_blocked:
            return None
        if self.subtask.waker.is_set or self._has_work():
            return 0.0
        waits = []
        for at in (self._wakeup, self._flush_at):
            if at is not None:
                waits.append(max(0.0, (at - now) / 1000))
        if self._unflushed is not None:
            timeout = self._timeout
            if timeout is not None:
                waits.append(max(0.0, self._unflushed + timeout - clock))
        if (
            self._reading is not None
            and self._reading.next_poll is not None
            and not self._is_overfed
        ):
            waits.append(max(0.0, (self._reading.next_poll - now) / 1000))
        return min(waits, default=None)

    def may_wait(self, now: int, clock: float) -> bool:
        """Whether the input may wait for more while other subtasks of the worker have something to
        do: one call with many records is cheaper than many calls. Called if `due_at` has returned
        0."""
        if not self._gathers or self.gate.records >= self._wanted:
            return False
        timeout = self._patience.saturated
        is_asked = self.gate.is_ending or self.subtask.waker.is_set
        if is_asked or self.is_source or self.feedback is not None or not self._intake.is_empty:
            return False
        if any(at is not None and at <= now for at in (self._wakeup, self._flush_at)):
            return False
        if self._unflushed is not None and clock - self._unflushed >= timeout:
            return False
        if self._waiting_since is None:
            self._waiting_since = clock
        return clock - self._waiting_since < timeout

    @property
    def _gathers(self) -> bool:
        """Whether records wait for others, because the worker is saturated. Not if few would come
        together, or if the calls of this subtask are cheap: a record might wait for a long turn of
        another one."""
        patience = self._patience
        return (
            patience.is_saturated
            and self._share.of_worker >= _LEAST_SHARE
            and _MANY * self._pace.seconds < patience.saturated
        )

    @property
    def _timeout(self) -> float | None:
        """Seconds that records wait at most for others. None: until a buffer is full."""
        return self._patience.saturated if self._gathers else self._patience.timeout

    @property
    def _wanted(self) -> int:
        """Records of a piece of input that is large enough. A single producer must be able to send
        them before any of them is processed."""
        most = max(1, self._window.share // 2)  # it gets no more while it holds half of its credit
        if self._is_columnar:
            return min(self._pace.columns, most)
        return min(self._pace.wanted(self.subtask.program.buffer_records), most)

    def _has_work(self) -> bool:
        reading, is_full = self._reading, self._is_full
        is_fed = self.feedback is not None and self.feedback.has_records
        if reading is not None:
            has_input = is_fed or reading.batches is not None
            is_ending = reading.is_end_wanted and not self._is_held
            return is_ending or (has_input and not is_full)
        if self.gate.is_aligned and self._intake.is_empty:
            if self._ahead.is_open:  # its barrier has come before its plan, from another worker
                return False
            return not self._is_held or (is_fed and self._barrier_waits_for_feedback)
        return not is_full and (is_fed or self.gate.has_ready or not self._intake.is_empty)

    @property
    def _barrier_waits_for_feedback(self) -> bool:
        return self.feedback is not None and self.feedback.holds_barrier

    @property
    def _is_overfed(self) -> bool:
        """Whether new input waits until loops have less to feed back."""
        return self.feedback is not None and self.feedback.is_full

    @property
    def _is_full(self) -> bool:
        """Whether an operator would have to wait if it got more input now."""
        return self.subtask.chain.room() == 0

    def turn(self, until: float) -> None:
        """Work until the time ``until`` (`time.perf_counter`), or until nothing is left to do.
        Called if `due_at` has returned 0."""
        self._turn_began, self._waiting_since = time.perf_counter(), None
        self._meter.enter(Load.BUSY)
        if self._watched is not None and self._watchdog is not None:
            self._watchdog.resume(self._watched)
        self._guarded(lambda: self._work(until))
        self._share.observe(self._turn_began, time.perf_counter())
        self._meter.enter(self._load)

    @property
    def _load(self) -> Load:
        """Load of the subtask until its next turn."""
        if self.outbox.is_blocked:
            return Load.BACK_PRESSURED
        is_busy = self.phase is Phase.OPEN and (self._is_full or self._has_work())
        return Load.BUSY if is_busy else Load.IDLE

    def take_credit(self, edge: int, target: int, records: int) -> None:
        """Take a grant of a target, which may end the back pressure."""
        self.outbox.add_credit(edge, target, records)
        if self._meter.load is Load.BACK_PRESSURED and not self.outbox.is_blocked:
            self._meter.enter(self._load)

    def _guarded(self, step: Callable[[], None]) -> None:
        """Run a step. Every exception of user code becomes a failed acknowledgement."""
        try:
            step()
        except BaseException as error:
            self.phase = Phase.FAILED
            failure = self.held.failed_by(error, self._attempt)
            if self._ahead.is_open:  # the driver still counts the answers of the epoch before
                self._ahead.failure = failure
            else:
                self._send(failure)

    def _work(self, until: float) -> None:
        now = self._clock()
        self._is_held = False
        self.subtask.set_clock(now)
        self._heed_wake_up(now)
        self._fire_timers(now)
        if self._reading is not None:
            self._read(self._reading, now, until)
        else:
            self._process(until)
        if self.phase is Phase.OPEN:
            self._flush_if_due()
            self._flush_by_the_clock(now)

    def _heed_wake_up(self, now: int) -> None:
        """Look for what another thread has told of: records of a reader, or ended requests."""
        if not self.subtask.waker.take():
            return
        if self._reading is None:
            self._wakeup = now
        elif self._reading.is_over or self._reading.is_ending:
            self.subtask.on_timer(now)  # of requests in the chain of a source that reads no more
            self.has_news = True
            self._note_output()
        else:
            self._reading.poll_at(now)

    def _fire_timers(self, now: int) -> None:
        """Tell the operators the time, and fire the timers that are due. Only these are news."""
        if self._wakeup is None or self._wakeup > now:
            if self._reading is None and now > self._told:
                self._told = now
                self.subtask.on_timer(now)
            return
        self._told = now
        self.subtask.on_timer(now)
        self.has_news = True
        self._wakeup = self.subtask.next_wakeup()
        if self._wakeup is not None and self._wakeup <= now:
            self._wakeup = now + 1  # such as a sink that waits for its next epoch
        self._note_output()

    # -- input ---------------------------------------------------------------------------------

    def _process(self, until: float) -> None:
        intake, worked = self._intake, False
        while not (self.outbox.is_blocked or self._is_full):
            started, used = time.perf_counter(), time.thread_time()
            if started >= until and worked:
                break
            count = self._step(self._room())
            if count is None:
                break
            worked = self.has_news = True
            self._observe(count, started, used)
            self._note_output(count)
            if self._patience.timeout == 0:
                self._flush_if_due()
            if intake.taken:
                self._give_credit()
        if worked:
            self._wakeup = self.subtask.next_wakeup()
        is_aligned = self.gate.is_aligned and intake.is_empty and not self._ahead.is_open
        if is_aligned and not self.outbox.is_blocked:
            self._align()

    def _observe(self, records: int, started: float, used: float) -> None:
        """Measure a piece.

        Args:
            started: time of its beginning (`time.perf_counter`).
            used: the thread's processor time at its beginning.
        """
        seconds = time.perf_counter() - started
        is_slow = self._pace.is_slow(records, seconds)
        if is_slow or seconds > _LONG:
            seconds = self._preemptions.without(seconds, time.thread_time() - used, is_slow)
        self._pace.observe(records, seconds)

    def _step(self, limit: int) -> int | None:
        """Process a piece of input or of feedback. None if there is nothing to do before the
        epoch ends."""
        feedback, intake, gate = self.feedback, self._intake, self.gate
        if feedback is None:
            return intake.step(limit)
        if gate.is_aligned and intake.is_empty:
            return feedback.step(limit) if feedback.holds_barrier else None
        takes_input = gate.is_ending or not feedback.is_full
        if not takes_input:
            return feedback.step(limit)
        if not gate.is_ending and feedback.takes_turn():
            count = feedback.step(limit)
            return intake.step(limit) if count is None else count
        count = intake.step(limit)
        if count is None and not gate.is_aligned:
            count = feedback.step(limit)
        return count

    def _room(self) -> int:
        """Records of the next piece of input."""
        if self._patience.timeout == 0:
            return 1
        most = self.subtask.program.buffer_records
        limit = self._pace.columns if self._is_columnar else self._pace.limit(most)
        free = min(limit, self._room_below())
        room = self.subtask.chain.room()
        return free if room is None else max(1, min(free, room))

    @property
    def _is_columnar(self) -> bool:
        return self._intake.takes_columns or self._reads_columns

    def _room_below(self) -> int:
        """Records of input whose output the targets have room for.

        Where calls are cheap, a piece is no larger than the smallest window: all its output may be
        for one target. Where they are expensive, the targets share it as they did the last ones.
        """
        room = self.outbox.room()
        output = self._yield.ratio * self.outbox.peak_share
        shared = max(1, int(room / max(_LEAST_RATIO, output)))
        is_expensive = self._is_columnar or self._pace.least(is_columnar=False) > 1
        return shared if is_expensive else min(room, shared)

    def _give_credit(self) -> None:
        taken, self._intake.taken = self._intake.taken, {}
        self._window.adapt(self._pace.seconds, self._pace.least(self._is_columnar))
        for channel, records in taken.items():
            granted = self._window.returned(channel, records)
            if granted:
                self._grant(channel, self.subtask.index, granted)

    def _align(self) -> None:
        """End the epoch, as the barriers of all channels are here."""
        ends = self.gate.statuses
        self.subtask.settle((channel, end.watermark, ends_idle(end)) for channel, end in ends)
        if self.feedback is not None:
            self.feedback.meet_barrier()
        self._is_held = self.subtask.chain.holds_barrier
        if self._is_held:
            self._note_output()
            if self._barrier_waits_for_feedback:
                self._flush()  # what the barrier waits for must not wait for a full buffer
        else:
            self._end(self._consumed)

    # -- reading -------------------------------------------------------------------------------

    def _feed(self, feedback: Feedback, until: float) -> None:
        """Process feedback in a source's chain, for half of the time until ``until`` if there may
        be input, too."""
        began = time.perf_counter()
        ends = until if feedback.is_full else began + (until - began) / 2
        while not (self.outbox.is_blocked or self._is_full):
            started = time.perf_counter()
            if started >= ends:
                break
            count = feedback.step(self._room())
            if count is None:
                break
            self.has_news = True
            self._pace.observe(count, time.perf_counter() - started)
            self._note_output(count)

    def _read(self, reading: _Reading, now: int, until: float) -> None:
        if self.feedback is not None and not reading.is_end_wanted:
            self._feed(self.feedback, until)
        if reading.is_ending:  # the barrier was held, or had to wait for credit
            self.subtask.on_timer(now)
        if not reading.is_ending and (reading.is_end_wanted or not self._is_overfed):
            self._read_on(reading, now, until)
        if reading.is_end_wanted and not self.outbox.is_blocked:
            self._finish_round(reading)
            self._note_output()
            self._is_held = self.subtask.chain.holds_barrier
            if not (self._is_held or self.outbox.is_blocked):
                self._end({})

    def _read_on(self, reading: _Reading, now: int, until: float) -> None:
        """Read until the time ``until``, or to the end of the round. Timers of the source's chain
        fire before."""
        if reading.batches is not None:
            self.subtask.on_timer(now)
            self._note_output()
        elif reading.is_due(now):
            self.subtask.on_timer(now)
            if self.subtask.ended:  # before this epoch
                self._finish_round(reading)
            else:
                reading.begin_round(self.subtask.read_available(reading.plan), self._records_read)
        while reading.batches is not None and not (self.outbox.is_blocked or self._is_full):
            started, used, before = time.perf_counter(), time.thread_time(), self._records_read
            if next(reading.batches, _END) is _END:
                self._finish_round(reading)
            count = self._records_read - before
            self.has_news = self.has_news or count > 0
            self._observe(count, started, used)
            self._note_output(count)
            if self._patience.timeout == 0:
                self._flush_if_due()
            if time.perf_counter() >= until or reading.is_end_wanted:
                break
        reading.is_ending = reading.is_end_wanted

    @property
    def _records_read(self) -> int:
        head = self.subtask.chain.head
        return head.records if isinstance(head, SourceOperator) else 0

    def _finish_round(self, reading: _Reading) -> None:
        before = self.subtask.chain.head.watermark
        self.subtask.finish_reading(reading.plan)
        if self.subtask.chain.head.watermark != before:  # also without records
            self.has_news = True
        now = self._clock()
        if self.subtask.ended:
            reading.rest(None)
            return
        has_read = self._records_read > reading.records_before and not reading.is_ending
        reading.poll_after = (
            FIRST_POLL_MS if has_read else min(2 * reading.poll_after, MOST_POLL_MS)
        )
        if reading.is_ending:  # nobody asks the reader before the next epoch
            at = self.subtask.next_wakeup(with_head=False)
            reading.rest(None if at is None else max(at, now + reading.poll_after))
            return
        at, head = self.subtask.next_wakeup(), self.subtask.chain.head
        if at is not None:
            is_polled = isinstance(head, SourceOperator) and head.is_polled
            at = min(at, now + reading.poll_after) if is_polled else at
        reading.rest(at)

    # -- output --------------------------------------------------------------------------------

    def _note_output(self, records: int = 0) -> None:
        """Pass on full buffers after a piece of input with so many records, and remember that
        others may wait. Records that fill the smallest window of a target are sent immediately,
        because records that wait here have taken no credit yet."""
        self._unsent += records
        if self._unsent >= self._room_below():
            self._unsent = 0
            for exchange in self.subtask.chain.exchanges.values():
                exchange.flush()
        self.outbox.put(self.subtask.fetched())
        self._yield.observe(records, self.outbox.records)
        if self._unflushed is None:
            self._unflushed = self._turn_began

    def _flush_if_due(self) -> None:
        if self._unflushed is None or self.outbox.is_blocked:
            return
        timeout = self._timeout
        if timeout is None:
            # in a loop, a record would wait at each hop
            is_due = bool(self.subtask.program.loops) and not self._has_work()
        else:
            is_late = time.perf_counter() - self._unflushed >= timeout
            is_due = is_late or not (self._has_work() or self._gathers)
        if is_due:
            self._flush()

    def _flush_by_the_clock(self, now: int) -> None:
        """Let operators emit that want to although no input has come. Only a watermark that
        advances is news."""
        if self._flush_at is None or self._flush_at > now or self.outbox.is_blocked:
            return
        if self._reading is not None:
            self.subtask.on_timer(now)
        before = self.subtask.chain.watermarks
        self._flush()
        self.has_news = self.has_news or self.subtask.chain.watermarks != before

    def _flush(self) -> None:
        self.subtask.flush_within_epoch()
        self._unsent = 0
        self.outbox.put(self.subtask.fetched())
        self._unflushed = None
        if self._reading is None:
            self._wakeup = self.subtask.next_wakeup()
        if self._flush_at is not None:
            self._flush_at = self.subtask.next_flush()

    def _end(self, consumed: dict[int, tuple[int, ...]]) -> None:
        """End the epoch: barriers to all tasks downstream, and the acknowledgement."""
        self.subtask.on_barrier(self._plan.epoch)
        self._held_end = self.subtask.chain.holds_end
        self.outbox.put(self.subtask.fetched())
        self._reading, self._unflushed, self._wakeup, self._flush_at = None, None, None, None
        ack = self.held.acknowledged(
            self._plan, self._origin, consumed, self._storage.write_segment
        )
        ack.time.began_at = self._began_at
        busy, back_pressured = self._meter.taken()
        ack.time.seconds, ack.time.handing_seconds = busy + back_pressured, back_pressured
        self.phase = Phase.WAITING
        if not self._held_end:
            self._ahead.last = ended_epoch(self._plan, ack)
        self._send(ack)

    def _send(self, ack: Ack) -> None:
        payload = self.held.encoded(ack)
        if len(payload) > MOST_PAYLOAD:
            error = JobExecutionError(
                "the data that a subtask sends to the driver at the end of an epoch has "
                f"{len(payload):,} bytes, more than {MOST_PAYLOAD:,}: results that are collected, "
                "files and rows that a sink hands to its committer, accumulators. Make them "
                "smaller, or let the results go to a sink that writes in the workers"
            )
            self.phase = Phase.FAILED
            payload = self.held.encoded(self.held.failed_by(error, self._attempt))
        self._acknowledge(payload)


_END = object()


class _Yield:
    """Output records per input record of a subtask, measured over its last pieces."""

    def __init__(self) -> None:
        self._input = self._output = 1000.0
        self._before = 0

    def observe(self, records: int, output: int) -> None:
        """Measure a piece of ``records``. ``output`` is the number of all records of output up to
        now."""
        if records:
            made, self._before = output - self._before, output
            self._input = _KEPT * self._input + records
            self._output = _KEPT * self._output + made

    @property
    def ratio(self) -> float:
        """Output per input."""
        return self._output / self._input


_KEPT = 0.95
_LEAST_SHARE = 0.1
"""Share of the worker's time that a subtask takes if its records may wait for others."""
_MANY = 20
"""Records that must be able to come together if they wait for others."""
_LONG = 0.002
"""Seconds of a piece in which another process may have had the processor."""
_LEAST_RATIO = 1 / 16
"""Least output per input that is expected for one target: what was filtered out, or was for
others, may come any time."""


class _Reading:
    """Reads a source during an epoch, in consecutive rounds."""

    def __init__(self, plan: ReadPlan) -> None:
        self.plan = plan
        self.batches: Iterator[None] | None = None
        """Batches of the running round. None between two rounds."""
        self.next_poll: int | None = 0
        """Time of the next round, in ms since the epoch. None while a round runs, or if there is no
        next one."""
        self.poll_after = FIRST_POLL_MS
        self.records_before = 0
        self.is_end_wanted = False
        """Whether the driver has sent the barrier."""
        self.is_ending = False
        """Whether no more is read before the barrier, which may have to wait for credit."""

    @property
    def is_over(self) -> bool:
        """Whether there is no running round, and no next one."""
        return self.batches is None and self.next_poll is None

    def is_due(self, now: int) -> bool:
        """Whether the next round is due."""
        return self.next_poll is not None and self.next_poll <= now

    def begin_round(self, batches: Iterator[None], records: int) -> None:
        """Begin a round, before which ``records`` were read in the epoch."""
        self.batches, self.next_poll, self.records_before = batches, None, records

    def poll_at(self, now: int) -> None:
        """Begin the next round now, unless one runs or the source has ended."""
        if self.next_poll is not None:
            self.next_poll = min(self.next_poll, now)

    def poll_again(self, now: int) -> None:
        """Begin the next round now, unless one runs: there may be further splits."""
        if self.batches is None:
            self.next_poll = now

    def rest(self, until: int | None) -> None:
        """End the round."""
        self.batches, self.next_poll = None, until
