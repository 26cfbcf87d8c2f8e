"""Program of a job for the workers: stages of chained operators, and the edges between them.

Pure data, made by ``plan``, pickled once per job.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from millrace.common.functions.output_tag import OutputTag
from millrace.common.types.type_information import TypeInformation
from millrace.filesystem.settings import FileSystemSettings
from millrace.runtime.logs.log_settings import LogSettings
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.backend.state_backend import HashMapStateBackend, StateBackend


class Exchange(Enum):
    """Way in which records are distributed among the subtasks at the other end of an edge."""

    KEYED = "KEYED"
    REBALANCE = "REBALANCE"
    SHUFFLE = "SHUFFLE"
    BROADCAST = "BROADCAST"
    FORWARD = "FORWARD"
    CUSTOM = "CUSTOM"
    RESCALE = "RESCALE"
    GLOBAL = "GLOBAL"


@dataclass(frozen=True)
class Edge:
    """A connection between two stages, with one exchange."""

    id: int
    source_stage: int
    target_stage: int
    exchange: Exchange
    key_selector: Callable[[Any], Any] | None = None
    key_batch: Callable[[list[Any]], list[Any]] | None = None
    """Extracts the keys of a whole batch (KEYED, CUSTOM)."""
    name: str = ""
    """What errors call it (KEYED, CUSTOM)."""
    input_number: int = 0
    """Which of the inputs of the target's first operator it feeds."""
    partitioner: bytes = b""
    """Chooses the target of a key (CUSTOM); pickled, for every subtask needs one of its own."""
    sql_keys: bool = False
    """Whether NaN is a key (KEYED)."""
    key_type: TypeInformation[Any] | None = None
    """Of the keys (KEYED), if the program says so."""
    record_type: TypeInformation[Any] | None = None
    """Of the records, if the program says so."""


@dataclass(frozen=True)
class Route:
    """Destination of a chained operator's results: another operator of the chain, or an edge."""

    tag: OutputTag[Any] | None
    node: int | None = None
    edge: int | None = None


@dataclass(frozen=True)
class Node:
    """One operator of a chain."""

    uid: str
    name: str
    factory: bytes
    """Makes the `Operator`; pickled, for every subtask needs user functions of its own."""
    routes: tuple[Route, ...] = ()
    operator_states: tuple[OperatorStateDeclaration, ...] = ()
    """What the operator declares."""


@dataclass(frozen=True)
class Stage:
    """Operators that run in one subtask. Node 0 is the head."""

    id: int
    uid: str
    name: str
    level: int
    parallelism: int
    nodes: tuple[Node, ...]
    inputs: tuple[int, ...]
    """Edge ids. None: a source stage."""


@dataclass(frozen=True)
class LoopEnds:
    """Stages in which a loop begins and ends. They have the same parallelism, and may be the
    same stage."""

    loop: str
    head_stage: int
    tail_stage: int
    tail: str
    """Uid of the operator at its end."""


@dataclass(frozen=True)
class Program:
    """Everything that a worker needs to know about a job."""

    run_id: str
    job_name: str
    max_parallelism: int
    stages: tuple[Stage, ...]
    edges: tuple[Edge, ...]
    batch_mode: bool = False
    available_now: bool = False
    """Whether the run ends when it has read what there was, and another one may go on."""
    buffer_records: int = 4096
    inline_limit: int = 1 << 20
    memory_cap: int | None = None
    state_backend: StateBackend = field(default_factory=HashMapStateBackend)
    poll_interval: int = 100
    commit_retries: int = 10
    job_parameters: dict[str, str] = field(default_factory=dict)
    """The global parameters of the program."""
    file_systems: FileSystemSettings = field(default_factory=FileSystemSettings)
    """Where the stores are that its files are in."""
    closed_runs: tuple[str, ...] = ()
    """Runs that ended in this Spark application: workers drop what they hold of them."""
    main_classes: dict[str, type] = field(default_factory=dict)
    """Classes defined in the job file itself; workers know them under their own names."""
    loops: tuple[LoopEnds, ...] = ()
    log: LogSettings = field(default_factory=LogSettings)
    tasks: int | None = None
    """The most tasks that a level runs as, each with several subtasks; None: one per subtask."""

    @property
    def levels(self) -> int:
        """Number of levels."""
        return 1 + max(stage.level for stage in self.stages)

    def stages_at(self, level: int) -> list[Stage]:
        """Stages of a level."""
        return [stage for stage in self.stages if stage.level == level]

    def width(self, level: int) -> int:
        """Number of tasks of a level, which its stages share."""
        subtasks = max(stage.parallelism for stage in self.stages_at(level))
        return subtasks if self.tasks is None else min(self.tasks, subtasks)

    @property
    def max_width(self) -> int:
        """Number of tasks of the widest level."""
        return max(self.width(level) for level in range(self.levels))

    def subtasks_of(self, stage: Stage, task: int) -> range:
        """Indexes of a stage's subtasks that one task of its level runs.

        Subtask i belongs to task i modulo the tasks of the widest level, whatever its own level:
        subtasks with one index share a worker process at all levels, as both ends of a loop must.
        """
        return range(task, stage.parallelism, self.max_width)
