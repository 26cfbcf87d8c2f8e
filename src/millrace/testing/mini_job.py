"""A whole pipeline that a test advances step by step."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from threading import Semaphore
from typing import Any, Self, TypeVar

from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobDefinitionError
from millrace.common.job import JobExecutionResult
from millrace.common.time.amounts import Duration, Time
from millrace.datastream.stream import DataStream
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.engine.job_details import JobDetails
from millrace.testing.collecting_sink import CollectingSink
from millrace.testing.faults import Faults
from millrace.testing.manual_clock import ManualClock
from millrace.testing.mini_cluster import run_local
from millrace.testing.pushed_source import PushedSource

T = TypeVar("T")


class MiniJob:
    """A job in this process whose input, clock and epochs the test controls.

    Build a pipeline between `source` and `collect`, push into its sources, and let it take
    everything in with `process`. Used as a context manager. Between two calls the job stands
    still.

    Args:
        parallelism: parallelism of operators without one of their own.
        clock: processing time; one that begins at 0 if None.
        configuration: settings of the environment.
        workers, seed, faults, checkpoint_dir, resume: see `run_local`. A resumed job skips
            the records that it has read already: push all records again.

    Example:
        >>> from millrace.datastream.window import TumblingEventTimeWindows
        >>> with MiniJob() as job:
        ...     clicks = job.source("clicks")
        ...     windows = clicks.stream.key_by(0).window(TumblingEventTimeWindows.of(1_000))
        ...     counts = job.collect(windows.reduce(lambda a, b: (a[0], a[1] + b[1])))
        ...     clicks.push(("home", 1), ("home", 1), timestamp=10)
        ...     clicks.push_watermark(999)
        ...     job.process()
        ...     counts.values()
        [('home', 2)]
    """

    def __init__(
        self,
        parallelism: int = 1,
        *,
        clock: ManualClock | None = None,
        configuration: Configuration | None = None,
        workers: int = 1,
        seed: int | None = None,
        faults: Faults | None = None,
        checkpoint_dir: str | None = None,
        resume: bool = False,
    ) -> None:
        self.clock = clock or ManualClock()
        """Processing time. Due timers fire in the next epoch."""
        self._parallelism = parallelism
        self._configuration = configuration
        self._local = run_local(
            workers,
            seed,
            clock=self.clock,
            faults=faults,
            checkpoint_dir=checkpoint_dir,
            resume=resume,
        )
        self._sources: list[PushedSource[Any]] = []
        self._client: EmbeddedJobClient | None = None
        self._go = Semaphore(0)
        self._paused = Semaphore(0)
        self._closing = False

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        cluster = self._stack.enter_context(self._local)
        cluster.listeners.append(self._pause)
        self.env = StreamExecutionEnvironment.get_execution_environment(self._configuration)
        # what an epoch gave is committed, and so seen, at its end
        self.env.enable_checkpointing(0).set_parallelism(self._parallelism)
        return self

    def __exit__(self, *exception: object) -> None:
        with self._stack:
            self._closing = True
            if self._client is not None:
                self._client.cancel()
                self._go.release()
                with suppress(Exception):
                    self._client.result()

    # -- the pipeline --------------------------------------------------------------------------

    def source(self, name: str = "source") -> PushedSource[Any]:
        """A source that the test pushes records into; its ``stream`` begins the pipeline."""
        source: PushedSource[Any] = PushedSource(self.env, name)
        self._sources.append(source)
        return source

    def collect(self, stream: DataStream[T]) -> CollectingSink[T]:
        """The collected records of a stream or side output."""
        sink: CollectingSink[T] = CollectingSink()
        stream.sink_to(sink)
        return sink

    # -- time goes on --------------------------------------------------------------------------

    def process(self, epochs: int = 1) -> None:
        """Run a number of epochs with all pushed records. One is enough unless results need several
        epochs, as in iterations.

        Raises:
            JobDefinitionError: the job has ended.
            UserFunctionError: a function failed, and there is no restart strategy.
        """
        for _ in range(epochs):
            self._one_epoch()

    def advance(self, by: Duration | Time | int) -> None:
        """Advance the clock (a number is in ms) and run an epoch, so that timers fire."""
        self.clock.advance(by)
        self.process()

    def set_processing_time(self, now: int) -> None:
        """Set the clock (ms since the Unix epoch) and run an epoch, so that timers fire."""
        self.clock.set(now)
        self.process()

    def finish(self) -> JobExecutionResult:
        """End all sources and run the job to its end; the result has its accumulators."""
        for source in self._sources:
            source.end()
        while self._client is None or not self._client.get_job_execution_result().done():
            self._one_epoch()
        return self._client.result()

    @property
    def client(self) -> EmbeddedJobClient:
        """Client of the running job: accumulators, metrics, progress.

        Raises:
            JobDefinitionError: nothing has been processed yet.
        """
        if self._client is None:
            raise JobDefinitionError("the job has not begun; call process() first")
        return self._client

    # -- the job's thread and the test's take turns --------------------------------------------

    def _one_epoch(self) -> None:
        if self._client is None:
            self._client = self.env.build_client("MiniJob")
            self._client.when_done(self._paused.release)
            self._client.start()
        elif self._client.get_job_execution_result().done():
            raise JobDefinitionError("the job has ended; process() and push before finish()")
        else:
            self._go.release()
        self._paused.acquire()
        done = self._client.get_job_execution_result()
        if done.done():
            done.result()

    def _pause(self, progress: JobDetails) -> None:
        self._paused.release()
        if not self._closing:
            self._go.acquire()
