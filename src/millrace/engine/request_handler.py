"""The request handler: takes what is asked of a job from its bus, one request after the other."""

from __future__ import annotations

from millrace.common.errors import CheckpointError, UnsupportedFileSystemSchemeError
from millrace.engine.checkpoint_coordinator import CheckpointCoordinator
from millrace.engine.command_bus import CommandBus
from millrace.engine.committed_checkpoints import CommittedCheckpoints
from millrace.engine.deployment import Deployment
from millrace.engine.job_requests import (
    After,
    CheckpointRequest,
    QueuedRequest,
    RescaleRequest,
    SavepointRequest,
    refuse,
)
from millrace.engine.rescaling import Rescaling
from millrace.engine.savepoint_writer import AsyncSavepointWriter
from millrace.plan.job_graph import JobGraph

__all__ = ["RequestHandler"]


class RequestHandler:
    """Prepares and answers checkpoints, savepoints and rescalings, in the job's thread.

    A request is taken before an epoch, which prepares for it; it is served with the checkpoint
    that ends the epoch. A savepoint is then written as soon as all is committed that precedes it.
    """

    def __init__(
        self, bus: CommandBus, checkpoints: CheckpointCoordinator, rescaling: Rescaling
    ) -> None:
        self._bus = bus
        self._checkpoints = checkpoints
        self._rescaling = rescaling
        self._serving: QueuedRequest | None = None
        self.savepoint: AsyncSavepointWriter | None = None
        """The last that was asked for."""

    @property
    def serving(self) -> QueuedRequest | None:
        """The request that the running epoch prepares for."""
        return self._serving

    @property
    def waits_for(self) -> str:
        """Return what a savepoint waits for, for people; empty: for nothing. For any thread."""
        return self.savepoint.waits_for if self.savepoint is not None else ""

    def is_asked(self) -> bool:
        """Whether an epoch should begin at once."""
        return self._bus.wanted.is_set() or (self._is_free() and self._bus.waiting)

    def _is_free(self) -> bool:
        """Whether the next request can be begun."""
        return self._serving is None and (self.savepoint is None or not self.savepoint.busy)

    def begin(self, deployment: Deployment) -> None:
        """Take the next request; the epoch that follows prepares for it."""
        if not self._is_free():
            return
        request = self._bus.take()
        if isinstance(request, RescaleRequest):
            self._rescaling.prepare(request, deployment.graph)
        elif isinstance(request, CheckpointRequest):
            self._serving = request
        elif request is not None:
            self._begin_savepoint(request, deployment)
        if self._serving is None:
            self._serving = self._rescaling.take_ready()

    def _begin_savepoint(self, request: SavepointRequest, deployment: Deployment) -> None:
        try:
            self._checkpoints.savepoint_directory(request)
        except (CheckpointError, UnsupportedFileSystemSchemeError) as error:
            refuse(request, error)
            return
        self._serving = request
        if request.after is After.DRAIN:
            deployment.drain()

    @property
    def wants_whole_files(self) -> bool:
        """Whether sinks close their part files in the running epoch: another run goes on there."""
        return isinstance(self.serving, SavepointRequest | RescaleRequest)

    def records(self, limit: int) -> int:
        """Records that the next epoch reads, at most ``limit``: an epoch for the savepoint that
        the job ends with reads nothing, because somebody waits for it."""
        request, stops = self.serving, (After.STOP, After.CANCEL)
        ends = isinstance(request, SavepointRequest) and request.after in stops
        return 0 if ends else limit

    def divisions(self, graph: JobGraph) -> dict[int, int]:
        """Stages that are to divide their state in the epoch that prepares a rescaling."""
        return self._rescaling.divisions(graph) if isinstance(self.serving, RescaleRequest) else {}

    def end_serving(self) -> None:
        """The request is answered or refused: another can be taken."""
        self._serving = None

    def await_savepoint(self, savepoint: AsyncSavepointWriter) -> None:
        """Take no other request until this savepoint has ended, which answers its request."""
        self._serving, self.savepoint = None, savepoint

    def write_committed(self, committed: CommittedCheckpoints) -> None:
        """Write the savepoint that waits for what is committed now."""
        if self.savepoint is not None and committed.includes(self.savepoint.checkpoint):
            self.savepoint.start()

    def commit_ended(self) -> None:
        """A commit in the background has, in any thread: a savepoint may wait for it."""
        if self.savepoint is not None and not self.savepoint.started:
            self._bus.wanted.set()

    def close(self, cause: BaseException | None) -> None:
        """A savepoint that is being written is finished; what has not begun is refused."""
        asked = [r for r in (self._serving, self._rescaling.request) if r is not None]
        unfinished = [request for request in asked if not request.done.done()]
        if self.savepoint is not None and not self.savepoint.close():
            unfinished.append(self.savepoint.request)
        self._serving = None
        self._bus.close(unfinished, cause)
