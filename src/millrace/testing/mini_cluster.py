"""Whole jobs in this process, without Spark, with a manual clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.executor import Executor
from millrace.engine.job_details import JobDetails, Listener
from millrace.testing.faults import Faults
from millrace.testing.local_executor import LocalExecutor
from millrace.testing.manual_clock import ManualClock
from millrace.testing.searched_files import SearchedFiles, UnpackedArchives

EPOCH_LIMIT = 10_000
_ONE_EPOCH = 20_000
"""Number of records of a split that an epoch reads."""
_DEFAULTS = Configuration(
    {
        options.EPOCH_INITIAL_RECORDS.key: _ONE_EPOCH,
        # on a busy machine, an epoch may take longer: the next one must not read less for that
        options.EPOCH_TARGET_DURATION.key: "1 d",
    }
)
"""Settings with which the records that a test gives a source are one epoch. Those of the program
have precedence."""


@dataclass
class MiniCluster:
    """In-process cluster of `run_local`. Flink: class ``MiniClusterWithClientResource``."""

    clock: ManualClock
    progress: list[JobDetails] = field(default_factory=list)
    """Progress after each accepted epoch of all jobs in this cluster."""
    listeners: list[Listener] = field(default_factory=list)
    """Functions that are called after each accepted epoch, in the job's thread, so that a test can
    act between epochs."""
    executors: list[Executor] = field(default_factory=list)
    """Executors of the jobs, one per job."""
    epoch_limit: int = EPOCH_LIMIT

    def observe(self, progress: JobDetails) -> None:
        """Record the progress after an accepted epoch."""
        self.progress.append(progress)
        for listener in self.listeners:
            listener(progress)
        if progress.epochs >= self.epoch_limit:
            raise RuntimeError(
                f"job '{progress.job_name}' was stopped after {progress.epochs} epochs: end its "
                "source, take a limited number of records, or raise epoch_limit"
            )


@contextmanager
def run_local(
    workers: int = 1,
    seed: int | None = None,
    *,
    clock: ManualClock | None = None,
    faults: Faults | None = None,
    epoch_records: int | None = None,
    buffer_records: int | None = None,
    checkpoint_dir: str | None = None,
    resume: bool = False,
    epoch_limit: int = EPOCH_LIMIT,
    executor: Callable[[], Executor] | None = None,
) -> Iterator[MiniCluster]:
    """Context in which jobs run in this process, without Spark, so that a small job takes only
    milliseconds.

    The environments of these jobs are made inside it.

    Args:
        workers: number of workers that take turns, each with its own cache of state.
        seed: shuffles the workers and the order of buffers; with None both stay in order.
        clock: processing time; one that begins at 0 if None.
        faults: probabilities of faults, drawn from the seed.
        epoch_records: the most records per split and epoch: small ones make many epochs.
        buffer_records: records per buffer between stages.
        checkpoint_dir: directory of checkpoints; with ``resume``, the job continues from the newest
            one.
        epoch_limit: a job with more epochs fails with a RuntimeError, so that no test runs forever.
        executor: factory of the executor, instead of `LocalExecutor`.

    Example:
        >>> from millrace.datastream import StreamExecutionEnvironment
        >>> with run_local(workers=2, seed=1, epoch_records=2) as cluster:
        ...     env = StreamExecutionEnvironment.get_execution_environment()
        ...     words = env.from_collection(["to", "be", "or", "not", "to", "be"])
        ...     counts = words.map(lambda word: (word, 1)).key_by(0).sum(1)
        ...     sorted(counts.execute_and_collect())
        [('be', 1), ('be', 2), ('not', 1), ('or', 1), ('to', 1), ('to', 2)]
        >>> len(cluster.progress)
        3
    """
    cluster = MiniCluster(clock or ManualClock(), epoch_limit=epoch_limit)
    files, archives = SearchedFiles(), UnpackedArchives()

    def local_executor(configuration: Configuration) -> Executor:
        directory = archives.unpack(configuration)
        return LocalExecutor(workers, seed, faults, cluster.clock.now, directory)

    def create(configuration: Configuration, name: str, parallelism: int) -> Executor:
        files.add(configuration)
        made = local_executor(configuration) if executor is None else executor()
        cluster.executors.append(made)
        return made

    launcher = JobLauncher(
        settings=_settings(epoch_records, buffer_records, checkpoint_dir),
        defaults=Configuration(_DEFAULTS),  # a program may set more of them
        resume=resume,
        listeners=[cluster.observe],
        clock=cluster.clock,
        executor=create,
    )
    before = JobLauncher.current()
    JobLauncher.install(launcher)
    try:
        yield cluster
    finally:
        JobLauncher.install(before)
        files.remove()
        archives.remove()


def _settings(
    epoch_records: int | None, buffer_records: int | None, checkpoint_dir: str | None
) -> Configuration:
    settings = Configuration()
    if epoch_records is not None:
        settings.set(options.EPOCH_INITIAL_RECORDS, epoch_records)
        settings.set(options.EPOCH_MAX_RECORDS, epoch_records)
    if buffer_records is not None:
        settings.set(options.BUFFER_RECORDS, buffer_records)
    if checkpoint_dir is not None:
        settings.set(options.CHECKPOINTING_DIR, checkpoint_dir)
    return settings
