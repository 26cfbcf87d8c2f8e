"""Settings for the run of a job: checkpoints, restarts, pace. Made from the configuration."""

from __future__ import annotations

from dataclasses import dataclass, field

from millrace.common.config.checkpoint_config import ExternalizedCheckpointRetention
from millrace.common.config.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from millrace.engine.executor_choice import ExecutorChoice


@dataclass(frozen=True)
class JobConfig:
    """Settings of one run, with times in milliseconds."""

    checkpoint_dir: str | None = None
    """Directory of checkpoints. If None, the job keeps its deltas in a temporary directory
    during its run."""
    checkpoint_interval: int = 1_000
    """Minimum time between two checkpoints; 0 for a checkpoint after every epoch."""
    retained_checkpoints: int = 2
    retention: ExternalizedCheckpointRetention = (
        ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    )
    """Whether the checkpoints of a job stay after its end, depending on how the job has ended."""
    tolerable_failed_checkpoints: int = 0
    resume_from: int | None = None
    """Number of the checkpoint from which to resume; None for the newest."""
    resume: bool = False
    """Whether to continue from the newest checkpoint of this job, if there is one."""
    start_from: str | None = None
    """Path of a savepoint or checkpoint to start from, unless the job resumes from a checkpoint
    of its own."""
    claim: bool = False
    """Whether the job claims the snapshot that it starts from, and deletes it when it is no
    longer needed."""
    keep_claimed: bool = False
    """Whether a claimed snapshot is not deleted; later jobs cannot claim it."""
    allow_non_restored: bool = False
    """Whether state of operators that the job does not have may be left behind."""
    allow_pickle: bool = False
    """Whether the snapshot that the job starts from may run code of its author: if it is native, or
    has pickled values."""
    savepoint_dir: str | None = None
    """Directory of savepoints that are requested without a directory."""
    restart_strategy: RestartStrategyConfiguration = field(
        default_factory=RestartStrategies.no_restart
    )
    target_epoch: int = 1_000
    """Target duration of an epoch under backlog."""
    initial_records: int = 100
    """Records per split that the first epoch may read."""
    max_records: int = 1_000_000
    min_interval: int = 0
    """Minimum time between the starts of two epochs."""
    keep_warm: int = 45_000
    """Maximum time between two epochs: Spark ends idle workers after 60 s."""
    epoch_report_after: int = 60_000
    """Time after which an epoch is logged with the stacks of its subtasks; 0 for never."""
    epoch_timeout: int | None = None
    """Time after which an epoch fails."""
    latency_interval: int = 0
    """Milliseconds between latency markers; 0 for no markers."""
    batch: bool = False
    program: str = ""
    """File of the program; empty in an interactive session."""
    executor: ExecutorChoice | None = None
    """The executor of the job; None if nobody has chosen."""
