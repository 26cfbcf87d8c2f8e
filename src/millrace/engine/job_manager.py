"""The job manager: runs a job epoch by epoch until it ends, fails or is cancelled.

One epoch is one consistent cut through the whole pipeline. It counts only when all subtasks have
answered and the answers fit together; what it did becomes durable with the next checkpoint, and
only then visible in the sinks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from threading import Event
from typing import Any

from millrace.common.errors import (
    CheckpointError,
    JobCancelledError,
    JobExecutionError,
    MillraceError,
    UnsupportedFileSystemSchemeError,
    UserFunctionError,
)
from millrace.engine.checkpoint_coordinator import CheckpointCoordinator
from millrace.engine.clock import Clock
from millrace.engine.deployment import Deployment
from millrace.engine.epoch_check import (
    EpochRefusedError,
    check,
    state_misses,
    storage_failure,
    user_failure,
)
from millrace.engine.executor import Executor, ExecutorError
from millrace.engine.job_config import JobConfig
from millrace.engine.job_observer import JobObserver
from millrace.engine.job_requests import (
    After,
    JobRequests,
    Request,
    RescaleRequest,
    SavepointRequest,
    answer,
    refuse,
)
from millrace.engine.pacing import Pacer
from millrace.engine.progress import Listener, Progress
from millrace.engine.rescaling import Replan, Rescaling, files_of, parts_in
from millrace.engine.restart import create_decider
from millrace.engine.savepoint_writer import SavepointWriter
from millrace.engine.sink_sweeper import SinkSweeper
from millrace.plan.job_graph import JobGraph
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.state.checkpoint.crash_points import crash_point
from millrace.state.serialization.payload import decode

log = logging.getLogger(__name__)

INFRASTRUCTURE_RETRIES = 5
"""How often in a row an epoch that Spark lost is run again before the job fails."""

Results = Callable[[str, list[Any], int, int], None]
"""Takes what a collecting sink's subtask got in a committed epoch: (uid, values, subtask, number
of subtasks)."""


class JobManager:
    """One run of one job."""

    def __init__(
        self,
        graph: JobGraph,
        executor: Executor,
        config: JobConfig,
        clock: Clock,
        checkpoints: CheckpointCoordinator,
        results: Results | None = None,
        listeners: Sequence[Listener] = (),
        replan: Replan | None = None,
    ) -> None:
        self._executor = executor
        self._config = config
        self._clock = clock
        self._checkpoints = checkpoints
        self._results = results
        self._listeners = listeners
        self._observers: list[JobObserver] = []
        self._interrupted = Event()
        """Somebody wants something: look at once what it is."""
        self._leaving = Event()
        """The job has been asked to end."""
        self._stopping = False
        self._cancelled = False
        self._requests = JobRequests()
        self._serving: Request | None = None
        """The request that the running epoch prepares for."""
        self._rescaling = Rescaling(
            None if config.batch else replan, executor, self._interrupted.set
        )
        self._deployment = Deployment(graph)
        self._writer: SavepointWriter | None = None
        self._left = False
        self._cause: Exception | None = None
        """What the run failed with."""
        self._sweeper = SinkSweeper()
        self._discarded = False
        """Whether the job's checkpoints go with it."""
        checkpoints.savepoint_ended = self._interrupted.set
        self._pacer = Pacer(config.initial_records, config.max_records, config.target_epoch)
        self._decider = create_decider(config.restart_strategy)
        self._epoch = 0
        self._try = 0
        self._lost_in_a_row = 0
        self._started = 0
        self._wakeup: int | None = 0
        self._ended = False
        self._undelivered: list[Ack] = []
        self.progress = Progress(job_name=graph.program.job_name)

    @property
    def job_dir(self) -> str:
        """The directory of the job's checkpoints."""
        return self._checkpoints.job_dir

    def observe(self, observer: JobObserver) -> None:
        """Let ``observer`` look on; before the job runs."""
        self._observers.append(observer)

    # -- control, from any thread ------------------------------------------------------

    def stop(self) -> None:
        """End cleanly after the running epoch, with a checkpoint to go on from."""
        self._stopping = True
        self._leaving.set()
        self._interrupted.set()

    def cancel(self) -> None:
        """End at once; the last checkpoint stays, unless the configuration says otherwise."""
        self._cancelled = True
        self._leaving.set()
        self._interrupted.set()
        self._executor.cancel()

    def request(self, request: Request) -> None:
        """Ask for a savepoint or another parallelism; the request's future has the answer."""
        self._requests.add(request)
        self._interrupted.set()

    # -- the loop ----------------------------------------------------------------------

    def run(self) -> Progress:
        """Run the job to its end, or until a savepoint has been made that it stops with.

        Raises UserFunctionError or JobExecutionError when it failed for good, JobCancelledError
        when it was cancelled or stopped.
        """
        try:
            self._resume()
            for observer in self._observers:
                observer.started(self._checkpoints.job_dir)
            if not self._ended:
                self._executor.deploy(self._deployment.program)
                self._loop()
            self._discarded = self._config.retention.discards_when_finished
            return self.progress
        except Exception as error:
            self._cause = error
            raise
        finally:
            self._close()

    def _loop(self) -> None:
        try:
            while not self._ended and not self._left:
                self._run_next()
        except JobCancelledError:
            cancelled = self._cancelled or not self._stopping
            self._discarded = cancelled and self._config.retention.discards_when_cancelled
            raise
        except MillraceError:
            self._discarded = self._config.retention.discards_when_failed
            raise

    def _run_next(self) -> None:
        self._check_stop()
        self._wait()
        self._interrupted.clear()
        self._check_stop()
        self._begin_request()
        started = time.perf_counter()
        acks = self._attempt()
        if acks is not None:
            self._accept(acks, (time.perf_counter() - started) * 1000)

    def _check_stop(self) -> None:
        if self._cancelled:
            raise JobCancelledError("the job was cancelled")
        if self._stopping:
            if not self._deployment.states.inherits:
                self._checkpoint()
            raise JobCancelledError("the job was stopped after a checkpoint")

    def _wait(self) -> None:
        """Until the earliest of: something to read, a timer, keep-warm. Looking for new splits
        needs no epoch."""
        due = self._clock.now() + self._config.keep_warm
        if self._wakeup is not None:
            due = min(due, self._wakeup)
        while (now := self._clock.now()) < due and not self._wanted():
            if self._deployment.discover(now):
                return
            next_look = self._deployment.next_discovery()
            until = due if next_look is None else min(due, next_look)
            self._clock.wait_until(until, self._interrupted)

    def _wanted(self) -> bool:
        """Whether an epoch should begin at once."""
        return self._interrupted.is_set() or (self._is_free() and self._requests.waiting)

    def _is_free(self) -> bool:
        """Whether the next request can be begun."""
        return self._serving is None and (self._writer is None or not self._writer.busy)

    def _attempt(self) -> list[Ack] | None:
        """Run the next epoch once; None when it has to be run again."""
        now = self._started = self._clock.now()
        self._deployment.discover(now)
        plan = self._plan(now)
        try:
            acks = self._executor.run_epoch(plan)
        except ExecutorError as error:
            self._lost(error)
            return None
        crash_point("after-acks")
        return self._judge(acks)

    def _judge(self, acks: list[Ack]) -> list[Ack] | None:
        failure = user_failure(acks)
        if failure is not None:
            self._failed(
                UserFunctionError(failure.operator, failure.record, failure.user_traceback)
            )
            return None
        failure = storage_failure(acks)
        if failure is not None:
            self._failed(JobExecutionError(f"stage '{failure.operator}': {failure.user_traceback}"))
            return None
        misses = state_misses(acks)
        if misses:
            log.info("%d subtasks need their whole state; running the epoch again", len(misses))
            self._deployment.restoring |= misses
            self._try += 1
            return None
        try:
            check(self._deployment.program, acks)
        except EpochRefusedError as refusal:
            self.progress.refused += 1
            self._lost(ExecutorError(str(refusal)))
            return None
        return acks

    def _plan(self, now: int) -> EpochPlan:
        subtasks = self._deployment.plans(self._pacer.records)
        job_dir, durable = self._checkpoints.job_dir, self._checkpoints.durable
        flush = self._serving is not None
        divide = {}
        if isinstance(self._serving, RescaleRequest) and self._try == 0:
            # parts are a matter of speed: what may have failed because of them is tried without
            divide = self._rescaling.divisions(self._deployment.graph)
        return EpochPlan(self._epoch, self._try, now, job_dir, durable, subtasks, flush, divide)

    # -- failures ----------------------------------------------------------------------

    def _lost(self, error: ExecutorError) -> None:
        """The infrastructure lost an epoch: run it again, within reason."""
        if self._cancelled:
            raise JobCancelledError("the job was cancelled") from error
        self._try += 1
        self._lost_in_a_row += 1
        log.warning("epoch %d was lost and runs again: %s", self._epoch, error)
        if self._lost_in_a_row > INFRASTRUCTURE_RETRIES:
            raise JobExecutionError(
                f"epoch {self._epoch} was lost {self._lost_in_a_row} times in a row: {error}"
            ) from error

    def _failed(self, error: JobExecutionError) -> None:
        """A user function or a subtask's storage failed: ask the restart strategy."""
        delay = self._decider.delay_after_failure(self._clock.now())
        if delay is None:
            raise error
        self.progress.restarts += 1
        self._try += 1
        log.warning("restarting in %d ms after: %s", delay, error)
        self._clock.wait_until(self._clock.now() + delay, self._leaving)

    # -- what an accepted epoch changes ------------------------------------------------

    def _accept(self, acks: list[Ack], epoch_ms: float) -> None:
        self._ended = self._deployment.accept(acks)
        for observer in self._observers:
            observer.accepted(acks)
        self._try = self._lost_in_a_row = 0
        self._wakeup = self._next_wakeup(acks)
        self._undelivered += [ack for ack in acks if ack.results]
        self.progress.epoch = self._epoch
        self.progress.observe(acks, self._deployment.source_stages, epoch_ms)
        largest = max((p.records for ack in acks for p in ack.splits), default=0)
        self._pacer.observe(epoch_ms, largest)
        self._epoch += 1
        if self._ended or self._serving or self._checkpoints.due(self._clock.now()):
            if self._checkpoint() and self._serving is not None:
                self._serve(self._serving, acks)
        elif not self._checkpoints.every_epoch:
            self._deliver()
        for listener in self._listeners:
            listener(self.progress)

    def _next_wakeup(self, acks: list[Ack]) -> int | None:
        """When the next epoch should start."""
        times = [ack.next_wakeup for ack in acks if ack.next_wakeup is not None]
        if self._deployment.loops.has_news:
            times.append(self._started)
        if not times:
            return None
        return max(min(times), self._started + self._config.min_interval)

    def _checkpoint(self) -> bool:
        """Make everything accepted durable, then visible; False when that failed for now."""
        deployment = self._deployment
        pending = deployment.sinks.pending()
        try:
            saved = self._checkpoints.publish(
                epoch=self._epoch,
                states=deployment.states,
                sources=deployment.source_snapshots(),
                pending=pending,
                finished=self._ended,
                feedback=deployment.loops.snapshot(),
                now=self._clock.now(),
            )
        except CheckpointError as error:
            self._checkpoint_failed(error)
            return False
        self.progress.checkpoint = saved
        self._tell_committed()
        with self._checkpoints.guard():
            crash_point("before-sink-commit")
            deployment.sinks.commit(pending)
        self._checkpoints.note_committed(saved)
        self._sweeper.committed(deployment.sinks, self._checkpoints.run_ids)
        self._deliver()
        return True

    def _tell_committed(self) -> None:
        manifest = self._checkpoints.manifest
        if manifest is not None:
            for observer in self._observers:
                observer.committed(manifest)

    def _checkpoint_failed(self, error: CheckpointError) -> None:
        """Nothing is lost: what was not saved stays in memory for the next checkpoint."""
        log.warning("checkpoint failed: %s", error)
        if self._ended or self._stopping or self._checkpoints.failed_too_often():
            raise error

    def _deliver(self) -> None:
        """Give the client what collecting sinks got."""
        undelivered, self._undelivered = self._undelivered, []
        if self._results is None:
            return
        width = {stage.id: stage.parallelism for stage in self._deployment.program.stages}
        for ack in sorted(undelivered, key=lambda ack: (ack.stage, ack.subtask)):
            for uid, values in ack.results.items():
                self._results(uid, decode(values), ack.subtask, width[ack.stage])

    # -- requests ----------------------------------------------------------------------

    def _begin_request(self) -> None:
        """Take the next request; the epoch that follows prepares for it."""
        if not self._is_free():
            return
        request = self._requests.take()
        if isinstance(request, RescaleRequest):
            self._rescaling.prepare(request, self._deployment.graph)
        elif request is not None:
            self._begin_savepoint(request)
        if self._serving is None:
            self._serving = self._rescaling.take_ready()

    def _begin_savepoint(self, request: SavepointRequest) -> None:
        try:
            self._checkpoints.savepoint_directory(request)
        except (CheckpointError, UnsupportedFileSystemSchemeError) as error:
            refuse(request, error)
            return
        self._serving = request
        if request.after is After.DRAIN:
            self._deployment.drain()

    def _serve(self, request: Request, acks: list[Ack]) -> None:
        """The checkpoint that a request waited for is complete."""
        if isinstance(request, RescaleRequest):
            graph = self._rescaling.graph
            if graph is not None and not self._ended:
                self._rescale(graph, acks)
            self._serving = None
            answer(request, None)
        elif self._ended or request.after is not After.DRAIN:
            self._serving = None
            self._save(request)

    def _save(self, request: SavepointRequest) -> None:
        try:
            self._writer = self._checkpoints.write_savepoint(request)
        except CheckpointError as error:
            refuse(request, error)
            return
        if request.after is After.GO_ON:
            return
        self._writer.wait()
        if self._writer.failed:
            return
        # who resumes the job here should know of the savepoint; it is complete without that
        with suppress(CheckpointError):
            self._checkpoint()
        if request.after is After.CANCEL:
            raise JobCancelledError("the job was cancelled after a savepoint")
        self._left = True

    def _rescale(self, graph: JobGraph, acks: list[Ack]) -> None:
        """Go on with another graph where the newest checkpoint has left off."""
        crash_point("rescale-begins")
        parts = parts_in(acks, self._deployment.graph)
        restored = self._checkpoints.assign(graph, parts)
        self._deployment.close()
        self._deployment = Deployment(graph, files_of(parts, self._checkpoints.job_dir))
        self.progress.forget_gauges()
        self._deployment.go_on_from(restored)
        self._wakeup = None if self._ended else self._started
        try:
            self._executor.deploy(graph.program)
        except ExecutorError as error:
            raise JobExecutionError(f"the job could not be rescaled: {error}") from error
        crash_point("rescale-ends")

    # -- beginning and end -------------------------------------------------------------

    def _resume(self) -> None:
        deployment = self._deployment
        restored = self._checkpoints.open(deployment.graph, self._config.resume)
        if restored is None:
            return
        deployment.go_on_from(restored)
        self._epoch = restored.epoch
        if restored.finished:
            with self._checkpoints.guard():
                deployment.sinks.commit(restored.pending)
            if restored.checkpoint is not None:
                self._checkpoints.note_committed(restored.checkpoint)
        self._ended = restored.finished
        self.progress.checkpoint = restored.checkpoint

    def _close(self) -> None:
        # whatever one of them raises, the others are closed, the lease last
        with ExitStack() as closing:
            closing.callback(self._checkpoints.close)
            if self._discarded:
                closing.callback(self._discard)
            closing.callback(self._sweeper.close)
            closing.callback(self._executor.close)
            closing.callback(self._deployment.close)
            for observer in self._observers:
                closing.callback(observer.closed)
            closing.callback(self._close_requests)

    def _discard(self) -> None:
        self._checkpoints.discard()
        self.progress.checkpoint = None

    def _close_requests(self) -> None:
        """A savepoint that is being written is finished; what has not begun is refused."""
        if self._writer is not None:
            self._writer.wait()
        unfinished = [r for r in (self._serving, self._rescaling.request) if r is not None]
        self._requests.close(unfinished, self._cause)
