"""Launch of jobs from sinks and settings, where plan, engine and Spark come together.

A launcher is the seam for everything that runs jobs: programs run on Spark; tests replace it to run
them in this process; ``millrace run`` adds its settings and its progress line.
"""

from __future__ import annotations

import atexit
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, ClassVar

from millrace.common.config import flink_options, options
from millrace.common.config.checkpoint_config import CheckpointConfig
from millrace.common.config.configuration import Configuration
from millrace.common.config.restart_strategy import (
    FallbackRestartStrategy,
    RestartStrategies,
    RestartStrategyConfiguration,
)
from millrace.common.errors import JobDefinitionError
from millrace.common.job import JobExecutionResult
from millrace.common.source import Boundedness
from millrace.datastream import execution_target
from millrace.datastream.available_now import require_available_now
from millrace.datastream.collected import CloseableIterator
from millrace.datastream.connect_target import connect_server, connect_target
from millrace.datastream.execution_target import DEFAULT_INTERVAL, ExecutionTarget
from millrace.datastream.foreground_run import (
    adopt_spark_session,
    call_beside,
    run_beside,
    run_here,
)
from millrace.engine.archived_job import archived_job
from millrace.engine.checkpoint_coordinator import CheckpointCoordinator
from millrace.engine.clock import Clock, SystemClock
from millrace.engine.control_directory import (
    ObservedInControlDirectory,
    control_directory,
    id_at_server,
)
from millrace.engine.control_service import Operable
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.engine.epoch_watch import EpochWatch
from millrace.engine.executor import Executor
from millrace.engine.executor_choice import ExecutorKind
from millrace.engine.fresh_start import fresh_start_warning
from millrace.engine.job_archive import JobArchive
from millrace.engine.job_config import JobConfig
from millrace.engine.job_details import Listener
from millrace.engine.job_identity import new_run_id
from millrace.engine.job_manager import JobManager
from millrace.engine.job_observer import JobObserver
from millrace.engine.job_record import RecordedRun
from millrace.engine.program_file import program_file
from millrace.engine.rescaling import Replan
from millrace.engine.resume_hint import resume_hint
from millrace.filesystem.registry import resolved
from millrace.filesystem.settings import FileSystemSettings, use_settings
from millrace.job_graph.job_graph import JobGraph
from millrace.job_graph.stages import build_job_graph, inputs_first
from millrace.job_graph.transformation import Role, Transformation
from millrace.metrics import metric_options
from millrace.runtime.logs.log_formats import use_format
from millrace.runtime.logs.log_settings import LogSettings
from millrace.runtime.main_classes import main_classes
from millrace.state.backend.loading import chosen_backend
from millrace.state.backend.state_backend import StateBackend

log = logging.getLogger(__name__)

Onlooker = Callable[[EmbeddedJobClient], AbstractContextManager[object]]
Handlers = Mapping[Transformation, Callable[[list[Any], int, int], None]]
ALL = 1 << 62
"""Number of records per split and epoch in batch mode, where one epoch takes all."""


@dataclass
class JobLauncher:
    """Launcher of this process's jobs."""

    settings: Configuration = field(default_factory=Configuration)
    """Settings that have precedence over the program's."""
    defaults: Configuration = field(default_factory=Configuration)
    """Settings over which the program's have precedence."""
    resume: bool = False
    listeners: list[Listener] = field(default_factory=list)
    clock: Clock = field(default_factory=SystemClock)
    executor: Callable[[Configuration, str, int], Executor] | None = None
    """Factory of executors from configuration, job name and highest parallelism; None for Spark."""
    run: Callable[[EmbeddedJobClient], JobExecutionResult] | None = None
    """Function that runs a job to its end; None for the executor's usual way."""
    beside: bool = False
    """Whether Spark starts in a thread of its own, so that a signal only interrupts the wait."""

    resume_advice: str = f"set {options.RESUME.key} to true"
    """Instruction that makes a job continue from its newest checkpoint, for warnings."""

    tells_failures: bool = True
    """Whether jobs in the background tell how to continue after a failure."""

    onlookers: ClassVar[list[Onlooker]] = []
    """Observers while a program waits for its job, such as a progress line in a notebook."""
    _current: ClassVar[JobLauncher | None] = None

    @classmethod
    def current(cls) -> JobLauncher:
        """The launcher that this process uses now."""
        if cls._current is None:
            cls._current = cls()
        return cls._current

    @classmethod
    def of_environment(cls) -> JobLauncher:
        """The current launcher, for one environment. Its listeners are notified only of jobs of
        this environment."""
        launcher = copy(cls.current())
        launcher.listeners = [*launcher.listeners]
        return launcher

    @classmethod
    def install(cls, launcher: JobLauncher | None) -> None:
        """Use another launcher from now on; None restores the default launcher."""
        cls._current = launcher

    def run_to_end(self, client: EmbeddedJobClient) -> JobExecutionResult:
        """Run a job and wait for its end; raises the job's error."""
        run = self.run or (run_beside if self.executor is None else run_here)
        try:
            with ExitStack() as looking_on:
                for onlooker in self.onlookers:
                    looking_on.enter_context(onlooker(client))
                result = run(client)
        except BaseException:
            self._try_to_announce_end(client)
            raise
        if self.executor is None:
            adopt_spark_session()
        return result

    def start(self, client: EmbeddedJobClient) -> EmbeddedJobClient:
        """Start a job in the background. If the job fails, its thread prints how to continue,
        unless another part of the program does. If the program ends before the job, for example
        because Ctrl-C ended its wait, it prints this, too."""
        if self.tells_failures:
            client.when_failed(lambda: self._try_to_announce_end(client))
            if not client.collects:
                tell = partial(self._try_to_announce_end, client)
                atexit.register(tell)
                client.when_done(partial(atexit.unregister, tell))
        return client.start()

    def graph(
        self,
        sinks: Sequence[Transformation],
        configuration: Configuration,
        name: str,
        run_id: str = "plan",
        backend: StateBackend | None = None,
    ) -> JobGraph:
        """The job graph that ends in ``sinks``.

        Raises:
            JobDefinitionError: the program is wrong; an operator has no uid, and
                ``pipeline.auto-generate-uids`` is off.
        """
        if not configuration.get(flink_options.AUTO_UIDS):
            _require_uids(sinks)
        cap = configuration.get(options.STATE_MEMORY_CAP)
        poll = configuration.get(options.SOURCE_POLL_INTERVAL)
        file_systems = FileSystemSettings(
            s3_endpoint=configuration.get(options.S3_ENDPOINT),
            s3_region=configuration.get(options.S3_REGION),
            s3_path_style=configuration.get(options.S3_PATH_STYLE),
        )
        return build_job_graph(
            sinks,
            run_id,
            name,
            max_parallelism=configuration.get(options.MAX_PARALLELISM),
            batch_mode=_is_batch(configuration, sinks),
            available_now=configuration.get(options.AVAILABLE_NOW),
            buffer_records=configuration.get(options.BUFFER_RECORDS),
            inline_limit=configuration.get(options.STATE_INLINE_LIMIT).get_bytes(),
            memory_cap=cap.get_bytes() if cap else None,
            poll_interval=poll.to_millis(),
            watermark_interval=configuration.get(options.AUTO_WATERMARK_INTERVAL).to_millis(),
            commit_retries=configuration.get(options.COMMITTER_RETRIES),
            job_parameters=configuration.get(options.GLOBAL_JOB_PARAMETERS),
            file_systems=file_systems,
            state_backend=chosen_backend(configuration, backend),
            main_classes=main_classes(),
            log=LogSettings.of(configuration),
            previews=configuration.get(options.PREVIEW),
        )

    def client(
        self,
        sinks: Sequence[Transformation],
        handlers: Handlers,
        configuration: Configuration,
        name: str,
        restart: RestartStrategyConfiguration,
        backend: StateBackend | None = None,
    ) -> EmbeddedJobClient:
        """A client of the job that ends in ``sinks``, not yet started."""
        if configuration.get(options.AVAILABLE_NOW):
            require_available_now(configuration, sinks)
        _require_checkpoints(configuration, sinks)
        run_id = new_run_id()
        graph = self.graph(sinks, configuration, name, run_id, backend)
        use_settings(graph.program.file_systems)
        config = self._job_config(configuration, restart, graph.program.batch_mode)
        use_format(graph.program.log.json)
        graph.program.log.apply_levels()
        width = max(stage.parallelism for stage in graph.program.stages)
        self._require_target()
        target = self._target(graph, configuration, name, width)
        config = replace(config, executor=target.choice)
        with ExitStack() as failing:
            for observer in target.observers:  # a job that never begins holds no slots
                failing.callback(observer.closed)
            results = _dispatcher(graph, sinks, handlers)
            checkpoints = CheckpointCoordinator(config, name, run_id)
            collects = all(isinstance(handlers.get(s), CloseableIterator) for s in sinks)
            replan = self._replan(sinks, configuration, name, run_id, backend)
            manager = JobManager(
                graph,
                target.executor,
                config,
                self.clock,
                checkpoints,
                results,
                self.listeners,
                replan,
            )
            _let_observe(manager, graph, configuration, target)
            if checkpoints.durable:
                job_id, job_dir = checkpoints.job_id, checkpoints.job_dir
                control = control_directory(job_dir, configuration.get(options.CONTROL_DIR))
                record = RecordedRun(name, job_id, run_id, config.program, job_dir)
                observers: list[JobObserver] = [record]
                if control is not None:
                    known = archived_job(graph, config, configuration, restart, target.spark_ui)
                    observers += [
                        Operable(manager, name, job_id, run_id),
                        JobArchive(manager, known),
                    ]
                manager.observe(ObservedInControlDirectory(control or job_dir, observers))
                self.announce(name, job_dir, config, collects)
            _let_report(manager, configuration)
            # who runs a batch waits for the one epoch that it is
            level = logging.INFO if config.batch else logging.WARNING
            watch = EpochWatch(manager, config.epoch_report_after, config.epoch_timeout, level)
            manager.observe(watch)
            failing.pop_all()
        return EmbeddedJobClient(manager, collects)

    def announce(self, name: str, job_dir: str, config: JobConfig, collects: bool) -> None:
        """Log how the job ``name`` starts. Warn if it starts afresh although its directory has
        checkpoints.

        Args:
            collects: whether this process collects all results, so that none are written twice.
        """
        if collects:
            return
        warning = fresh_start_warning(job_dir, config, self.resume_advice)
        if warning is not None:
            log.warning("%s (job '%s' in %s)", warning, name, job_dir)

    def announce_end(self, client: EmbeddedJobClient) -> None:
        """Log how to continue a job that was interrupted, cancelled or has failed."""
        hint = resume_hint(client, self.resume_advice)
        if hint is not None:
            name, job_dir = client.progress().job_name, client.get_job_directory()
            log.warning("%s (job '%s' in %s)", hint, name, job_dir)

    def _try_to_announce_end(self, client: EmbeddedJobClient) -> None:
        with suppress(Exception):  # the job's own error goes before any of the advice
            self.announce_end(client)

    def _target(
        self, graph: JobGraph, configuration: Configuration, name: str, width: int
    ) -> ExecutionTarget:
        if self.executor is None:
            server = connect_server(configuration)
            if server is not None:
                return connect_target(graph, configuration, server)
            make_target = partial(execution_target.spark_target, graph, configuration, name, width)
            if not self.beside:
                return make_target()
            target = call_beside(make_target)
            adopt_spark_session()
            return target
        if configuration.get(options.EXECUTOR) == ExecutorKind.RESIDENT:
            execution_target.require_fit_for_resident_tasks(graph)
        return execution_target.local_target(self.executor(configuration, name, width))

    def _require_target(self) -> None:
        """Raise JobDefinitionError if a job would run on Spark although ``run_local`` is in
        force."""
        if self.executor is None and JobLauncher.current().executor is not None:
            raise JobDefinitionError(
                "this environment was made before run_local(), so its job would run on Spark: "
                "make the environment inside `with run_local():`, too"
            )

    def _replan(
        self,
        sinks: Sequence[Transformation],
        configuration: Configuration,
        name: str,
        run_id: str,
        backend: StateBackend | None,
    ) -> Replan:
        """Build the graph of the running job again with another default parallelism. Each graph
        has a run id of its own, so that workers and part files do not confuse them."""
        numbers = count(1)

        def replan(parallelism: int) -> JobGraph:
            if parallelism < 1:
                raise JobDefinitionError(f"the parallelism must be at least 1, not {parallelism}")
            with _default_parallelism(sinks, parallelism):
                number = next(numbers)
                return self.graph(sinks, configuration, name, f"{run_id}.{number}", backend)

        return replan

    def _resumes(self, configuration: Configuration) -> bool:
        """Whether a job goes on from its newest checkpoint, if it has one."""
        asked = configuration.get(options.RESUME) or configuration.get(options.AVAILABLE_NOW)
        return self.resume or asked

    def _job_config(
        self, configuration: Configuration, restart: RestartStrategyConfiguration, batch: bool
    ) -> JobConfig:
        interval = configuration.get(options.CHECKPOINTING_INTERVAL)
        timeout = configuration.get(options.EPOCH_TIMEOUT)
        if isinstance(restart, FallbackRestartStrategy):
            restart = RestartStrategies.no_restart()
        most = configuration.get(options.EPOCH_MAX_RECORDS)
        if batch and not configuration.contains_key(options.EPOCH_MAX_RECORDS.key):
            most = ALL
        return JobConfig(
            checkpoint_dir=_location(configuration.get(options.CHECKPOINTING_DIR)),
            checkpoint_interval=DEFAULT_INTERVAL if interval is None else interval.to_millis(),
            retained_checkpoints=configuration.get(options.CHECKPOINTING_NUM_RETAINED),
            retention=CheckpointConfig(configuration).get_externalized_checkpoint_retention(),
            tolerable_failed_checkpoints=configuration.get(options.TOLERABLE_FAILED_CHECKPOINTS),
            resume=self._resumes(configuration),
            resume_from=configuration.get(options.RESUME_FROM),
            start_from=_location(configuration.get(options.START_FROM)),
            claim=configuration.get(options.CLAIM_MODE) == "CLAIM",
            keep_claimed=configuration.get(options.KEEP_CLAIMED),
            allow_pickle=configuration.get(options.ALLOW_PICKLE),
            allow_non_restored=configuration.get(options.ALLOW_NON_RESTORED),
            savepoint_dir=_location(configuration.get(options.SAVEPOINT_DIR)),
            restart_strategy=restart,
            target_epoch=configuration.get(options.EPOCH_TARGET_DURATION).to_millis(),
            initial_records=most if batch else configuration.get(options.EPOCH_INITIAL_RECORDS),
            max_records=most,
            min_interval=configuration.get(options.EPOCH_MIN_INTERVAL).to_millis(),
            keep_warm=configuration.get(options.EPOCH_KEEP_WARM).to_millis(),
            epoch_report_after=configuration.get(options.EPOCH_REPORT_AFTER).to_millis(),
            epoch_timeout=None if timeout is None else timeout.to_millis(),
            latency_interval=configuration.get(flink_options.LATENCY_INTERVAL).to_millis(),
            batch=batch,
            program=program_file() or "",
        )


def _reports_metrics(configuration: Configuration) -> bool:
    prefix = metric_options.REPORTER_PREFIX
    described = any(key.startswith(prefix) for key in configuration.key_set())
    return described or bool(configuration.get(metric_options.REPORTERS))


def _location(text: str | None) -> str | None:
    return None if text is None else resolved(text)


@contextmanager
def _default_parallelism(sinks: Sequence[Transformation], parallelism: int) -> Iterator[None]:
    """Context that sets the parallelism of operators for which the program has set none."""
    before = {t: t.parallelism for t in inputs_first(sinks) if not t.fixed_parallelism}
    try:
        for transformation in before:
            transformation.parallelism = parallelism
        yield
    finally:
        for transformation, own in before.items():
            transformation.parallelism = own


def _require_checkpoints(configuration: Configuration, sinks: Sequence[Transformation]) -> None:
    """Refuse sources that remove read data, if a crash would leave no checkpoint."""
    if configuration.get(options.CHECKPOINTING_DIR) is not None:
        return
    for transformation in inputs_first(sinks):
        source = transformation.source
        if source is not None and source.requires_checkpoints:
            raise JobDefinitionError(
                f"source '{transformation.name}' archives or deletes what has been read once a "
                "checkpoint contains it, but checkpoints of this job end with its process, so a "
                f"crash would lose records: set {options.CHECKPOINTING_DIR.key}"
            )


def _require_uids(sinks: Sequence[Transformation]) -> None:
    for transformation in inputs_first(sinks):
        if transformation.uid is None:
            raise JobDefinitionError(
                f"operator '{transformation.name}' has no uid, and uids are not generated: call "
                ".uid(...) on it, or enable_auto_generated_uids() on the configuration"
            )


def _is_batch(configuration: Configuration, sinks: Sequence[Transformation]) -> bool:
    mode = configuration.get(options.RUNTIME_MODE)
    bounded = all(map(_bounded, sinks)) and not configuration.get(options.AVAILABLE_NOW)
    if mode == "BATCH" and not bounded:
        raise JobDefinitionError(
            "the job runs in BATCH mode but one of its sources never ends, so there would never be "
            "a result; use STREAMING mode, or give the source an end"
        )
    return bounded and mode in ("BATCH", "AUTOMATIC")


def _bounded(transformation: Transformation) -> bool:
    if transformation.role is Role.SOURCE:
        assert transformation.source is not None
        return transformation.source.boundedness is Boundedness.BOUNDED
    return all(_bounded(source.transformation) for source in transformation.inputs)


def _let_observe(
    manager: JobManager, graph: JobGraph, configuration: Configuration, target: ExecutionTarget
) -> None:
    """Let the execution target of a job and its REST endpoint observe it."""
    for observer in target.observers:
        manager.observe(observer)
    if configuration.get(options.REST_ENABLED):
        from millrace.rest.endpoint import endpoint_of

        manager.observe(endpoint_of(manager, graph, configuration))


def _let_report(manager: JobManager, configuration: Configuration) -> None:
    """Let the reporters of metrics observe a job, if there are any."""
    if _reports_metrics(configuration):
        from millrace.metrics.job_reporting import job_reporting

        # as REST has it, so that dashboards and alerts lead to the job
        id = id_at_server(configuration.get(options.CONTROL_DIR)) or str(manager.job_id)
        manager.observe(job_reporting(manager, id, configuration))


def _dispatcher(
    graph: JobGraph, sinks: Sequence[Transformation], handlers: Handlers
) -> Callable[[str, list[Any], int, int], None]:
    """Dispatcher of records from collecting sinks to their handlers, by uid."""
    uids = graph.uid_of
    by_uid = {uids[sink]: handlers[sink] for sink in sinks if sink in handlers}

    def dispatch(uid: str, values: list[Any], subtask: int, subtasks: int) -> None:
        by_uid[uid](values, subtask, subtasks)

    return dispatch
