"""Executor with resident tasks: they run for many epochs, and barriers separate the epochs.

All of an executor runs in the thread of its job, except `cancel` and `end_reading`.
"""

from __future__ import annotations

import logging
import secrets
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from millrace.common.completable_future import CompletableFuture
from millrace.engine.clock import Clock, SystemClock
from millrace.engine.executor import ExecutorError
from millrace.engine.resident.tasks import ResidentSettings, RunningTasks, TaskStarter
from millrace.runtime.epoch import Ack, EpochPlan, SubtaskPlan
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
    News,
    Wiring,
    decode_news,
    encode_plan,
)
from millrace.runtime.resident.frames import FrameKind, TransportError
from millrace.state.serialization.payload import decode, dump_code

__all__ = ["ResidentExecutor"]

log = logging.getLogger(__name__)

RETURN_PATIENCE = 3.0
"""Seconds in which told tasks return, before they are killed."""
WIRE_PATIENCE = 10.0
"""Seconds in which a task must answer before a new attempt. One that is stuck in a function of the
user is killed then."""
REQUEST_DELAY_MS = 5
"""Milliseconds from the first request of an operator to the barrier, so that others join."""
LONG_TURN = 1.0
"""Seconds of one turn after which a task is known to be busy."""
MOST_STRETCHED = 1000.0
"""Milliseconds to which epochs are stretched at most."""
PEER_PATIENCE = 0.3
"""Seconds to wait for the end of a worker to which another one has lost its connection."""


@dataclass
class _Task:
    """A resident task, as the driver knows it."""

    control: FrameConnection
    hello: Hello | None = None
    heartbeat: FrameConnection | None = None
    beat_at: float = 0.0
    """Time of the last heartbeat (`time.monotonic`)."""
    turn_seconds: float = 0.0
    """Seconds of the running turn of a subtask, by the last heartbeat."""
    wired: int = -1
    """Last attempt whose connections are made."""

    is_told_to_return: bool = False

    def return_now(self) -> None:
        """Tell the task to return."""
        self.is_told_to_return = True
        self.control.send(FrameKind.RETURN)
        self.control.push()

    @property
    def name(self) -> str:
        """The process, for messages."""
        return f"worker {self.hello.worker if self.hello else self.control.peer}"


@dataclass
class _OpenEpoch:
    """The running epoch."""

    plan: EpochPlan
    expected: int
    began: int
    """Time of the barrier before, in ms since the epoch: intervals are from barrier to barrier."""
    acks: list[Ack] = field(default_factory=list)
    news: set[News] = field(default_factory=set)
    exhausted: set[int] = field(default_factory=set)
    """Tasks without more input."""
    is_closing: bool = False
    """Whether the barrier has been sent."""

    def is_of(self, plan: EpochPlan) -> bool:
        """Whether this is the epoch of a plan, and the same attempt."""
        return (self.plan.epoch, self.plan.attempt) == (plan.epoch, plan.attempt)

    @property
    def has_failed(self) -> bool:
        """Whether a subtask has failed."""
        return any(ack.failure is not None for ack in self.acks)


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
        self._generation = 0
        self._attempt = 0
        self._running: RunningTasks | None = None
        self._tasks: dict[int, _Task] = {}
        self._strangers = Strangers(self._selector)
        self._is_wired = False
        self._open: _OpenEpoch | None = None
        self._cancelled = False
        self._end_wanted = False
        self._live_attempt = -1
        """Attempt whose connections must hold. Negative after a loss: all survivors tell of it."""
        self._broken: tuple[float, str] | None = None
        """Time until which the end of a worker may explain a broken connection, and the error."""
        self._barrier_at: int | None = None
        """Time of the last barrier, in ms since the epoch."""
        self._rounds_ms = 0.0
        """Shortest useful time between two barriers in ms, by the duration of the last ones."""

    # -- the executor's interface --------------------------------------------------------------

    def deploy(self, program: Program) -> None:
        """Make the program known. Tasks of a program with the same width stay."""
        before = self._program
        program = self._starter.adapted(replace(program, tasks=self._most_tasks))
        self._code = dump_code(program, lambda: f"job '{program.job_name}'")
        self._program = program
        self._is_wired = False
        if before is not None and before.max_width != program.max_width:
            self._end_generation()

    def prepare(self, program: Program) -> CompletableFuture[None]:
        """Do nothing: a rescaled job starts its tasks in `deploy`."""
        return CompletableFuture.completed(None)

    def begin_epoch(self, plan: EpochPlan) -> None:
        """Let the tasks begin an epoch, if they are ready."""
        if self._is_wired and self._are_all_here():
            self._open = self._begun(plan)
            for task in self._tasks.values():
                task.control.push()  # `run_epoch` tells of a broken connection

    def run_epoch(self, plan: EpochPlan, closing: Callable[[], None] | None = None) -> list[Ack]:
        """Run one epoch until its barrier has passed all subtasks. ``closing`` is called when the
        barrier is sent.

        Raises:
            ExecutorError: a task was lost.
        """
        try:
            self._ensure_tasks()
            self._ensure_wired()
            return self._run(plan, closing or _nothing)
        except (ExecutorError, TransportError, OSError) as error:
            self._is_wired, self._live_attempt, self._broken = False, -1, None
            self._starter.require_running()
            if isinstance(error, ExecutorError):
                raise
            raise ExecutorError(str(error)) from error
        finally:
            self._open = None
            self._cancelled = self._end_wanted = False

    def cancel(self) -> None:
        """Make the running epoch end with an ExecutorError. May be called in any thread."""
        self._cancelled = True
        self._wake()

    def end_reading(self) -> None:
        """Send the barrier of the running epoch now. May be called in any thread."""
        self._end_wanted = True
        self._wake()

    def finished(self) -> None:
        """Do nothing: workers close the subtasks that have ended when they return."""

    def close(self) -> None:
        """End the tasks, and close the sockets."""
        self._end_generation()
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
            self._server, self._port = listening(self._starter.bind)
            self._server.setblocking(False)
            self._selector.register(self._server, selectors.EVENT_READ)
        return tcp_address(self._starter.host, self._port)

    def _ensure_tasks(self) -> None:
        """Start a generation, unless one runs, and wait until all its tasks are here."""
        if self._running is not None and self._running.failure() is not None:
            self._end_generation()
        if self._running is None:
            self._generation += 1
            address = self._address()
            self._running = self._starter.start(address, self._token, self._generation, self._width)
        if self._are_all_here():
            return
        self._is_wired = False
        limit = time.monotonic() + self._settings.start_timeout
        while not self._are_all_here():
            if time.monotonic() > limit:
                raise ExecutorError(
                    f"only {len(self._tasks)} of {self._width} resident tasks have started within "
                    f"{self._settings.start_timeout:.0f} s"
                )
            self._poll(0.2)

    def _are_all_here(self) -> bool:
        tasks = self._tasks.values()
        return len(tasks) == self._width and all(task.hello for task in tasks)

    def _ensure_wired(self) -> None:
        """Connect the workers anew, unless the connections of the last epoch are sound."""
        if self._is_wired:
            return
        self._open = None  # an epoch that was begun is lost
        self._attempt += 1
        places = tuple(self._tasks[task].hello.place for task in range(self._width))  # type: ignore[union-attr]
        wiring = Wiring(self._attempt, self._code, places, self._settings.buffer_timeout)
        self._send_all(FrameKind.WIRE, wiring.encode())
        self._live_attempt, self._broken = self._attempt, None
        limit = time.monotonic() + self._settings.start_timeout
        while waiting := [t for t in self._tasks.values() if t.wired != self._attempt]:
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
        self._is_wired = True

    def _end_generation(self) -> None:
        """Tell the tasks to return, and end those that do not."""
        running, self._running = self._running, None
        for task in self._tasks.values():
            task.return_now()
        if running is not None and not self._have_returned(running):
            running.cancel()
            running.wait(RETURN_PATIENCE)
        for task in list(self._tasks.values()):
            self._forget(task)

    def _have_returned(self, running: RunningTasks) -> bool:
        """Wait until the tasks have returned. Those that have only just started are told, too."""
        until = time.monotonic() + RETURN_PATIENCE
        while not running.wait(0.02):
            if time.monotonic() > until:
                return False
            for key, _ in self._selector.select(0):
                if key.fileobj is self._server:
                    self._accept()
                elif isinstance(key.data, FrameConnection) and key.data.peer == UNKNOWN:
                    self._receive(key.data)
            for task in self._tasks.values():
                if not task.is_told_to_return:
                    task.return_now()
        return True

    def _forget(self, task: _Task) -> None:
        """Close the connections of a task. If it still runs, it ends, and is started again."""
        self._tasks.pop(task.control.peer, None)
        self._drop(task.control)
        if task.heartbeat is not None:
            self._drop(task.heartbeat)

    def _kill(self, task: _Task) -> None:
        """Kill a task that does not answer."""
        assert self._running is not None
        if task.hello is not None:
            self._running.kill(task.hello.attempt)
        self._forget(task)

    def _drop(self, connection: FrameConnection) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(connection)
        connection.close()

    # -- an epoch ------------------------------------------------------------------------------

    def _run(self, plan: EpochPlan, closing: Callable[[], None]) -> list[Ack]:
        opened = self._open
        if opened is None or not opened.is_of(plan):
            opened = self._begun(plan)
        opened.plan = plan  # its end may have been set anew
        self._open = opened
        closed_at = time.monotonic()
        while len(opened.acks) < opened.expected:
            if opened.has_failed:
                self._is_wired = False  # drops what is on its way
                return opened.acks
            due = self._barrier_due(opened)
            now = self._clock.now()
            if not opened.is_closing and due is not None and due <= now:
                opened.is_closing = True
                closing()
                closed_at, self._barrier_at = time.monotonic(), now
                self._send_all(FrameKind.BARRIER, b"")
            waits = None if due is None or opened.is_closing else (due - now) / 1000
            self._poll(0.5 if waits is None else min(0.5, max(0.0, waits)))
        self._measure_round(time.monotonic() - closed_at)
        return opened.acks

    def _begun(self, plan: EpochPlan) -> _OpenEpoch:
        """Send a plan to the tasks."""
        for number, task in self._tasks.items():
            part = _part_of(plan, number, self._width)
            task.control.send(FrameKind.EPOCH, encode_plan(part))
        now = self._clock.now()
        self._barrier_at = min(now, self._barrier_at or now)
        return _OpenEpoch(plan, len(plan.subtasks), self._barrier_at)

    def _barrier_due(self, opened: _OpenEpoch) -> int | None:
        """Time of the barrier, in ms since the epoch. None if there is no reason for one yet."""
        if self._end_wanted or len(opened.exhausted) == self._width:
            return opened.began
        times = [] if opened.plan.ends_at is None else [opened.plan.ends_at]
        if News.REQUEST in opened.news:
            times.append(opened.began + REQUEST_DELAY_MS)
        if News.RECORDS in opened.news:
            times.append(opened.began + max(self._settings.barrier_interval, int(self._rounds_ms)))
        return min(times, default=None)

    def _measure_round(self, seconds: float) -> None:
        """Measure how long a barrier takes to pass all subtasks. Under load the epochs become
        longer, so that at most a fifth of the time is spent on barriers."""
        self._rounds_ms += 0.3 * (min(4000 * seconds, MOST_STRETCHED) - self._rounds_ms)

    def _send_all(self, kind: FrameKind, body: bytes) -> None:
        for task in self._tasks.values():
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
        if self._cancelled:
            raise ExecutorError("the job's tasks were cancelled")
        self._check_tasks()

    def _push_all(self) -> None:
        for task in list(self._tasks.values()):
            if task.control.has_waiting and not task.control.push_in(self._selector):
                raise self._loss(task)

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
            raise self._loss(task)

    def _greeted(self, connection: FrameConnection, kind: int, body: bytes) -> None:
        _, purpose, generation, number = parsed_greeting(kind, body, self._token)
        if generation != self._generation or not 0 <= number < self._width:
            raise TransportError("a task of an earlier generation")
        if purpose == "task" and number not in self._tasks:
            self._tasks[number] = _Task(connection, beat_at=time.monotonic())
        elif purpose == "heartbeat" and number in self._tasks:
            task = self._tasks[number]
            if task.heartbeat is not None:
                self._drop(task.heartbeat)
            task.heartbeat = connection
        else:  # a heartbeat that is quicker than its task comes again
            raise TransportError("a second task of one number")
        self._strangers.trust(connection, number)

    def _take(self, task: _Task, kind: FrameKind, body: bytes) -> None:
        """Process a message of a task."""
        if kind is FrameKind.HEARTBEAT:
            task.beat_at = time.monotonic()
            task.turn_seconds = float(body or 0)
            if task.turn_seconds > LONG_TURN and self._open is not None:
                self._open.news.add(News.RECORDS)  # of which it cannot tell itself at present
        elif kind is FrameKind.GREETING:
            task.hello = Hello.decode(body)
        elif kind is FrameKind.WIRED:
            task.wired = int(body)
        elif kind is FrameKind.LOST:
            self._take_loss(task, *map(int, body.split()))
        elif kind is FrameKind.ACK:
            self._take_ack(body)
        elif kind is FrameKind.NEWS:
            self._take_news(task, *decode_news(body))
        else:
            raise TransportError(f"a task sent a frame of kind {kind}")

    def _take_loss(self, task: _Task, attempt: int, peer: int) -> None:
        """Process the message that a worker has lost its connection to another one. Mostly the
        other one has died, which says more."""
        if attempt != self._live_attempt:
            return
        other = self._tasks.get(peer)
        name = other.name if other is not None else f"task {peer}"
        message = f"the connection of {task.name} to {name} broke"
        self._broken = self._broken or (time.monotonic() + PEER_PATIENCE, message)

    def _take_ack(self, body: bytes) -> None:
        ack = decode(body)
        assert isinstance(ack, Ack)
        if self._open is not None and ack.attempt == self._attempt:
            self._open.acks.append(ack)

    def _take_news(self, task: _Task, epoch: int, news: News) -> None:
        opened = self._open
        if opened is None or opened.plan.epoch != epoch:
            return
        if news is News.EXHAUSTED:
            opened.exhausted.add(task.control.peer)
        else:
            opened.news.add(news)

    def _check_tasks(self) -> None:
        """Raise an ExecutorError if a task is lost or frozen, or Spark has ended the tasks."""
        assert self._running is not None
        failure = self._running.failure()
        if failure is not None:
            self._end_generation()  # at once: the processes of the other tasks stay if they return
            raise ExecutorError(failure or "the resident tasks have returned")
        if self._broken is not None and time.monotonic() > self._broken[0]:
            raise ExecutorError(self._broken[1])
        limit = time.monotonic() - self._settings.heartbeat_timeout
        for task in self._tasks.values():
            if task.beat_at < limit:
                self._kill(task)
                raise ExecutorError(
                    f"{task.name} has sent no heartbeat for "
                    f"{self._settings.heartbeat_timeout:g} s, and was ended",
                    self._subtasks_of(task),
                )

    def _loss(self, task: _Task) -> ExecutorError:
        """Error for a task whose connection has ended. Its process is replaced, and the others
        stay."""
        assert self._running is not None
        self._forget(task)
        reason = self._running.reason(task.hello.attempt) if task.hello is not None else ""
        message = f"{task.name} was lost" + (f": {reason}" if reason else "")
        return ExecutorError(message, self._subtasks_of(task))

    def _subtasks_of(self, task: _Task) -> list[tuple[int, int]]:
        """Subtasks of a task, whose state its replacement does not have."""
        assert self._program is not None
        number, width = task.control.peer, self._width
        return [
            (stage.id, index)
            for stage in self._program.stages
            for index in range(number, stage.parallelism, width)
        ]


def _part_of(plan: EpochPlan, task: int, width: int) -> EpochPlan:
    """Part of a plan for the subtasks of one task."""
    part: dict[tuple[int, int], SubtaskPlan] = {
        place: subtask for place, subtask in plan.subtasks.items() if place[1] % width == task
    }
    return replace(plan, subtasks=part)


def _nothing() -> None:
    """Do nothing."""
