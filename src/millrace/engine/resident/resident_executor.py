"""Executor with resident tasks: they run for many epochs, and barriers separate the epochs.

All of an executor runs in the thread of its job, except `cancel` and `end_reading`.
"""

from __future__ import annotations

import logging
import secrets
import selectors
import socket
import time
from contextlib import suppress
from dataclasses import replace

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import JobExecutionError
from millrace.engine.clock import Clock, SystemClock
from millrace.engine.executor import EpochHooks, ExecutorError
from millrace.engine.resident.late_failures import LateFailures
from millrace.engine.resident.open_epoch import BarrierTimes, HookError, OpenEpoch, part_of
from millrace.engine.resident.roster import (
    Crew,
    Preparation,
    Roster,
    Task,
    misses_of,
    places_of,
    seated,
)
from millrace.engine.resident.tasks import ResidentSettings, TaskStarter, WhileWanted, never
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.runtime.program import Program
from millrace.runtime.resident.connection import (
    UNKNOWN,
    FrameConnection,
    Strangers,
    listening,
    parsed_greeting,
    tcp_address,
)
from millrace.runtime.resident.control import (
    Hello,
    LoadFailure,
    News,
    Wiring,
    decode_news,
    encode_plan,
    require_sendable,
)
from millrace.runtime.resident.frames import NOTICES, Body, FrameKind, TransportError
from millrace.state.serialization.payload import decode
from millrace.state.serialization.pickles import dump_code

__all__ = ["ResidentExecutor"]

log = logging.getLogger(__name__)

RETURN_PATIENCE = 3.0
"""Seconds in which told tasks return, before they are killed."""
WIRE_PATIENCE = 10.0
"""Seconds in which a task must answer before a new attempt. One that is stuck in a function of the
user is killed then."""
LONG_TURN = 1.0
"""Seconds of one turn after which a task is known to be busy."""
LONG_SILENCE = 3.0
"""Seconds without a heartbeat after which a task is taken to be busy in a call that keeps the
interpreter's lock. A task that is only slow to tell gets a barrier too early: no harm is done."""
LOOK_INTERVAL = 5.0
"""Seconds between two looks for executors that come and go."""
LEAVE_PATIENCE = 10.0
"""Seconds in which a replacement must have started for a task whose executor is about to be
removed. Then the other tasks take over."""
LONGEST_POLL = 0.5
"""Longest wait of the driver's loop in seconds."""
LEAST_BETWEEN_LOOKS_MS = 5
"""Milliseconds between two looks for new splits at least."""
PEER_PATIENCE = 0.3
"""Seconds to wait for the end of a worker to which another one has lost its connection."""


class ResidentExecutor:
    """Runs the epochs of one job on tasks that stay.

    Args:
        starter: starts the tasks.
        tasks: largest number of tasks; the program has at most as many.
        clock: processing time.
    """

    keeps_epochs_open = True

    def __init__(
        self,
        starter: TaskStarter,
        tasks: int | None,
        settings: ResidentSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._starter = starter
        self._most_tasks = tasks
        self._settings = settings or ResidentSettings()
        self._clock = clock or SystemClock()
        self._token = secrets.token_hex(16).encode()
        self._selector = selectors.DefaultSelector()
        self._server: socket.socket | None = None
        self._port = 0
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ)
        self._program: Program | None = None
        self._code = b""
        self._most_width = 0
        """Number of tasks that the program has if there are slots enough."""
        self._job_dir: str | None = None
        self._attempt = 0
        self._roster = Roster()
        self._tasks: dict[int, Task] = {}
        """Connected tasks by seat."""
        self._placed: list[Task] = []
        """Tasks of the attempt in the order of their numbers."""
        self._preparation: Preparation | None = None
        self._leaving_since = 0.0
        """Time at which the last task was marked as leaving (`time.monotonic`)."""
        self._looked_at = 0.0
        """Time of the last look for executors that come and go (`time.monotonic`)."""
        self._strangers = Strangers(self._selector)
        self._is_wired = False
        self._open: OpenEpoch | None = None
        self._cancelled = False
        self._cancelled_attempt: tuple[int, int] | None = None
        """Epoch and attempt that must end."""
        self._running: tuple[int, int] | None = None
        """Epoch and attempt that `run_epoch` runs."""
        self._end_wanted = False
        self._ahead: tuple[int, int] | None = None
        """Epoch and attempt that subtasks may have begun before their plan."""
        self._late = LateFailures()
        self._live_attempt = -1
        """Attempt whose connections must hold. Negative after a loss: all survivors tell of it."""
        self._broken: tuple[float, str] | None = None
        """Time until which the end of a worker may explain a broken connection, and the error."""
        self._barrier_at: int | None = None
        """Time of the last barrier, in ms since the epoch."""
        self._barriers = BarrierTimes(self._settings.barrier_interval)

    # -- the executor's interface --------------------------------------------------------------

    def deploy(self, program: Program) -> None:
        """Make the program known. The tasks stay; tasks that a rescaled program no longer needs
        are asked to return once it runs."""
        if self._program is not None and self._program.run_id != program.run_id:
            self._starter.forget(self._program.run_id)
        prepared, self._preparation = self._preparation, None
        if prepared is not None and prepared.program.run_id == program.run_id:
            prepared.complete()
            self._program, self._code = prepared.program, prepared.code
        else:
            self._set_program(self._adapted(program))
        self._most_width = self._width
        self._is_wired = False
        log.debug("%s runs on %d tasks", program.run_id, self._width)

    def prepare(self, program: Program) -> CompletableFuture[None]:
        """Start the tasks that a rescaled program needs in addition, while epochs go on. If there
        are too few slots, tasks have more subtasks each."""
        program = self._adapted(program)
        prepared = Preparation(program, self._code_of(program), time.monotonic())
        if self._roster.size:
            try:
                self._start_missing(program.max_width)
            except JobExecutionError as error:
                log.warning("the job is rescaled without further tasks: %s", error)
            self._preparation = prepared
            for task in self._ready():
                task.prepare(prepared.code)
        else:  # it is not running
            prepared.complete()
        return prepared.future

    def _adapted(self, program: Program) -> Program:
        most = self._most_tasks_now()
        return self._starter.adapted(replace(program, tasks=most))

    def _set_program(self, program: Program) -> None:
        self._program, self._code = program, self._code_of(program)

    @staticmethod
    def _code_of(program: Program) -> bytes:
        code = dump_code(program, lambda: f"job '{program.job_name}'")
        require_sendable(code, "its program", "Let functions open big data in open()")
        return code

    def begin_epoch(self, plan: EpochPlan) -> None:
        """Let the tasks begin an epoch, if they are ready."""
        if self._is_wired and not self._wants_other_places():
            self._open = self._begun(plan)
            for task in self._placed:
                task.control.push()  # `run_epoch` tells of a broken connection

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        """Run one epoch until its barrier has passed all subtasks. ``hooks`` are called until the
        barrier is sent.

        Raises:
            ExecutorError: a task was lost, or the epoch is cancelled.
        """
        self._job_dir, self._running = plan.job_dir, (plan.epoch, plan.attempt)
        if self._ahead not in (None, self._running):  # the epoch before it was not accepted
            self._is_wired = False
        self._ahead = None
        try:
            self._ensure_tasks()
            misses = self._ensure_wired(plan)
            if failures := misses or self._late.taken():
                self._is_wired = bool(misses)
                return failures
            return self._run(plan, hooks)
        except (ExecutorError, TransportError, OSError) as error:
            self._is_wired, self._live_attempt, self._broken = False, -1, None
            self._starter.require_running()
            if isinstance(error, ExecutorError):
                raise
            raise ExecutorError(str(error)) from error
        except HookError as error:
            self._is_wired, self._live_attempt, self._broken = False, -1, None
            raise error.error from None
        finally:
            self._open = self._running = None
            self._end_wanted = False
            if not self._is_wired:
                self._halt()

    def _halt(self) -> None:
        """Let the tasks wait for the next attempt, before which there may be a long pause."""
        for task in self._placed:
            if self._tasks.get(task.seat) is task:
                task.control.send(FrameKind.HALT, str(self._attempt).encode())
                task.control.push()

    def cancel(self, only: tuple[int, int] | None = None) -> None:
        """Make the running epoch end with an ExecutorError. May be called in any thread."""
        if only is None:
            self._cancelled = True
        else:
            self._cancelled_attempt = only
        self._wake()

    def _is_wanted(self) -> bool:
        running = self._running
        return not self._cancelled and (running is None or running != self._cancelled_attempt)

    def _require_wanted(self) -> None:
        if not self._is_wanted():
            raise ExecutorError("the job's tasks were cancelled")

    def end_reading(self) -> None:
        """Send the barrier of the running epoch now. May be called in any thread."""
        self._end_wanted = True
        self._wake()

    def finished(self) -> None:
        """Do nothing: workers close the subtasks that have ended when they return."""

    def close(self) -> None:
        """End the tasks, and close the sockets."""
        run = ""
        if self._program is not None:
            run = self._program.run_id
            self._starter.forget(run)
        self._end_crews(self._roster.crews, run)
        self._selector.close()
        for link in (self._server, self._wake_reader, self._wake_writer):
            if link is not None:
                link.close()

    def _wake(self) -> None:
        with suppress(OSError):
            self._wake_writer.send(b"!")

    # -- tasks ---------------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        assert self._program is not None
        return self._program.max_width

    def _address(self) -> str:
        if self._server is None:
            self._server, self._port = listening(self._starter.bind, self._starter.port)
            self._server.setblocking(False)
            self._selector.register(self._server, selectors.EVENT_READ)
        return tcp_address(self._starter.host, self._port)

    def _ready(self) -> list[Task]:
        """Tasks that can be wired, those of executors that leave last."""
        tasks = [t for t in self._tasks.values() if t.hello and not t.is_told_to_return]
        staying = [task for task in tasks if not task.is_leaving]
        if len(staying) >= self._width or (staying and self._has_waited_for_places()):
            return staying
        return staying + [task for task in tasks if task.is_leaving]

    def _has_waited_for_places(self) -> bool:
        """Whether tasks have been leaving for so long that the others take over their subtasks."""
        return time.monotonic() > self._leaving_since + LEAVE_PATIENCE

    def _wants_other_places(self) -> bool:
        """Whether other tasks than now should run the subtasks: further ones, or ones that do not
        leave."""
        ready = self._ready()
        if min(len(ready), self._most_width) > self._width:
            return True
        return any(t.is_leaving for t in self._placed) and not any(t.is_leaving for t in ready)

    def _ensure_tasks(self) -> None:
        """Start the tasks that are missing, and wait until all are here. If some do not come
        although the job has run before, the others take over their subtasks.

        Raises:
            ExecutorError: too few tasks are here.
        """
        for crew in list(self._roster.crews):
            if crew.running.failure() is not None:
                self._end_crews([crew])
        self._start_missing(self._width)
        limit = time.monotonic() + self._settings.start_timeout
        while len(ready := self._ready()) < min(self._width, self._roster.size):
            self._is_wired = False
            if time.monotonic() > limit:
                message = (
                    f"only {len(ready)} of {self._width} resident tasks have started within "
                    f"{self._settings.start_timeout:.0f} s"
                )
                if not ready or not self._attempt:
                    raise ExecutorError(message)
                log.warning("%s; they run all subtasks until the others come", message)
                return
            self._poll(0.2)

    def _most_tasks_now(self, may_wait: WhileWanted | None = None) -> int | None:
        """Largest number of tasks; None if there is no limit."""
        if self._most_tasks:
            return self._most_tasks
        return self._starter.cores(self._settings.spare_slots, may_wait or self._is_wanted)

    def _start_missing(self, width: int, may_wait: WhileWanted | None = None) -> None:
        """Start further tasks if there are fewer than ``width``. A job that has run before goes on
        with fewer if there are too few slots. If it has lost all, it first waits for as many slots
        as it had: those of tasks that have just ended, or of executors that come back.

        Args:
            may_wait: whether to wait, still, for slots that are about to become free.

        Raises:
            JobExecutionError: there are no slots for any task.
            ExecutorError: there are none at present, but there were; or the epoch is cancelled.
        """
        may_wait = may_wait or self._is_wanted
        leaving = sum(t.is_leaving and not t.is_told_to_return for t in self._tasks.values())
        missing = width - self._roster.size + leaving
        may_have_fewer = self._roster.size if self._attempt else self._settings.spare_slots
        if missing > 0 and may_have_fewer:
            free = self._starter.free_slots()
            if free is not None:
                least = 0 if self._roster.size else 1
                missing = min(missing, max(free - self._settings.spare_slots, least))
        if missing <= 0:
            return
        try:
            self._roster.start(self._starter, self._address(), self._token, missing, may_wait)
        except ExecutorError:
            raise
        except JobExecutionError as error:
            self._require_wanted()
            free = self._starter.free_slots() if self._attempt else None
            if free is None:
                raise
            if free <= 0:
                raise ExecutorError(str(error)) from error
            missing = min(missing, max(free - self._settings.spare_slots, 1))
            self._roster.start(self._starter, self._address(), self._token, missing, may_wait)

    def _ensure_wired(self, plan: EpochPlan) -> list[Ack]:
        """Connect the workers anew, unless the connections of the last epoch are sound. Returns
        state misses of subtasks in processes without their state, if the plan does not contain it:
        the epoch must be planned again."""
        if self._is_wired and (self._open is not None or not self._wants_other_places()):
            return []
        self._open = None  # an epoch that was begun is lost
        self._attempt += 1
        assert self._program is not None
        ready = self._ready()
        width = min(len(ready), self._most_width)
        if width != self._width:
            log.info("the job continues with %d tasks instead of %d", width, self._width)
            self._set_program(replace(self._program, tasks=width))
        self._placed = seated(ready, self._program)
        for task in self._tasks.values():
            task.number = None
        for number, task in enumerate(self._placed):
            task.number = number
        self._wire()
        placed, program = self._placed, self._program
        misses = [ack for task in placed for ack in misses_of(task, program, plan, self._attempt)]
        self._is_wired = True
        self._release_spares()
        return misses

    def _wire(self) -> None:
        """Send the program and the addresses to all tasks, and wait for their connections."""
        places = tuple(task.hello.place for task in self._placed if task.hello)
        for number, task in enumerate(self._placed):
            wiring = Wiring(
                self._attempt,
                self._code,
                places,
                buffer_timeout=self._settings.buffer_timeout,
                saturated_timeout=self._settings.saturated_timeout,
                task=number,
            )
            task.control.send(FrameKind.WIRE, wiring.encode())
        self._live_attempt, self._broken = self._attempt, None
        limit = time.monotonic() + self._settings.start_timeout
        while waiting := [t for t in self._placed if t.wired != self._attempt]:
            # one that loads its program, or connects, is in no turn of a subtask
            stuck = [task for task in waiting if task.turn_seconds > WIRE_PATIENCE]
            if time.monotonic() > limit:
                stuck = waiting
            if stuck:
                names = ", ".join(task.name for task in stuck)
                lost = [place for task in stuck for place in self._subtasks_of(task)]
                for task in stuck:
                    self._kill(task)
                raise ExecutorError(f"{names} did not answer in time, and was ended", lost)
            self._poll(0.2)

    # -- tasks that come and go ----------------------------------------------------------------

    def _look_around(self) -> None:
        """Look now and then for executors that leave, and for free slots that the job can use."""
        now = time.monotonic()
        if now < self._looked_at + LOOK_INTERVAL or not self._is_wired:
            return
        self._looked_at = now
        assert self._program is not None
        self._note_leaving(now)
        if self._preparation is None:
            self._most_width = replace(self._program, tasks=self._most_tasks_now(never)).max_width
            with suppress(JobExecutionError):  # there will be another look
                self._start_missing(self._most_width, never)
            self._release_spares()
        if self._wants_other_places():
            self._end_wanted = True

    def _note_leaving(self, now: float) -> None:
        """Mark the tasks of executors that are about to be removed."""
        for crew in self._roster.crews:
            tasks = {
                task.hello.attempt: task
                for task in self._tasks.values()
                if task.hello and not task.is_leaving and task.seat in crew.seats
            }
            for attempt in crew.running.leaving(list(tasks)):
                tasks[attempt].is_leaving, self._leaving_since = True, now
                log.info("the executor of %s is about to be removed", tasks[attempt].name)

    def _release_spares(self) -> None:
        """Tell the tasks to return that the job does not need, so that others get their slots."""
        if self._preparation is not None or len(self._placed) < self._most_width:
            return
        if any(task.is_leaving for task in self._placed):
            return  # a spare task is about to replace it
        for task in self._tasks.values():
            if task.number is None and task.hello and not task.is_told_to_return:
                self._roster.release(task.seat)
                task.return_now()

    def _advance_preparation(self) -> None:
        """End the preparation of a rescaling when its tasks are here, or do not come."""
        prepared = self._preparation
        if prepared is None or prepared.future.done():
            return
        wanted = min(prepared.program.max_width, self._roster.size)
        ready = sum(task.is_prepared for task in self._ready())
        if ready >= wanted or self._is_late(prepared.since):
            prepared.complete()

    def _is_late(self, since: float) -> bool:
        return time.monotonic() > since + self._settings.start_timeout

    def _end_crews(self, crews: list[Crew], ended_run: str = "") -> None:
        """Tell the tasks of Spark jobs to return, and end those that do not.

        Args:
            ended_run: id of the run if it is over.
        """
        crews = list(crews)
        for task in self._tasks_of(crews):
            task.return_now(ended_run)
        if not self._have_returned(crews):
            for crew in crews:
                crew.running.cancel()
            for crew in crews:
                crew.running.wait(RETURN_PATIENCE)
        for task in self._tasks_of(crews):
            self._forget(task)
        for crew in crews:
            self._roster.crews.remove(crew)

    def _tasks_of(self, crews: list[Crew]) -> list[Task]:
        return [task for task in self._tasks.values() if any(task.seat in crew for crew in crews)]

    def _have_returned(self, crews: list[Crew]) -> bool:
        """Wait until the tasks have returned. Those that have only just started are told, too."""
        until = time.monotonic() + RETURN_PATIENCE
        while not all(crew.running.wait(0.02) for crew in crews):
            if time.monotonic() > until:
                return False
            for key, _ in self._selector.select(0):
                if key.fileobj is self._server:
                    self._accept()
                elif isinstance(key.data, FrameConnection) and key.data.peer == UNKNOWN:
                    self._receive(key.data)
            for task in self._tasks_of(crews):
                if not task.is_told_to_return:
                    task.return_now()
        return True

    def _forget(self, task: Task) -> None:
        """Close the connections of a task. If it still runs, it ends, and is started again."""
        self._tasks.pop(task.seat, None)
        self._drop(task.control)
        if task.heartbeat is not None:
            self._drop(task.heartbeat)

    def _kill(self, task: Task) -> None:
        """Kill a task that does not answer."""
        crew = self._roster.crew_of(task.seat)
        if task.hello is not None and crew is not None:
            crew.running.kill(task.hello.attempt)
        self._forget(task)

    def _drop(self, connection: FrameConnection) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(connection)
        connection.close()

    # -- an epoch ------------------------------------------------------------------------------

    def _run(self, plan: EpochPlan, hooks: EpochHooks | None) -> list[Ack]:
        opened = self._open
        if opened is None or not opened.is_of(plan):
            opened = self._begun(plan)
        opened.plan = plan  # its end may have been set anew
        self._open = opened
        closed_at = time.monotonic()
        while len(opened.acks) < opened.expected:
            if opened.has_failed:
                self._is_wired = False  # drops what is on its way
                self._late.expect(opened, self._attempt)
                return opened.acks
            now = self._clock.now()
            look_at = None if opened.is_closing else self._looked(opened, hooks, now)
            due = self._barriers.due(opened, self._width, self._end_wanted)
            if not opened.is_closing and due is not None and due <= now:
                opened.is_closing = True
                may_run_ahead = not (opened.has_splits or self._wants_other_places())
                goes_on = hooks is not None and hooks.closing(now, may_run_ahead)
                closed_at, self._barrier_at = time.monotonic(), now
                self._ahead = (plan.epoch + 1, 0) if goes_on else None
                self._send_all(FrameKind.BARRIER, str(plan.epoch).encode() if goes_on else b"")
            times = () if opened.is_closing else (due, look_at)
            waits = [max(0.0, (at - now) / 1000) for at in times if at is not None]
            self._poll(min(waits, default=LONGEST_POLL))
        self._barriers.passed(time.monotonic() - closed_at, opened.acks)
        return opened.acks

    def _looked(self, opened: OpenEpoch, hooks: EpochHooks | None, now: int) -> int:
        """Look for splits if it is time, and return the time of the next look."""
        at = None if hooks is None else hooks.look_at
        if hooks is not None and at is not None and at <= now and now >= opened.looks_from:
            try:
                opened.has_splits |= hooks.look(now)
            except Exception as error:
                raise HookError(error) from error
            opened.looks_from, at = now + LEAST_BETWEEN_LOOKS_MS, hooks.look_at
        latest = now + int(1000 * LONGEST_POLL)
        return latest if at is None else min(latest, max(at, opened.looks_from))

    def _begun(self, plan: EpochPlan) -> OpenEpoch:
        """Send a plan to the tasks, or to none if a part is too big."""
        bodies = [encode_plan(part_of(plan, n, self._width)) for n in range(len(self._placed))]
        for task, body in zip(self._placed, bodies, strict=True):
            task.control.send(FrameKind.EPOCH, body)
        now = self._clock.now()
        self._barrier_at = min(now, self._barrier_at or now)
        return OpenEpoch(plan, len(plan.subtasks), self._barrier_at)

    def _send_all(self, kind: FrameKind, body: bytes) -> None:
        for task in self._placed:
            task.control.send(kind, body)

    # -- the loop ------------------------------------------------------------------------------

    def _poll(self, wait: float) -> None:
        """Send and receive for up to ``wait`` seconds.

        Raises:
            ExecutorError: a task was lost, or the epoch is cancelled.
        """
        self._push_all()
        for key, events in self._selector.select(wait):
            if key.fileobj is self._wake_reader:
                with suppress(OSError):
                    self._wake_reader.recv(4096)
            elif key.fileobj is self._server:
                self._accept()
            elif events & selectors.EVENT_READ:
                self._receive(key.data)
        self._require_wanted()
        self._check_tasks()

    def _push_all(self) -> None:
        for task in list(self._tasks.values()):
            if task.control.has_waiting and not task.control.push_in(self._selector):
                self._lose(task)

    def _accept(self) -> None:
        assert self._server is not None
        self._strangers.accept(self._server)

    def _receive(self, connection: FrameConnection) -> None:
        try:
            for kind, body in connection.receive():
                if connection.peer == UNKNOWN:
                    self._greeted(connection, kind, body)
                else:
                    self._take(self._tasks[connection.peer], FrameKind(kind), body)
        except TransportError as error:
            log.debug("a connection is closed: %s", error)
            connection.is_open = False
        if connection.is_open:
            return
        self._drop(connection)
        self._strangers.forget(connection)
        task = self._tasks.get(connection.peer)
        if task is not None and task.control is connection:
            self._lose(task)

    def _greeted(self, connection: FrameConnection, kind: int, body: Body) -> None:
        _, purpose, generation, number = parsed_greeting(kind, body, self._token)
        seat = self._roster.seat(generation, number)
        if seat is None:
            raise TransportError("a task of an earlier generation")
        if purpose == "task" and seat not in self._tasks:
            self._tasks[seat] = Task(connection, beat_at=time.monotonic())
        elif purpose == "heartbeat" and seat in self._tasks:
            task = self._tasks[seat]
            if task.heartbeat is not None:
                self._drop(task.heartbeat)
            task.heartbeat = connection
        else:  # a heartbeat that is quicker than its task comes again
            raise TransportError("a second task of one number")
        self._strangers.trust(connection, seat)

    def _take(self, task: Task, kind: FrameKind, body: Body) -> None:
        """Process a message of a task."""
        if kind is FrameKind.HEARTBEAT:
            task.beat_at = time.monotonic()
            seconds, wish, _ = body.partition(NOTICES)
            task.turn_seconds = float(seconds or 0)
            if task.turn_seconds > LONG_TURN or wish:
                self._note_busy()
        elif kind is FrameKind.GREETING:
            task.hello = Hello.decode(body)
            task.held = frozenset(task.hello.held)
            if self._roster.crew_of(task.seat) is None:  # it was lost when it was to return
                task.return_now()
            elif self._preparation is not None:
                task.prepare(self._preparation.code)
        elif kind is FrameKind.WIRED:
            task.wired = int(body)
        elif kind is FrameKind.PREPARED:
            task.is_prepared = True
        elif kind is FrameKind.LOST:
            self._take_loss(task, *map(int, body.split()))
        elif kind is FrameKind.ACK:
            self._take_acks(body)
        elif kind is FrameKind.REFUSED:
            self._take_refusal(task, LoadFailure.decode(body))
        elif kind is FrameKind.NEWS:
            self._take_news(task, *decode_news(body))
        else:
            raise TransportError(f"a task sent a frame of kind {kind}")

    def _note_busy(self) -> None:
        """Record that a task works, of which it cannot tell itself at present. The barrier follows,
        and with it the time that an epoch may take begins."""
        if self._open is not None:
            self._open.news.add(News.RECORDS)

    def _take_loss(self, task: Task, attempt: int, peer: int) -> None:
        """Process the message that a worker has lost its connection to another one. Mostly the
        other one has died, which says more."""
        if attempt != self._live_attempt:
            return
        name = self._placed[peer].name
        message = f"the connection of {task.name} to {name} broke"
        self._broken = self._broken or (time.monotonic() + PEER_PATIENCE, message)

    def _take_refusal(self, task: Task, refusal: LoadFailure) -> None:
        """Process the message that a worker cannot load what the driver has sent.

        Raises:
            ExecutorError: it may be able to later.
            JobExecutionError: it will never be.
        """
        if refusal.attempt != self._attempt:
            return
        message = f"{task.name} cannot load {refusal.what}:\n{refusal.traceback.rstrip()}"
        if refusal.is_lasting:
            raise JobExecutionError(message)
        raise ExecutorError(message)

    def _take_acks(self, body: Body) -> None:
        for payload in decode(body):
            ack = decode(payload)
            assert isinstance(ack, Ack)
            if self._open is not None and ack.attempt == self._attempt:
                self._open.acks.append(ack)
            else:
                self._late.offer(ack)

    def _take_news(self, task: Task, epoch: int, news: News) -> None:
        opened = self._open
        if opened is None or opened.plan.epoch != epoch:
            return
        if news is News.EXHAUSTED:
            opened.exhausted.add(task.seat)
        else:
            opened.news.add(news)

    def _check_tasks(self) -> None:
        """Raise an ExecutorError if a task is lost or frozen, or Spark has ended the tasks."""
        for crew in list(self._roster.crews):
            failure = crew.running.failure()
            if failure is not None:
                self._end_of(crew, failure)
        self._look_around()
        self._advance_preparation()
        if self._broken is not None and time.monotonic() > self._broken[0]:
            raise ExecutorError(self._broken[1])
        limit = time.monotonic() - self._settings.heartbeat_timeout
        for task in list(self._tasks.values()):
            if task.number is not None and task.beat_at < time.monotonic() - LONG_SILENCE:
                self._note_busy()
            if task.beat_at < limit:
                self._kill(task)
                if task.number is not None:
                    raise ExecutorError(
                        f"{task.name}{task.operator(self._job_dir)} has sent no heartbeat for "
                        f"{self._settings.heartbeat_timeout:g} s, and was ended",
                        self._subtasks_of(task),
                    )

    def _end_of(self, crew: Crew, failure: str) -> None:
        """Process the end of a Spark job.

        Raises:
            ExecutorError: tasks have ended that the job needs.
        """
        is_needed = any(task.number is not None for task in self._tasks_of([crew]))
        was_told = not crew.seats
        # at once: the processes of the other tasks stay if they return
        self._end_crews([crew])
        if is_needed or not (was_told or self._is_wired):
            raise ExecutorError(failure or "the resident tasks have returned")
        if failure:
            log.warning("spare resident tasks have ended: %s", failure)

    def _lose(self, task: Task) -> None:
        """Process the end of a task's connection. Its process is replaced, and the others stay.

        Raises:
            ExecutorError: the task has subtasks.
        """
        crew = self._roster.crew_of(task.seat)
        self._forget(task)
        if task.number is None or crew is None:
            return
        reason = crew.running.reason(task.hello.attempt) if task.hello is not None else ""
        operator = task.operator(self._job_dir)
        message = f"{task.name} died{operator}" if operator else f"{task.name} was lost"
        message += f": {reason}" if reason else ""
        raise ExecutorError(message, self._subtasks_of(task))

    def _subtasks_of(self, task: Task) -> list[tuple[int, int]]:
        """Subtasks of a task, whose state its replacement does not have."""
        assert self._program is not None
        return [] if task.number is None else places_of(self._program, task.number)
