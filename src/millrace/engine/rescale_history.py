"""History of the rescalings of a run: the request, the parallelism before and after, and the
outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from millrace.common.completable_future import CompletableFuture
from millrace.common.job import JobID
from millrace.engine.job_details import RescaleStats, RescaleStatus, StageRescale
from millrace.engine.job_requests import JobEndedError, RescaleRequest
from millrace.job_graph.job_graph import JobGraph

__all__ = ["RescaleHistory"]

REMEMBERED = 10
"""Number of rescalings kept, the same as of checkpoints."""


class RescaleHistory:
    """Records the rescalings of a run. Each ends when its request is answered or refused.

    Args:
        now: the time, in ms since the epoch of Unix.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._begun = 0
        self._stats: dict[str, RescaleStats] = {}
        """Last rescalings, oldest first."""

    @property
    def recent(self) -> tuple[RescaleStats, ...]:
        """Last rescalings, newest first."""
        return tuple(self._stats.values())[::-1]

    def begin(self, request: RescaleRequest, before: JobGraph) -> None:
        """Record a request for a rescaling."""
        self._begun += 1
        stats = RescaleStats(
            id=str(JobID.generate()),
            number=self._begun,
            parallelism=request.parallelism,
            begun=self._now(),
            stages={
                stage.uid: StageRescale(stage.name, stage.parallelism, None)
                for stage in before.program.stages
            },
        )
        self._stats[stats.id] = stats
        if len(self._stats) > REMEMBERED:
            del self._stats[next(iter(self._stats))]
        request.done.add_done_callback(partial(self._ended, stats.id))

    def planned(self, after: JobGraph) -> None:
        """Record the graph to which the newest rescaling leads."""
        stats = self.recent[0]
        stages = dict(stats.stages)
        for stage in after.program.stages:
            known = stages.get(stage.uid, StageRescale(stage.name, None, None))
            stages[stage.uid] = known._replace(after=stage.parallelism)
        self._stats[stats.id] = replace(stats, stages=stages)

    def _ended(self, id: str, done: CompletableFuture[None]) -> None:
        stats = self._stats.get(id)
        if stats is None:
            return
        error = None if done.cancelled() else done.exception()
        status, failure = RescaleStatus.COMPLETED, None
        if error is not None:
            ignored = isinstance(error, JobEndedError)
            status = RescaleStatus.IGNORED if ignored else RescaleStatus.FAILED
            failure = str(error)
        elif all(stage.before == stage.after for stage in stats.stages.values()):
            status = RescaleStatus.IGNORED
        self._stats[id] = replace(stats, ended=self._now(), status=status, failure=failure)
