"""Preparation of a rescaling: the new graph, and the workers that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from millrace.common.completable_future import CompletableFuture
from millrace.common.errors import JobExecutionError
from millrace.engine.executor import Executor
from millrace.engine.job_requests import RescaleRequest, answer, refuse
from millrace.engine.rescale_history import RescaleHistory
from millrace.engine.state_assignment import Parts, divisions, widths_of
from millrace.job_graph.job_graph import JobGraph
from millrace.runtime.epoch import Ack
from millrace.state.state_delta import FileRef

Replan = Callable[[int], JobGraph]
"""Builds the job's graph again, with another parallelism for all operators without a parallelism
of their own."""


class Rescaling:
    """Prepares one rescaling at a time while the job goes on.

    Args:
        replan: function that builds the new graph; None if the job's parallelism cannot change.
        wake: called, in any thread, when the preparation is complete.
        history: records the requests and their outcomes.
    """

    def __init__(
        self,
        replan: Replan | None,
        executor: Executor,
        wake: Callable[[], None],
        history: RescaleHistory,
    ) -> None:
        self._replan = replan
        self._history = history
        self._executor = executor
        self._wake = wake
        self.request: RescaleRequest | None = None
        """Request that is being prepared."""
        self._prepared: CompletableFuture[None] = CompletableFuture.completed(None)
        self.graph: JobGraph | None = None
        """Graph of the last rescaling that was prepared."""

    def prepare(self, request: RescaleRequest, now: JobGraph) -> None:
        """Make the new graph and start the workers that it needs. An invalid request is refused
        before that. A request for the present parallelism is answered immediately."""
        self._history.begin(request, now)
        try:
            if self._replan is None:
                raise JobExecutionError("only a streaming job can change its parallelism")
            if self.request is not None:
                raise JobExecutionError("the job is about to get another parallelism already")
            graph = self._replan(request.parallelism)
        except Exception as error:
            refuse(request, error)
            return
        self._history.planned(graph)
        if widths_of(graph) == widths_of(now):
            answer(request, None)
            return
        self.request, self.graph = request, graph
        # should it fail, the workers start when they are needed, and the change takes longer
        self._prepared = self._executor.prepare(graph.program)
        self._prepared.add_done_callback(lambda _: self._wake())

    def take_ready(self) -> RescaleRequest | None:
        """The request that has been prepared, or None."""
        if self.request is None or not self._prepared.done():
            return None
        request, self.request = self.request, None
        return request

    def divisions(self, now: JobGraph) -> dict[int, int]:
        """Stages that must divide their state for the rescaling: number of parts by stage id."""
        return divisions(now, self.graph) if self.graph is not None else {}


def parts_in(acks: Iterable[Ack], now: JobGraph) -> Parts:
    """Parts of the state that subtasks have divided themselves."""
    uids = {stage.id: stage.uid for stage in now.program.stages}
    return {(uids[ack.stage], ack.subtask): ack.state.parts for ack in acks}


def files_of(parts: Parts, job_dir: str) -> dict[str, str]:
    """Files that contain the parts, by path relative to the job's directory."""
    deltas = [delta for of_one in parts.values() for p in of_one for delta in (p.rows, p.rest)]
    places = [delta.data for delta in deltas]
    paths = [place.path for place in places if isinstance(place, FileRef)]
    return {path: f"{job_dir}/{path}" for path in paths}
