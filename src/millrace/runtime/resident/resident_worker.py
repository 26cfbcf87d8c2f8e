"""Worker of resident tasks: one loop for the sockets, timers and operators of a process.

A single thread runs everything but heartbeats (docs/decisions, "Threads of a resident task").
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Thread

from millrace.filesystem.location import is_local
from millrace.runtime.buffer import MIN_WATERMARK, Buffer, BufferKind, all_sent_before, ends_idle
from millrace.runtime.epoch import EpochPlan
from millrace.runtime.failure import describe_failure
from millrace.runtime.logs.job_notices import begin_notices, has_new_notices
from millrace.runtime.logs.log_origin import current_log_origin, enter_log_origin
from millrace.runtime.operator import wall_clock
from millrace.runtime.program import Program, Stage
from millrace.runtime.resident.connection import (
    DRIVER,
    UNKNOWN,
    FrameConnection,
    Greeting,
    Strangers,
    begin_connect,
    connect,
    encoded_greeting,
    greet,
    parsed_greeting,
)
from millrace.runtime.resident.control import (
    HeldSubtask,
    Hello,
    LoadFailure,
    ProgramLoader,
    Wiring,
    WorkerAddress,
    decode_plan,
    encode_news,
)
from millrace.runtime.resident.credits import pack_credit, unpack_credit
from millrace.runtime.resident.epoch_news import EpochNews
from millrace.runtime.resident.feedback import Feedback, FeedbackChannel, feedback_channel
from millrace.runtime.resident.frames import NOTICES, Body, FrameKind, TransportError, framed
from millrace.runtime.resident.listener import Listener
from millrace.runtime.resident.outbox import Outbox
from millrace.runtime.resident.patience import Patience
from millrace.runtime.resident.resident_subtask import Phase, ResidentSubtask, Storage
from millrace.runtime.turn_record import TurnRecord
from millrace.runtime.watchdog import turn_path
from millrace.runtime.watermark_valve import Channel
from millrace.runtime.worker import Worker
from millrace.state.key_groups import warm_up
from millrace.state.serialization.payload import encode

__all__ = ["TaskAssignment", "ResidentWorker"]

STEP = 0.01
"""Seconds after which the loop looks at its sockets, although subtasks wait for a turn."""
TURN = 0.005
"""Seconds that a subtask works before the loop looks at its sockets."""
TIDY_INTERVAL = 10.0
"""Seconds between two calls of `tidy`."""
CONNECT_PATIENCE = 10.0
"""Seconds in which the connections to other workers must stand."""
IDLE = 5.0
"""Longest wait of the loop in seconds."""
MOST_TOGETHER = 1 << 20
"""Bytes of acknowledgements that share a frame."""

_ACTIVE = (MIN_WATERMARK, False)


@dataclass(frozen=True)
class TaskAssignment:
    """Information that a task gets at its start.

    Args:
        driver: address of the driver.
        token: secret of the run.
        generation: number of the Spark job.
        task: number of the task in its Spark job.
        host: address at which other hosts reach this one. Empty if all tasks are on one host.
        heartbeat: seconds between two heartbeats.
        attempt: Spark's number of the task attempt.
        link_timeout: seconds without an answer after which a connection between hosts is broken.
    """

    driver: str
    token: bytes
    generation: int
    task: int
    host: str = ""
    heartbeat: float = 1.0
    attempt: int = 0
    link_timeout: float = 20.0


class ResidentWorker:
    """Runs the subtasks of one resident task until the driver ends it.

    Args:
        held: subtasks of this process, with their state.
        load_program: function that decodes a program, and prepares the process for it.
        storage: function that gives access to the files of a plan.
        clock: processing time in ms since the epoch.
        tidy: function that exempts the state's objects from garbage collection, called now
            and then.
    """

    def __init__(
        self,
        assignment: TaskAssignment,
        held: Worker,
        load_program: ProgramLoader,
        storage: Callable[[EpochPlan], Storage],
        clock: Callable[[], int] = wall_clock,
        tidy: Callable[[], None] | None = None,
    ) -> None:
        self._assignment = assignment
        self._held = held
        self._load_program = load_program
        self._storage = storage
        self._clock = clock
        self._tidy = tidy
        self._tidied_at = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._wake_reader, self._wake_writer = socket.socketpair()
        for end in (self._wake_reader, self._wake_writer):
            end.setblocking(False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ)
        self._listener = Listener(assignment.host)
        self._control = self._connected_to_driver()
        self._peers: dict[int, FrameConnection] = {}
        self._strangers = Strangers(self._selector)
        self._early: list[tuple[int, FrameConnection]] = []
        """Connections of an attempt of which the driver has not told yet, with its number."""
        self._connect_until: float | None = None
        """Time (`time.monotonic`) until which connections must stand. None if all do."""
        self._wiring: Wiring | None = None
        self._number = -1
        """Number of this task in the attempt."""
        self._run = self._job = ""
        """Id of the run whose program is wired, and the name of its job."""
        self._subtasks: list[ResidentSubtask] = []
        self._targets: dict[int, list[ResidentSubtask]] = {}
        """Subtasks of this task that an edge leads to."""
        self._producers: dict[tuple[int, int], ResidentSubtask] = {}
        """Producing subtasks of this task, by edge and index."""
        self._statuses: dict[Channel, tuple[int, bool]] = {}
        """Last watermark and status that each producer has told this task."""
        self._plan: EpochPlan | None = None
        self._news = EpochNews()
        self._acks: list[bytes] = []
        """Acknowledgements of this step, which are sent together."""
        self._acks_size = 0
        """Bytes of these acknowledgements."""
        self._first = 0
        """Subtask with which the next step begins."""
        self._epoch_ahead: int | None = None
        """Epoch that subtasks may begin before its plan; None if they may not."""
        self._ready_ahead: list[ResidentSubtask] = []
        """Subtasks that begin it after the next step."""
        self._turn_since: float | None = None
        """Beginning of the running turn of a subtask (`time.perf_counter`)."""
        self._patience = Patience()
        self._turns: TurnRecord | None = None
        """Record of the running subtask. None if the job's directory is on no disk."""
        self._has_returned = False

    # -- life ----------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until the driver ends the task.

        Raises:
            TransportError: the driver has gone, or does not know the task any more. The task must
                then fail, not return: Spark would not start it again.
        """
        beating = Event()
        heart = Thread(target=self._beat, args=(beating,), name="heartbeat", daemon=True)
        heart.start()
        before = current_log_origin()
        try:
            while not self._has_returned:
                self._step()
        finally:
            beating.set()
            enter_log_origin(before)
            self._close()

    def _beat(self, over: Event) -> None:
        """Send heartbeats, in a thread: they stop if the process is frozen."""
        while not over.is_set():
            with suppress(OSError), connect(self._assignment.driver) as link:
                greet(link, self._greeting("heartbeat"))
                while not over.wait(self._assignment.heartbeat):
                    since = self._turn_since
                    seconds = 0.0 if since is None else time.perf_counter() - since
                    # an epoch without records has no end, and notices would wait for it
                    wish = NOTICES if has_new_notices(self._job) else b""
                    body = b"%.3f" % seconds + wish
                    link.sendall(b"".join(framed(FrameKind.HEARTBEAT, body)))
            over.wait(self._assignment.heartbeat)

    def _connected_to_driver(self) -> FrameConnection:
        link = connect(self._assignment.driver)
        greet(link, self._greeting("task"))
        connection = FrameConnection(link, DRIVER)
        held = tuple(HeldSubtask(*key) for key in self._held.held())
        hello = Hello(self._held.name, self._listener.place, self._assignment.attempt, held)
        connection.send(FrameKind.GREETING, hello.encode())
        connection.push()
        self._selector.register(connection, selectors.EVENT_READ, connection)
        for server in self._listener.sockets:
            self._selector.register(server, selectors.EVENT_READ, server)
        return connection

    def _greeting(self, purpose: str) -> Greeting:
        given = self._assignment
        return given.token, purpose, given.generation, given.task

    def _close(self) -> None:
        self._drop_subtasks()
        self._record_turns(None)
        early = [connection for _, connection in self._early]
        for connection in (*self._peers.values(), *early, *self._strangers, self._control):
            connection.close()
        self._listener.close()
        self._selector.close()
        self._wake_reader.close()
        self._wake_writer.close()

    # -- the loop ------------------------------------------------------------------------------

    def _step(self) -> None:
        began = time.perf_counter()
        selected = self._selector.select(self._wait())
        idle = time.perf_counter() - began
        for key, events in selected:
            source = key.data
            if source is None:
                with suppress(OSError):
                    self._wake_reader.recv(4096)
            elif isinstance(source, socket.socket):
                self._accept(source)
            elif not source.is_open:  # of a former attempt
                continue
            elif source.is_connecting:
                self._connected(source)
            elif events & selectors.EVENT_READ:
                self._receive(source)
        self._give_up_connecting()
        began = time.perf_counter()
        has_worked = self._run_subtasks()
        self._patience.observe(idle, time.perf_counter() - began, has_worked)
        self._send_acks()
        self._tell_news()
        if self._tidy is not None and time.monotonic() - self._tidied_at > TIDY_INTERVAL:
            self._tidied_at = time.monotonic()
            self._tidy()
        self._push_all()
        if self._epoch_ahead is not None:
            self._run_ahead(self._epoch_ahead, has_worked)

    def _push_all(self) -> None:
        for connection in (self._control, *self._peers.values()):
            self._push(connection)

    def _wait(self) -> float:
        """Seconds that the loop waits for its sockets. A worker that has to wait sends its output
        before."""
        wait = self._until_due()
        if wait and self._patience.is_saturated:
            self._patience.end()
            wait = self._until_due()
        return wait

    def _until_due(self) -> float:
        """Seconds until a subtask needs a turn."""
        if self._ready_ahead:
            return 0.0
        now, clock = self._clock(), time.perf_counter()
        wait = IDLE
        if self._connect_until is not None:
            wait = max(0.0, min(wait, self._connect_until - time.monotonic()))
        for subtask in self._subtasks:
            due = subtask.due_at(now, clock)
            if due is not None:
                if due <= 0:
                    return 0.0
                wait = min(wait, due)
        return wait

    def _run_subtasks(self) -> bool:
        """Give every subtask a turn, and return whether one needed it. Producers come first, so
        that a record passes the whole task in one step. Subtasks that may wait for more input get
        their turn when no other needs one."""
        now, clock = self._clock(), time.perf_counter()
        ends = clock + STEP
        first, self._first = self._first, 0
        has_worked, waiting = False, []
        for number, subtask in enumerate(self._subtasks[first:], first):
            if clock > ends:  # the others get their turn after a look at the sockets
                self._first = number
                break
            due = subtask.due_at(now, clock)
            if due is None or due > 0:
                continue
            if subtask.may_wait(now, clock):
                waiting.append(subtask)
                continue
            has_worked = True
            clock = self._give_turn(subtask, clock)
        if not (has_worked or first):
            for subtask in waiting:
                if clock > ends:
                    break
                has_worked = True
                clock = self._give_turn(subtask, clock)
        if self._turn_since is not None:
            self._leave()
        return has_worked or bool(first)

    def _give_turn(self, subtask: ResidentSubtask, clock: float) -> float:
        """Give a subtask a turn, and return the time of its end (`time.perf_counter`)."""
        self._enter(subtask, clock)
        subtask.turn(clock + TURN)
        self._news.turned(subtask)
        return time.perf_counter()

    def _enter(self, subtask: ResidentSubtask, clock: float) -> None:
        """Note that a subtask's functions may run from now on."""
        enter_log_origin(subtask.log_origin)
        self._turn_since = clock
        if self._turns is not None:
            self._turns.begin(subtask.turn_record)

    def _leave(self) -> None:
        """Note that no subtask's functions run."""
        self._turn_since = None
        if self._turns is not None:
            self._turns.end()
        self._held.watchdog.end()

    def _receive(self, connection: FrameConnection) -> None:
        try:
            for kind, body in connection.receive():
                if connection is self._control:
                    self._obey(FrameKind(kind), body)
                elif connection.peer == UNKNOWN:
                    self._greeted(connection, kind, body)
                elif kind == FrameKind.BUFFER:
                    self._deliver_here(Buffer.unpack(body))
                elif kind == FrameKind.CREDIT:
                    self._take_credit(*unpack_credit(body))
                else:
                    raise TransportError(f"worker {connection.peer} sent a frame of kind {kind}")
                if not connection.is_open:  # it is of an attempt that is over
                    return
        except TransportError:
            if connection is self._control:
                raise
            connection.is_open = False
        if not connection.is_open:
            self._lose(connection)

    def _lose(self, connection: FrameConnection) -> None:
        """Handle the end of a connection. The driver decides what follows."""
        self._selector.unregister(connection)
        connection.close()
        if self._strangers.forget(connection):
            return
        if connection is self._control:
            raise TransportError("the driver has closed the connection")
        if self._peers.get(connection.peer) is connection:
            del self._peers[connection.peer]
            self._tell_loss(connection.peer)
            for subtask in self._subtasks:
                subtask.phase = Phase.FAILED

    def _tell_loss(self, peer: int) -> None:
        """Tell the driver that a connection to another worker is broken."""
        assert self._wiring is not None
        self._control.send(FrameKind.LOST, f"{self._wiring.attempt} {peer}".encode())

    def _push(self, connection: FrameConnection) -> None:
        if connection.has_waiting and connection.is_open and not connection.push_in(self._selector):
            self._lose(connection)

    def _wake(self) -> None:
        """End the loop's wait. May be called in any thread."""
        with suppress(OSError):  # full: it is awake; closed: it has ended
            self._wake_writer.send(b"!")

    # -- the driver's messages -----------------------------------------------------------------

    def _obey(self, kind: FrameKind, body: Body) -> None:
        if kind is FrameKind.WIRE:
            self._wire(Wiring.decode(body))
        elif kind is FrameKind.EPOCH:
            self._take_plan(body)
        elif kind is FrameKind.BARRIER:
            for subtask in self._subtasks:
                subtask.end_reading()
            self._allow_ahead(int(body) + 1 if body else None)
        elif kind is FrameKind.HALT:
            self._halt(int(body))
        elif kind is FrameKind.PREPARE:
            self._prepare(bytes(body))
        elif kind is FrameKind.RETURN:
            self._has_returned = True
            if body:  # nobody goes on with the state: the job is over
                for subtask in self._subtasks:  # they are closed, and the step is not over yet
                    subtask.phase = Phase.FAILED
                self._held.forget(body.decode())
        else:
            raise TransportError(f"the driver sent a frame of kind {kind}")

    def _prepare(self, program: bytes) -> None:
        """Load what a rescaling needs while the job still runs as before: the program, whose
        modules may take seconds, and what divides state."""
        if program:
            with suppress(Exception):  # the wiring tells of it
                self._load_program(program)
        warm_up()
        self._control.send(FrameKind.PREPARED)

    def _halt(self, attempt: int) -> None:
        """Let all subtasks of an attempt that is over wait for the next one."""
        if self._wiring is not None and self._wiring.attempt == attempt:
            self._plan = None
            for subtask in self._subtasks:
                subtask.phase = Phase.FAILED

    def _wire(self, wiring: Wiring) -> None:
        """Drop everything of the attempt before, and connect to the other workers."""
        self._drop_subtasks()
        for connection in self._peers.values():
            self._selector.unregister(connection)
            connection.close()
        self._peers, self._connect_until = {}, None
        self._wiring, self._number = wiring, wiring.task
        try:
            program = self._load_program(wiring.program)
        except Exception as error:
            self._refuse(wiring.attempt, "the program", error)
            return
        if self._run not in ("", program.run_id):
            self._held.forget(self._run)
        if self._run != program.run_id:
            begin_notices(program.job_name)
        self._run, self._job = program.run_id, program.job_name
        self._held.change_place(program, wiring.task)
        self._create_subtasks(program, wiring.task, wiring)
        early, self._early = self._early, []
        for number, connection in early:
            if number == wiring.attempt:
                self._register_peer(connection)
            elif number > wiring.attempt:
                self._early.append((number, connection))
            else:
                connection.close()
        try:
            for peer, place in enumerate(wiring.places[: wiring.task]):
                self._connect(peer, place)
        except OSError:
            self._tell_loss(peer)
            return
        self._tell_if_wired()

    def _connect(self, peer: int, place: WorkerAddress) -> None:
        """Begin to connect to another worker, whose host may have vanished: nothing waits for it
        here."""
        assert self._wiring is not None
        here = self._wiring.places[self._number]
        link, is_connecting = begin_connect(*place.addresses_from(here))
        timeout = self._assignment.link_timeout
        connection = FrameConnection(link, peer, timeout, is_connecting)
        greeting = (self._assignment.token, "peer", self._wiring.attempt, self._number)
        connection.send(FrameKind.GREETING, encoded_greeting(greeting))
        self._register_peer(connection)
        if is_connecting and self._connect_until is None:
            self._connect_until = time.monotonic() + CONNECT_PATIENCE

    def _connected(self, connection: FrameConnection) -> None:
        """Note that an attempt to connect has ended."""
        if connection.connected():
            self._tell_if_wired()
        else:
            self._lose(connection)

    def _give_up_connecting(self) -> None:
        """Give up connections that do not stand in time."""
        if self._connect_until is None or time.monotonic() < self._connect_until:
            return
        self._connect_until = None
        for connection in [peer for peer in self._peers.values() if peer.is_connecting]:
            self._lose(connection)

    def _register_peer(self, connection: FrameConnection) -> None:
        self._peers[connection.peer] = connection
        self._selector.register(connection, selectors.EVENT_READ, connection)

    def _accept(self, server: socket.socket) -> None:
        self._strangers.accept(server, self._assignment.link_timeout)

    def _greeted(self, connection: FrameConnection, kind: int, body: Body) -> None:
        """Accept a connection of another worker. A stranger is refused, and a worker of an earlier
        attempt."""
        _, purpose, number, task = parsed_greeting(kind, body, self._assignment.token)
        attempt = -1 if self._wiring is None else self._wiring.attempt
        if purpose != "peer" or number < attempt:
            raise TransportError("a worker of an earlier attempt")
        self._strangers.trust(connection, task)
        self._selector.unregister(connection)
        if number > attempt:
            self._early.append((number, connection))
            return
        self._register_peer(connection)
        self._tell_if_wired()

    def _tell_if_wired(self) -> None:
        wiring = self._wiring
        if any(peer.is_connecting for peer in self._peers.values()):
            return
        self._connect_until = None
        if wiring is not None and len(self._peers) == len(wiring.places) - 1:
            self._control.send(FrameKind.WIRED, str(wiring.attempt).encode())

    def _create_subtasks(self, program: Program, task: int, wiring: Wiring) -> None:
        width = len(wiring.places)
        # in a loop, a record would wait at each hop
        saturated = 0.0 if program.loops else wiring.saturated_timeout
        self._patience = Patience(wiring.buffer_timeout, saturated)
        parallelism = {stage.id: stage.parallelism for stage in program.stages}
        source = {edge.id: parallelism[edge.source_stage] for edge in program.edges}
        into = {stage.id: sum(source[edge] for edge in stage.inputs) for stage in program.stages}
        producers = {edge.id: into[edge.target_stage] for edge in program.edges}
        for stage in sorted(program.stages, key=lambda stage: stage.level):
            outgoing = {
                edge.id: parallelism[edge.target_stage]
                for edge in program.edges
                if edge.source_stage == stage.id
            }
            for position, index in enumerate(range(task, stage.parallelism, width)):
                self._create_subtask(program, stage, index, position, outgoing, producers, wiring)

    def _create_subtask(
        self,
        program: Program,
        stage: Stage,
        index: int,
        position: int,
        outgoing: dict[int, int],
        producers: dict[int, int],
        wiring: Wiring,
    ) -> None:
        held = self._held.subtask(program, stage, index)
        held.subtask.waker.listener = self._wake
        subtask = ResidentSubtask(
            held,
            wiring.attempt,
            position,
            Outbox(outgoing, len(wiring.places), self._deliver, producers),
            self._grant,
            self._acknowledge,
            self._clock,
            self._patience,
            self._held.watchdog,
        )
        self._subtasks.append(subtask)
        for edge in stage.inputs:
            self._targets.setdefault(edge, []).append(subtask)
        for edge in outgoing:
            self._producers[edge, index] = subtask

    def _drop_subtasks(self) -> None:
        self._subtasks = []
        self._news.begin(())
        self._allow_ahead(None)
        self._targets, self._producers = {}, {}
        self._statuses = {}
        self._plan = None

    def _refuse(self, attempt: int, what: str, error: Exception) -> None:
        """Tell the driver that something it has sent cannot be loaded. Mostly a module is missing
        here, or the module of a class fails when it is imported."""
        told = describe_failure(error, "").user_traceback
        is_lasting = not isinstance(error, OSError | MemoryError)
        refusal = LoadFailure(attempt, what, told, is_lasting)
        self._control.send(FrameKind.REFUSED, refusal.encode())

    def _take_plan(self, body: Body) -> None:
        try:
            plan = decode_plan(body)
        except Exception as error:
            assert self._wiring is not None
            self._refuse(self._wiring.attempt, "the splits of an epoch", error)
            return
        self._begin_epoch(plan)

    def _begin_epoch(self, plan: EpochPlan) -> None:
        self._plan = plan
        self._allow_ahead(None)
        storage = self._storage(plan)
        self._record_turns(plan.job_dir)
        for subtask in self._subtasks:
            self._enter(subtask, time.perf_counter())
            subtask.begin(plan, storage)
        self._leave()
        self._news.begin(self._subtasks)
        self._connect_loops()

    def _allow_ahead(self, epoch: int | None) -> None:
        """Allow subtasks to begin this epoch before its plan; None: none may."""
        self._epoch_ahead, self._ready_ahead = epoch, []

    def _run_ahead(self, epoch: int, has_worked: bool) -> None:
        """Let subtasks begin an epoch before its plan, and send what they emit.

        In a busy worker, a subtask begins one step after its acknowledgement: barriers that are on
        their way and other acknowledgements come first.
        """
        ready, before = [s for s in self._subtasks if s.may_run_ahead_of(epoch)], self._ready_ahead
        self._ready_ahead = [s for s in ready if has_worked and s not in before]
        for subtask in ready:
            if subtask not in self._ready_ahead:
                self._enter(subtask, time.perf_counter())
                subtask.begin_ahead()
        if self._turn_since is not None:
            self._leave()
            self._push_all()

    def _record_turns(self, job_dir: str | None) -> None:
        path = turn_path(job_dir, self._held.name) if job_dir and is_local(job_dir) else None
        if self._turns is not None and self._turns.path != path:
            self._turns.close()
            self._turns = None
        if self._turns is None and path is not None:
            with suppress(OSError):  # the directory is not shared: nobody would read it
                self._turns = TurnRecord(path)

    def _connect_loops(self) -> None:
        """Connect the ends of each loop, whose operators may be new in this epoch. Both ends of
        the same index are here."""
        opened = {s.place: s for s in self._subtasks if s.phase is Phase.OPEN}
        channels: dict[tuple[int, int], list[FeedbackChannel]] = {}
        for place, head in opened.items():
            for ends in head.subtask.program.loops:
                tail = opened.get((ends.tail_stage, place[1]))
                if ends.head_stage == place[0] and tail is not None:
                    operators = head.subtask.chain.operators, tail.subtask.chain.operators
                    channel = feedback_channel(ends.loop, *operators)
                    channels.setdefault(place, []).append(channel)
        for place, place_channels in channels.items():
            opened[place].feedback = Feedback(place_channels)

    # -- buffers -------------------------------------------------------------------------------

    def _deliver(self, task: int, buffer: Buffer) -> None:
        """Send a buffer to a task, which may be this one."""
        if task == self._number:
            self._deliver_here(buffer)
        elif (peer := self._peers.get(task)) is not None:
            peer.send(FrameKind.BUFFER, *buffer.packed())

    def _deliver_here(self, buffer: Buffer) -> None:
        channel = (buffer.edge, buffer.channel)
        targets = self._targets.get(buffer.edge, ())
        if buffer.is_for_task:
            status = buffer.watermark, ends_idle(buffer)
            is_news = self._statuses.get(channel) != status
            self._statuses[channel] = status
            if buffer.kind == BufferKind.END:
                for subtask, sent in zip(targets, all_sent_before(buffer), strict=True):
                    subtask.gate.put_barrier(channel, buffer, sent, is_news)
                return
            for subtask in targets:
                subtask.gate.put(channel, buffer)
            return
        if self._statuses.get(channel, _ACTIVE)[1]:
            del self._statuses[channel]  # records make an idle channel active
        assert self._wiring is not None
        targets[buffer.target // len(self._wiring.places)].gate.put(channel, buffer)

    def _grant(self, channel: Channel, target: int, records: int) -> None:
        """Grant records to a producer."""
        edge, producer = channel
        assert self._wiring is not None
        task = producer % len(self._wiring.places)
        if task == self._number:
            self._take_credit(edge, producer, target, records)
        elif (peer := self._peers.get(task)) is not None:
            peer.send(FrameKind.CREDIT, pack_credit(edge, producer, target, records))

    def _take_credit(self, edge: int, producer: int, target: int, records: int) -> None:
        self._producers[edge, producer].take_credit(edge, target, records)

    # -- acknowledgements and news -------------------------------------------------------------

    def _acknowledge(self, payload: bytes) -> None:
        """Send an acknowledgement, at the end of the step at the latest."""
        if self._acks_size + len(payload) > MOST_TOGETHER:
            self._send_acks()
        self._acks.append(payload)
        self._acks_size += len(payload)

    def _send_acks(self) -> None:
        """Send the acknowledgements of this step in one frame: with many subtasks, a frame for each
        is a good part of a barrier's round."""
        if self._acks:
            acks, self._acks, self._acks_size = self._acks, [], 0
            self._control.send(FrameKind.ACK, encode(acks))

    def _tell_news(self) -> None:
        """Tell the driver, once in an epoch, why the epoch may end."""
        if self._plan is None:
            return
        for news in self._news.take():
            self._control.send(FrameKind.NEWS, encode_news(self._plan.epoch, news))
