"""Tasks of one job, by the Spark jobs that run them.

A job may need more tasks than it has: after a rescaling, or because executors leave. A further
Spark job starts them beside the first. Its tasks are a **crew**. Each task has a **seat**, a number
that it keeps for life. Which subtasks it runs is decided when the tasks are wired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from millrace.common.completable_future import CompletableFuture
from millrace.engine.resident.tasks import RunningTasks, TaskStarter, WhileWanted, always
from millrace.runtime.epoch import Ack, EpochPlan, Failure, FailureKind, LiveStart
from millrace.runtime.program import Program
from millrace.runtime.resident.connection import FrameConnection
from millrace.runtime.resident.control import HeldSubtask, Hello
from millrace.runtime.resident.frames import FrameKind
from millrace.runtime.turn_record import read_turn
from millrace.runtime.watchdog import turn_path

__all__ = ["Crew", "Preparation", "Roster", "Task", "misses_of", "places_of", "seated"]


@dataclass
class Task:
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
    number: int | None = None
    """Number of the task in the running attempt: it runs every subtask whose index modulo the
    number of tasks is this one. None for a spare task."""
    held: frozenset[HeldSubtask] = frozenset()
    """Subtasks whose state the process has."""
    is_leaving: bool = False
    """Whether the executor of the task is about to be removed."""
    is_told_to_return: bool = False
    is_prepared: bool = False
    """Whether the process has loaded what the next rescaling needs."""

    def prepare(self, program: bytes) -> None:
        """Tell the task that the job is about to be rescaled to a program."""
        self.is_prepared = False
        # a task that runs has the program's modules, and its classes must stay as they are
        self.control.send(FrameKind.PREPARE, program if self.number is None else b"")

    def return_now(self, ended_run: str = "") -> None:
        """Tell the task to return.

        Args:
            ended_run: id of the run if it is over, whose subtasks the process then closes. Empty
                if another task may go on with their state.
        """
        self.is_told_to_return = True
        self.control.send(FrameKind.RETURN, ended_run.encode())
        self.control.push()

    @property
    def seat(self) -> int:
        """The number of the task's place in the crew, the same until the task ends."""
        return self.control.peer

    @property
    def name(self) -> str:
        """Description of the task's process, for messages."""
        return f"worker {self.hello.worker if self.hello else self.control.peer}"

    def operator(self, job_dir: str | None) -> str:
        """The operator and subtask that the process ran last, for messages. Empty if the process
        ran none, or if the driver and the process share no disk with the job's directory.
        """
        if job_dir is None or self.hello is None:
            return ""
        turn = read_turn(turn_path(job_dir, self.hello.worker))
        return "" if turn is None else f" in '{turn.stage_name}' (subtask {turn.subtask})"


@dataclass
class Crew:
    """Tasks that one Spark job runs."""

    generation: int
    """Number of the Spark job."""
    first: int
    """Seat of its first task."""
    count: int
    """Number of tasks with which it began."""
    running: RunningTasks
    seats: set[int] = field(default_factory=set)
    """Seats of the tasks that are not told to return. One that is lost is started again."""

    def __contains__(self, seat: int) -> bool:
        return self.first <= seat < self.first + self.count


@dataclass
class Preparation:
    """Rescaled program whose tasks are started while epochs of the present one go on."""

    program: Program
    code: bytes
    since: float
    """Beginning (`time.monotonic`)."""
    future: CompletableFuture[None] = field(default_factory=CompletableFuture)

    def complete(self) -> None:
        """Complete the future, so that the rescaling continues."""
        if not self.future.done():
            self.future.set_result(None)


class Roster:
    """All tasks of a job, grouped into crews."""

    def __init__(self) -> None:
        self.crews: list[Crew] = []
        self._generations = 0
        self._seats = 0

    @property
    def size(self) -> int:
        """Number of tasks that run, or are about to."""
        return sum(len(crew.seats) for crew in self.crews)

    def start(
        self,
        starter: TaskStarter,
        address: str,
        token: bytes,
        count: int,
        may_wait: WhileWanted = always,
    ) -> None:
        """Start ``count`` tasks as a new crew.

        Args:
            may_wait: whether to wait, still, for slots that are about to become free.

        Raises:
            JobExecutionError: there are too few slots.
            ExecutorError: Spark does not run.
        """
        self._generations += 1
        running = starter.start(address, token, self._generations, count, may_wait)
        seats = set(range(self._seats, self._seats + count))
        self.crews.append(Crew(self._generations, self._seats, count, running, seats))
        self._seats += count

    def seat(self, generation: int, number: int) -> int | None:
        """Number of a task among all tasks of the job, given its number in its Spark job. None if
        the Spark job has ended.
        """
        for crew in self.crews:
            if crew.generation == generation:
                return crew.first + number
        return None

    def crew_of(self, seat: int) -> Crew | None:
        """Crew of a task; None if the task has been asked to end."""
        return next((crew for crew in self.crews if seat in crew.seats), None)

    def release(self, seat: int) -> None:
        """Record that a task has been asked to end."""
        for crew in self.crews:
            crew.seats.discard(seat)


def places_of(program: Program, number: int) -> list[tuple[int, int]]:
    """Subtasks (stage, index) of the task with the given number."""
    width = program.max_width
    return [
        (stage.id, index)
        for stage in program.stages
        for index in range(number, stage.parallelism, width)
    ]


def misses_of(task: Task, program: Program, plan: EpochPlan, attempt: int) -> list[Ack]:
    """State misses of the subtasks of a task whose process does not hold their state. From now on
    it holds them."""
    assert task.number is not None
    run = program.run_id
    before, places = task.held, places_of(program, task.number)
    task.held = frozenset(HeldSubtask(run, *place) for place in places)
    miss = Failure("", None, "the subtask is in another process", FailureKind.STATE_MISS)
    return [
        Ack(held.stage, held.index, attempt, miss)
        for held in task.held - before
        if isinstance(plan.subtasks[held.stage, held.index].start, LiveStart)
    ]


def seated(tasks: Sequence[Task], program: Program) -> list[Task]:
    """Tasks in the order of their new numbers. A task gets the number whose subtasks its process
    mostly holds, or else keeps its number.
    """
    width, run = program.max_width, program.run_id
    wishes: list[tuple[int, int, int]] = []
    for position, task in enumerate(tasks):
        counts: dict[int, int] = {}
        for held in task.held:
            if held.run == run:
                counts[held.index % width] = counts.get(held.index % width, 0) + 2
        if task.number is not None and task.number < width:
            counts[task.number] = counts.get(task.number, 0) + 1
        wishes += [(-count, number, position) for number, count in counts.items()]
    chosen: dict[int, Task] = {}
    left = dict(enumerate(tasks))
    for _, number, position in sorted(wishes):
        if number not in chosen and position in left:
            chosen[number] = left.pop(position)
    rest = iter(left.values())
    return [chosen[number] if number in chosen else next(rest) for number in range(width)]
