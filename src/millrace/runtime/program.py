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
class JobEdge:
    """A connection between two stages, with one exchange."""

    id: int
    source_stage: int
    target_stage: int
    exchange: Exchange
    key_selector: Callable[[Any], Any] | None = None
    key_batch: Callable[[list[Any]], list[Any]] | None = None
    """Function that extracts the keys of a whole batch (KEYED, CUSTOM)."""
    name: str = ""
    """Name of the key function in errors (KEYED, CUSTOM)."""
    input_number: int = 0
    """Number of the input of the target's first operator that the edge feeds."""
    partitioner: bytes = b""
    """Function that chooses the target of a key (CUSTOM). Pickled, since every subtask needs its
    own."""
    sql_keys: bool = False
    """Whether NaN is allowed as a key (KEYED)."""
    key_type: TypeInformation[Any] | None = None
    """Type of the keys (KEYED), if the program declares it."""
    record_type: TypeInformation[Any] | None = None
    """Type of the records, if the program declares it."""


@dataclass(frozen=True)
class Route:
    """Destination of a chained operator's results: another operator of the chain, or an edge."""

    tag: OutputTag[Any] | None
    node: int | None = None
    edge: int | None = None


@dataclass(frozen=True)
class OperatorNode:
    """One operator of a chain."""

    uid: str
    name: str
    factory: bytes
    """Factory of the `Operator`. Pickled, since every subtask needs its own user functions."""
    routes: tuple[Route, ...] = ()
    operator_states: tuple[OperatorStateDeclaration, ...] = ()
    """Operator states that the operator declares."""
    message_check: Callable[[bytes], object] | None = None
    """Check of messages to the operator; None if the operator takes none."""


@dataclass(frozen=True)
class Stage:
    """Operators that run in one subtask. Node 0 is the head."""

    id: int
    uid: str
    name: str
    level: int
    parallelism: int
    nodes: tuple[OperatorNode, ...]
    inputs: tuple[int, ...]
    """Ids of the incoming edges. None for a source stage."""


@dataclass(frozen=True)
class LoopEnds:
    """Stages in which a loop begins and ends. They have the same parallelism, and may be the
    same stage."""

    loop: str
    head_stage: int
    tail_stage: int
    tail: str
    """Uid of the operator at the loop's end."""


@dataclass(frozen=True)
class Program:
    """Everything that a worker needs to know about a job."""

    run_id: str
    job_name: str
    max_parallelism: int
    stages: tuple[Stage, ...]
    edges: tuple[JobEdge, ...]
    batch_mode: bool = False
    available_now: bool = False
    """Whether the run ends when it has read the existing data. A later run may continue."""
    buffer_records: int = 4096
    inline_limit: int = 1 << 20
    memory_cap: int | None = None
    state_backend: StateBackend = field(default_factory=HashMapStateBackend)
    poll_interval: int = 100
    watermark_interval: int = 200
    commit_retries: int = 10
    job_parameters: dict[str, str] = field(default_factory=dict)
    """Global parameters of the program."""
    file_systems: FileSystemSettings = field(default_factory=FileSystemSettings)
    """Settings of the file systems that hold the program's files."""
    closed_runs: tuple[str, ...] = ()
    """Runs that ended in this Spark application. Workers drop what they hold of these runs."""
    main_classes: dict[str, type] = field(default_factory=dict)
    """Classes defined in the job file itself. Workers know them under the same names."""
    loops: tuple[LoopEnds, ...] = ()
    log: LogSettings = field(default_factory=LogSettings)
    previews: bool = False
    """Whether people may watch records that operators emit."""
    tasks: int | None = None
    """Maximum number of tasks of a level, each with several subtasks. None for one task per
    subtask."""

    @property
    def levels(self) -> int:
        """Number of levels."""
        return 1 + max(stage.level for stage in self.stages)

    def stages_at(self, level: int) -> list[Stage]:
        """Stages of a level."""
        return [stage for stage in self.stages if stage.level == level]

    def width(self, level: int) -> int:
        """Number of tasks of a level; all stages of the level run in these tasks."""
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
