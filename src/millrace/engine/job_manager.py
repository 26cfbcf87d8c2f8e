"""The job manager, which runs a job epoch by epoch until it ends, fails or is cancelled.

One epoch is one consistent cut through the whole pipeline. It is accepted only when all subtasks
have answered and the answers are consistent. Its results become durable with the next checkpoint,
and only then visible in the sinks. `job_state.STATES` defines what a job may do in each state.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from threading import get_ident
from typing import Any

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import (
    CheckpointError,
    JobCancelledError,
    JobExecutionError,
)
from millrace.common.job import JobExecutionResult, JobID, JobStatus
from millrace.engine.checkpoint_coordinator import CheckpointCoordinator
from millrace.engine.checkpoint_measurement import CheckpointMeasurement
from millrace.engine.clock import Clock
from millrace.engine.collected_results import CollectedResults, ResultHandler
from millrace.engine.command_bus import CommandBus
from millrace.engine.committed_checkpoints import CommittedCheckpoints
from millrace.engine.deployment import Deployment
from millrace.engine.end_files import EndFiles
from millrace.engine.epoch_runner import EpochRunner
from millrace.engine.epoch_timer import EpochTimer
from millrace.engine.executor import Executor, ExecutorError
from millrace.engine.job_config import JobConfig
from millrace.engine.job_details import EpochAttempt, JobDetails, Listener, RestoredCheckpoint
from millrace.engine.job_history import JobHistory
from millrace.engine.job_observer import JobObserver
from millrace.engine.job_outcome import RunEnd, discards_checkpoints, outcome
from millrace.engine.job_requests import (
    AfterSavepoint,
    CancelRequest,
    CheckpointRequest,
    JobEndedError,
    MessageRequest,
    RescaleRequest,
    SavepointRequest,
    answer,
    refuse,
)
from millrace.engine.job_state import JobStateMachine
from millrace.engine.pacing import Pacer
from millrace.engine.request_handler import RequestHandler
from millrace.engine.rescaling import Replan, Rescaling, files_of, parts_in
from millrace.engine.restart import create_decider
from millrace.engine.running_epoch import is_long, observed
from millrace.engine.sink_sweeper import SinkSweeper
from millrace.filesystem.crash_points import crash_point
from millrace.job_graph.job_graph import JobGraph
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.runtime.logs.log_origin import LogOrigin, at_log_origin
from millrace.state.checkpoint.manifest import Manifest

log = logging.getLogger(__name__)

MOST_RECORDS = 1 << 62
"""Number of records per split that an epoch may read which is kept open."""


@dataclass(frozen=True, slots=True)
class _OpenEpochHooks:
    """The job's part in an epoch that is kept open."""

    deployment: Deployment
    closing: Callable[[int, bool], bool]

    @property
    def look_at(self) -> int | None:
        return self.deployment.look_at

    def look(self, now: int) -> bool:
        return self.deployment.look(now)


class JobManager:
    """One run of one job."""

    on_failure: tuple[Callable[[], None], ...] = ()
    """Functions that are called if the job fails, before `result` has its error. Unlike observers,
    they are called when everything is closed, and checkpoints that end with the job are deleted."""

    def __init__(
        self,
        graph: JobGraph,
        executor: Executor,
        config: JobConfig,
        clock: Clock,
        checkpoints: CheckpointCoordinator,
        results: ResultHandler | None = None,
        listeners: Sequence[Listener] = (),
        replan: Replan | None = None,
    ) -> None:
        self.job_id = JobID.from_name(graph.program.job_name)
        self.states = JobStateMachine(clock.now)
        self.bus = CommandBus(self.states, executor.cancel, config.savepoint_dir)
        self.result: CompletableFuture[JobExecutionResult] = CompletableFuture()
        """Result of the job; it raises the error that made the job fail."""
        self.final_savepoint: str | None = None
        """Path of the savepoint with which the job has ended."""
        self._executor, self._config = executor, config
        self._clock = clock
        self._checkpoints = checkpoints
        self._listeners = listeners
        self._observers: list[JobObserver] = []
        self._deployment = Deployment(graph, keeps_epochs_open=executor.keeps_epochs_open)
        self._interrupted = False
        """Whether the job ends because the program is interrupted."""
        self._thread = 0
        """Id of the thread in which the job runs."""
        self._epoch = 0
        """Next epoch to run."""
        self._input_ended = False
        self._run_end = RunEnd()
        self._stopping = False
        """Whether the job reads no more, and ends with a savepoint when everything is committed."""
        self._begun: EpochPlan | None = None
        """Plan of an epoch that the executor has begun while the last checkpoint was written."""
        self._runs_ahead = False
        """Whether subtasks may have begun the next epoch before its plan."""
        self._cut_at = 0
        """Time as of which the last epoch is a cut, in ms since the epoch of Unix: of its barrier,
        or of its end. Intervals of checkpoints are from cut to cut."""
        self._completed: int | None = None
        """Completed checkpoint about which the subtasks have not been told yet."""
        self._committed = CommittedCheckpoints(checkpoints, self._observers)
        self._results = CollectedResults(results)
        self._sweeper = SinkSweeper()
        self._pacer = Pacer(config.initial_records, config.max_records, config.target_epoch)
        self._end_files = EndFiles()
        self._history = JobHistory(graph.program, self.states, config.latency_interval, clock.now)
        self._details = self._history.details()
        self._min_interval = config.min_interval
        self._timer = EpochTimer(clock, config.min_interval, config.keep_warm, self.bus.wanted)
        decider = create_decider(config.restart_strategy)
        self._runner = EpochRunner(executor, clock, self.states, self.bus, self._history, decider)
        self.bus.end_reading = self._runner.end_reading
        replans = None if config.batch else replan
        self._rescaling = Rescaling(replans, executor, self.bus.want, self._history.rescales)
        self._requests = RequestHandler(self.bus, checkpoints, self._rescaling)
        self._runner.attempt_failed = self._requests.attempt_failed
        checkpoints.savepoint_ended = self.bus.want

    # -- for others, in any thread -----------------------------------------------------

    @property
    def job_dir(self) -> str:
        """Directory of the job's checkpoints."""
        return self._checkpoints.job_dir

    @property
    def run_id(self) -> str:
        """Id of this run of the job."""
        return self._checkpoints.run_id

    def observe(self, observer: JobObserver) -> None:
        """Notify ``observer`` of the job's events. Must be called before the job runs."""
        self._observers.append(observer)

    def details(self) -> JobDetails:
        """Present details of the job."""
        details, running = self._details, self._history.running
        if running is not None and is_long(running, self._clock.now()):
            running = observed(running, self.job_dir, self._deployment.program)
        status, since = self.states.status, self.states.since
        waits_for = self._requests.waits_for
        current = replace(details, status=status, since=since, running=running, waits_for=waits_for)
        if status is not JobStatus.RUNNING:
            return current
        return current.as_of(self._clock.now(), self._min_interval)

    def stack(self) -> str:
        """Python stack of the job's own thread; empty if it has not begun, or has ended."""
        frame = sys._current_frames().get(self._thread)
        return "" if frame is None else "".join(traceback.format_stack(frame))

    def fail_epoch(self, running: EpochAttempt, reason: str) -> None:
        """Make a running epoch fail; the restart strategy decides how the job goes on."""
        self._runner.fail(running.number, running.attempt, reason)

    def interrupt(self) -> None:
        """End the job immediately because the program ends. Job and checkpoints are left as they
        are."""
        self._interrupted = True
        self.bus.submit(CancelRequest())

    def accumulators(self) -> dict[str, Any]:
        """Present results of accumulators, and the functions' metrics over all subtasks."""
        return self._history.accumulators()

    # -- from the beginning to the end -------------------------------------------------

    def run(self) -> None:
        """Run the job to its end, successful or not; `result` has the outcome."""
        started, self._thread = time.monotonic(), get_ident()
        try:
            with at_log_origin(LogOrigin(self._deployment.program.job_name)):
                self._run_and_close()
        except BaseException as error:
            self._end(outcome(self.states.status, error))
            try:
                for tell in self.on_failure if self.states.status is JobStatus.FAILED else ():
                    tell()
            finally:
                self.result.set_exception(error)
        else:
            self._end(JobStatus.FINISHED)
            runtime = int((time.monotonic() - started) * 1000)
            result = JobExecutionResult(self.job_id, runtime, self.accumulators())
            self.result.set_result(result)

    def _run_and_close(self) -> None:
        cause: BaseException | None = None
        try:
            self._resume()
            for observer in self._observers:
                observer.started(self._checkpoints.job_dir)
            if not self._is_done():
                if self._config.executor is not None:
                    log.info("executor %s", self._config.executor)
                self._executor.deploy(self._deployment.program)
            self.states.enter(JobStatus.RUNNING)
            with self._ended_as_asked():
                self._run_epochs()
        except BaseException as error:
            cause = error
            if outcome(self.states.status, error) is JobStatus.FAILED:
                self._history.failed(error, self._clock.now(), fatal=True)
                self.states.enter(JobStatus.FAILING)
            raise
        finally:
            self._history.running = None
            self._publish()
            self._close(cause)

    @contextmanager
    def _ended_as_asked(self) -> Iterator[None]:
        try:
            yield
        except JobCancelledError:
            if self._interrupted:
                raise KeyboardInterrupt from None
            raise

    def _run_epochs(self) -> None:
        while True:
            while not self._is_done():
                self._run_next()
            self._deployment.sinks.finish()
            self._announce_commits()
            if self._leave():
                return

    def _is_done(self) -> bool:
        """Whether no more epochs have to run."""
        return self._only_commits and not self._deployment.sinks.awaits_subtasks

    @property
    def _only_commits(self) -> bool:
        """Whether epochs are only run to make commits."""
        return self._has_ended or self._stopping

    @property
    def _has_ended(self) -> bool:
        return self._input_ended or self._run_end.reached

    def _leave(self) -> bool:
        """Make the savepoint with which the job ends, after all commits. False if this has
        failed, and the job goes on."""
        savepoint = self._requests.savepoint
        if savepoint is None or not self._stopping:
            return True
        savepoint.start()
        savepoint.close()
        if savepoint.failed:
            self._stopping = self._timer.stands_still = False
            self._deployment.halt(False)
            if self._input_ended and self._epoch > savepoint.epoch:
                # what was left in loops has come to its end in epochs that were for commits only
                self._checkpoint()
            return False
        self.final_savepoint = savepoint.path
        if self._epoch == savepoint.epoch:
            # who resumes the job here should know of the savepoint; it is complete without that
            with suppress(CheckpointError):
                self._checkpoint()
        if savepoint.request.after is AfterSavepoint.CANCEL:
            self.states.cancel()
            raise JobCancelledError("the job was cancelled after a savepoint")
        return True

    def _end(self, status: JobStatus) -> None:
        if status is JobStatus.FAILED and self.states.status is not JobStatus.FAILING:
            self.states.enter(JobStatus.FAILING)
        self.states.enter(status)

    def _resume(self) -> None:
        deployment = self._deployment
        restored = self._checkpoints.open(deployment.graph, self._config.resume)
        if restored is None:
            return
        deployment.go_on_from(restored)
        self._epoch = restored.epoch
        if restored.finished:
            assert restored.checkpoint is not None  # only a job of its own can have finished
            self._commit(restored.checkpoint, None)
            deployment.notify_checkpoint_complete(restored.checkpoint)
        self._input_ended = restored.finished and not deployment.program.available_now
        self._history.checkpoint = restored.checkpoint
        now = self._clock.now()
        self._history.restored = RestoredCheckpoint(restored.checkpoint, restored.epoch, now)

    def _close(self, cause: BaseException | None) -> None:
        if cause is not None and not isinstance(cause, JobCancelledError):
            self.bus.end_pauses()
        # whatever one of them raises, the others are closed, the lease last
        with ExitStack() as closing:
            closing.callback(self._checkpoints.close)
            ends_as = JobStatus.FINISHED if cause is None else outcome(self.states.status, cause)
            for observer in self._observers:
                closing.callback(observer.ended, ends_as, cause)
            owes = self._deployment.sinks.owes
            if discards_checkpoints(self._config.retention, self.states, cause, owes):
                closing.callback(self._discard)
            closing.callback(self._sweeper.close)
            closing.callback(self._executor.close)
            if cause is None and self._input_ended:
                closing.callback(self._executor.finished)
            closing.callback(self._deployment.close)
            for observer in self._observers:
                closing.callback(observer.closed)
            closing.callback(self._publish)  # with what has become of the requests
            closing.callback(self._requests.close, cause)

    def _discard(self) -> None:
        self._checkpoints.discard()
        self._history.checkpoint = None
        self._publish()

    def _publish(self) -> None:
        """Publish the details of the job to other threads."""
        self._details = self._history.details()

    # -- an epoch ----------------------------------------------------------------------

    def _run_next(self) -> None:
        self._check_ending()
        started = time.perf_counter()
        plan, self._begun = self._begun, None
        if plan is None:
            if not self._executor.keeps_epochs_open:
                self._wait_for_work()
            if not self._runs_ahead:  # else its request is still to be taken
                self.bus.wanted.clear()
            self._check_ending()
            started = time.perf_counter()
            plan = self._next_plan()
        else:  # commits may have become due since
            plan = replace(plan, ends_at=self._ends_at(self._clock.now()))
        if self._executor.keeps_epochs_open:
            self._cut_at = self._clock.now()
            hooks = _OpenEpochHooks(self._deployment, partial(self._note_barrier, plan))
            acks = self._runner.run(plan, self._deployment, hooks)
        else:
            self._note_running(plan)
            acks = self._runner.run(plan, self._deployment)
            self._cut_at = self._clock.now()
        if acks is None:
            self._history.running, self._runs_ahead = None, False
            self._publish()
        else:
            self._accept(plan, acks, (time.perf_counter() - started) * 1000)

    def _next_plan(self) -> EpochPlan:
        """Plan of the next epoch, with the requests and splits that are there."""
        runs_ahead, self._runs_ahead = self._runs_ahead, False
        if not runs_ahead:  # else a request waits for the epoch after, which can begin with it
            self._requests.begin(self._deployment)
        now = self._timer.start()
        self._deployment.discover(now)
        self._run_end.begin(self._deployment)
        return self._plan(now)

    def _wait_for_work(self) -> None:
        """Wait until an epoch has something to do, and make checkpoints that are due before."""
        asked, due_at = self._requests.is_asked, self._checkpoints.due_at
        while not self._timer.wait(self._deployment, asked, due_at(self._epoch)):
            self._checkpoint()
            self._publish()

    def _note_running(self, plan: EpochPlan) -> None:
        """Record that an attempt runs, and must end before long."""
        self._history.running = EpochAttempt(plan.epoch, plan.attempt, self._clock.now())

    def _note_barrier(self, plan: EpochPlan, at: int, may_run_ahead: bool) -> bool:
        """Record that the barrier of an epoch is sent. Returns whether subtasks may begin the next
        epoch before its plan arrives. Not if a request is to be taken before that plan."""
        self._cut_at = at
        self._note_running(plan)
        may_run_ahead = may_run_ahead and self._may_overlap and self._deployment.may_run_ahead
        self._runs_ahead = may_run_ahead and not self._requests.is_asked()
        return self._runs_ahead

    def _check_ending(self) -> None:
        if self.states.status is JobStatus.CANCELLING:
            raise JobCancelledError("the job was cancelled")
        if self.bus.stop_wanted:
            if not self._deployment.states.restores_pending:
                self._checkpoint()
            raise JobCancelledError("the job was stopped after a checkpoint")

    def _plan(self, now: int) -> EpochPlan:
        attempt = self._runner.attempt
        open_ended = self._executor.keeps_epochs_open
        records = MOST_RECORDS if open_ended else self._requests.records(self._pacer.records)
        # parts are a matter of speed: what may have failed because of them is tried without
        divide = {} if attempt else self._requests.divisions(self._deployment.graph)
        end_file, end_object = self._end_files.paths(self.job_dir, self._epoch, attempt)
        return EpochPlan(
            epoch=self._epoch,
            attempt=attempt,
            now=now,
            job_dir=self._checkpoints.job_dir,
            durable=self._checkpoints.durable,
            subtasks=self._deployment.plans(records, self._clock.now()),
            completed_checkpoint=self._completed,
            flush=self._run_end.begun or self._requests.wants_whole_files,
            ends_run=self._run_end.begun,
            divide=divide,
            restarts=self._history.restarts,
            end_file=end_file,
            end_object=end_object,
            ends_at=self._ends_at(now) if open_ended else None,
            only_commits=self._only_commits,
            messages=self._requests.messages,
        )

    def _ends_at(self, now: int) -> int | None:
        """Time at which an open epoch must end although nothing has happened in it. It is now if
        something waits for the end."""
        ends_run = self._run_end.begun and not self._only_commits
        at_once = self._requests.serving is not None or ends_run
        if at_once or self._deployment.loops.has_run_dry or self.bus.wanted.is_set():
            return now
        if self._only_commits:  # the next try of those that have failed may be in a while
            return self._deployment.sinks.next_commit()
        times = [self._deployment.sinks.next_commit(), self._checkpoints.due_at(self._epoch)]
        return min((at for at in times if at is not None), default=None)

    def _accept(self, plan: EpochPlan, acks: list[Ack], epoch_ms: float) -> None:
        deployment = self._deployment
        self._input_ended = deployment.accept(acks, self._clock.now())
        self._runs_ahead = self._runs_ahead and not self._input_ended
        if self._completed == plan.completed_checkpoint:
            self._completed = None
        self._timer.plan_next(acks, at_once=deployment.loops.has_news)
        self._run_end.accept(deployment, self._timer)
        self._epoch += 1
        # before the next plan, which may take another request
        is_asked = self._requests.serving is not None
        self._requests.epoch_accepted()
        # what follows the savepoint is left to the run that starts there
        ends_in_checkpoint = not self._stopping and self._needs_checkpoint(is_asked)
        if ends_in_checkpoint and not self._checkpoints.is_failing:
            deployment.sinks.begin_commit()
        # the next epoch runs while the checkpoint of this one is written, unless it has to begin
        # with commits of that checkpoint, or with readers that acknowledge what it covers
        begins_with_checkpoint = ends_in_checkpoint and (
            deployment.sinks.is_pending_in_subtasks or deployment.acknowledges_records
        )
        if self._may_overlap and not begins_with_checkpoint:
            self._begun = self._next_plan()
            self._executor.begin_epoch(self._begun)
        self._announce_commits()
        for observer in self._observers:
            observer.accepted(acks)
        self._results.add(acks)
        self._history.accepted(
            plan.epoch,
            acks,
            deployment.source_stages,
            epoch_ms,
            now=self._clock.now(),
            elapsed=time.monotonic(),
            state_bytes=deployment.states.size,
        )
        for uid, registry in deployment.driver_metrics():
            self._history.take_driver_metrics(uid, registry)
        self._pacer.accept(acks, deployment.program, epoch_ms)
        if ends_in_checkpoint:
            if self._checkpoint(self._cut_at) and is_asked:
                self._serve(acks)
        elif not (self._stopping or self._checkpoints.every_epoch):
            self._results.deliver(deployment.program)
        self._publish()
        for listener in self._listeners:
            listener(self._details)

    @property
    def _may_overlap(self) -> bool:
        """Whether the next epoch may begin before the checkpoint of the last one is complete. Not
        if somebody waits for that checkpoint."""
        waits = self._requests.serving is not None or self.bus.wanted.is_set() or self._stopping
        ends = self._has_ended or self._run_end.begun
        return self._executor.keeps_epochs_open and not (waits or ends)

    def _needs_checkpoint(self, is_asked: bool) -> bool:
        """Whether an accepted epoch ends with a checkpoint, as one is due or requested."""
        return self._has_ended or is_asked or self._checkpoints.due(self._cut_at)

    # -- checkpoints -------------------------------------------------------------------

    def _checkpoint(self, cut_at: int | None = None) -> bool:
        """Make all accepted epochs durable, then visible; False if the checkpoint failed for
        now.

        Args:
            cut_at: time from which the interval to the next checkpoint counts; now unless given.
        """
        now, deployment = self._clock.now(), self._deployment
        pending, sizes = deployment.sinks.pending(), deployment.state_sizes()
        measured = CheckpointMeasurement(self._epoch, now, self.job_dir, sizes)
        try:
            saved = self._checkpoints.publish(
                epoch=self._epoch,
                states=deployment.states,
                sources=deployment.source_snapshots(),
                pending=pending,
                finished=self._input_ended,
                now=now,
                cut_at=now if cut_at is None else cut_at,
            )
        except CheckpointError as error:
            deployment.sinks.abandon_commit()
            self._history.checkpointed(measured.failed(str(error)))
            self._checkpoint_failed(error)
            return False
        measured.written()
        self._history.checkpoint = self._completed = saved
        self._commit(saved, self._checkpoints.manifest)
        deployment.notify_checkpoint_complete(saved)
        self._history.checkpointed(measured.completed(saved))
        self._sweeper.committed(deployment.sinks, self._checkpoints.run_ids)
        self._results.deliver(deployment.program)
        return True

    def _commit(self, checkpoint: int, manifest: Manifest | None) -> None:
        """Commit the committables of a checkpoint, or begin to."""
        with self._checkpoints.guard():
            crash_point("before-sink-commit")
            self._deployment.sinks.commit(
                checkpoint, self.bus.cancelled.wait, self._requests.commit_ended
            )
        self._committed.add(checkpoint, manifest)
        self._announce_commits()

    def _announce_commits(self) -> None:
        """Announce the completed commits, and write the savepoint that waits for them."""
        self._committed.announce(self._deployment.sinks)
        self._requests.write_committed(self._committed)

    def _checkpoint_failed(self, error: CheckpointError) -> None:
        """Handle a failed checkpoint. No data is lost: everything unsaved stays in memory for
        the next checkpoint."""
        log.warning("checkpoint failed: %s", error)
        if self._has_ended or self.bus.stop_wanted or self._checkpoints.failed_too_often():
            raise error

    # -- requests ----------------------------------------------------------------------

    def _serve(self, acks: list[Ack]) -> None:
        """Serve the request to the job, now that its checkpoint is complete."""
        match request := self._requests.serving:
            case None:
                return
            case CheckpointRequest() | MessageRequest():
                answer(request, self._history.checkpoint)
            case RescaleRequest():
                self._rescale(request, acks)
            case SavepointRequest():
                if request.after is AfterSavepoint.DRAIN and not self._input_ended:
                    return  # what is still on its way belongs to the savepoint
                self._save(request)
        self._requests.end_serving()

    def _save(self, request: SavepointRequest) -> None:
        """Prepare a savepoint of the newest checkpoint. It is written once all committables of
        the checkpoint are committed."""
        try:
            savepoint = self._checkpoints.prepare_savepoint(request)
        except CheckpointError as error:
            return refuse(request, error)
        self._requests.await_savepoint(savepoint)
        if request.after is not AfterSavepoint.GO_ON:
            self._stopping = self._timer.stands_still = True
            self._deployment.halt()
        self._announce_commits()

    def _rescale(self, request: RescaleRequest, acks: list[Ack]) -> None:
        """Continue from the newest checkpoint with another graph."""
        graph = self._rescaling.graph
        if graph is None or self._has_ended:
            ended = "the job's input has ended, so its parallelism does not change"
            return refuse(request, JobEndedError(ended))
        crash_point("rescale-begins")
        parts = parts_in(acks, self._deployment.graph)
        restored = self._checkpoints.assign(graph, parts)
        self._deployment.sinks.finish()
        self._announce_commits()
        self._committed.forget()
        uncommitted = self._deployment.sinks.pending()
        self._deployment.close()
        files = files_of(parts, self._checkpoints.job_dir)
        self._deployment = Deployment(graph, files, self._executor.keeps_epochs_open)
        self._history.go_on_with(graph.program)
        self._deployment.go_on_from(restored)
        self._deployment.sinks.restore(uncommitted)
        self._timer.hurry()
        self._pacer.starting = True
        try:
            self._executor.deploy(graph.program)
        except ExecutorError as error:
            failed = JobExecutionError(f"the job could not be rescaled: {error}")
            refuse(request, failed)
            raise failed from error
        crash_point("rescale-ends")
        answer(request, None)
