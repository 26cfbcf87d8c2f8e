"""The request handler, which takes the requests to a job from its bus, one after the other."""

from __future__ import annotations

from millrace.common.errors import (
    CheckpointError,
    JobControlError,
    JobExecutionError,
    MillraceError,
    UnsupportedFileSystemSchemeError,
)
from millrace.engine.checkpoint_coordinator import CheckpointCoordinator
from millrace.engine.command_bus import CommandBus
from millrace.engine.committed_checkpoints import CommittedCheckpoints
from millrace.engine.deployment import Deployment
from millrace.engine.job_requests import (
    AfterSavepoint,
    CheckpointRequest,
    MessageRequest,
    QueuedRequest,
    RescaleRequest,
    SavepointRequest,
    refuse,
)
from millrace.engine.rescaling import Rescaling
from millrace.engine.savepoint_writer import AsyncSavepointWriter
from millrace.job_graph.job_graph import JobGraph

__all__ = ["RequestHandler"]


class RequestHandler:
    """Prepares and answers checkpoints, savepoints and rescalings, in the job's thread.

    A request is taken before an epoch, which prepares for it, and served with the checkpoint that
    ends the epoch. A savepoint is then written as soon as everything before it is committed.
    """

    def __init__(
        self, bus: CommandBus, checkpoints: CheckpointCoordinator, rescaling: Rescaling
    ) -> None:
        self._bus = bus
        self._checkpoints = checkpoints
        self._rescaling = rescaling
        self._serving: QueuedRequest | None = None
        self._is_delivered = False
        """Whether the message in service has reached its operator: it only waits for a checkpoint.
        """
        self.savepoint: AsyncSavepointWriter | None = None
        """Writer of the last requested savepoint."""

    @property
    def serving(self) -> QueuedRequest | None:
        """Request for which the running epoch prepares; None if there is none."""
        return self._serving

    @property
    def waits_for(self) -> str:
        """Description, for people, of the condition for which a savepoint waits; empty if it does
        not wait. May be called in any thread.
        """
        return self.savepoint.waits_for if self.savepoint is not None else ""

    def is_asked(self) -> bool:
        """Whether an epoch should begin immediately, to serve a request."""
        return self._bus.wanted.is_set() or (self._is_free() and self._bus.waiting)

    def _is_free(self) -> bool:
        """Whether the handler can begin the next request."""
        return self._serving is None and (self.savepoint is None or not self.savepoint.busy)

    def begin(self, deployment: Deployment) -> None:
        """Take the next request; the following epoch prepares for it."""
        if not self._is_free():
            return
        request = self._bus.take()
        if isinstance(request, RescaleRequest):
            self._rescaling.prepare(request, deployment.graph)
        elif isinstance(request, CheckpointRequest):
            self._serving = request
        elif isinstance(request, MessageRequest):
            self._begin_message(request, deployment.graph)
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
        if request.after is AfterSavepoint.DRAIN:
            deployment.drain()

    def _begin_message(self, request: MessageRequest, graph: JobGraph) -> None:
        nodes = [node for stage in graph.program.stages for node in stage.nodes]
        checks = {node.uid: node.message_check for node in nodes if node.message_check is not None}
        check = checks.get(request.operator)
        if check is None:
            known = ", ".join(checks) or "none"
            refused = f"the job has no operator '{request.operator}' that takes messages"
            return refuse(request, JobControlError(f"{refused}, only: {known}"))
        try:
            check(request.message)
        except MillraceError as error:
            return refuse(request, error)
        self._serving, self._is_delivered = request, False

    def epoch_accepted(self) -> None:
        """Record that the effects of the message that is being handled stay, even if the job
        restarts before the next checkpoint."""
        self._is_delivered = True

    def attempt_failed(self, error: JobExecutionError) -> None:
        """Refuse the message of an attempt after which the job restarts. The epoch runs again
        without the message, because the message may have caused the failure and would cause it
        again.
        """
        request = self._serving
        if not isinstance(request, MessageRequest) or self._is_delivered:
            return
        self._serving = None
        refusal = JobControlError(
            f"the message to operator '{request.operator}' has no effect, because the epoch failed "
            f"in which the operator got it: {error}"
        )
        refusal.__cause__ = error
        refuse(request, refusal)

    @property
    def messages(self) -> dict[str, bytes]:
        """Messages that operators get in the running epoch, by operator uid."""
        request = self.serving
        if isinstance(request, MessageRequest) and not self._is_delivered:
            return {request.operator: request.message}
        return {}

    @property
    def wants_whole_files(self) -> bool:
        """Whether sinks must close their part files in the running epoch, because another run
        continues from it."""
        return isinstance(self.serving, SavepointRequest | RescaleRequest)

    def records(self, limit: int) -> int:
        """Number of records that the next epoch reads: ``limit``, or 0 if the epoch prepares the
        savepoint that ends the job, because a user waits for it.
        """
        request, stops = self.serving, (AfterSavepoint.STOP, AfterSavepoint.CANCEL)
        ends = isinstance(request, SavepointRequest) and request.after in stops
        return 0 if ends else limit

    def divisions(self, graph: JobGraph) -> dict[int, int]:
        """Stages that must divide their state in the epoch that prepares a rescaling: number of
        parts by stage id."""
        return self._rescaling.divisions(graph) if isinstance(self.serving, RescaleRequest) else {}

    def end_serving(self) -> None:
        """Record that the request is answered or refused, so that the next one can be taken."""
        self._serving = None

    def await_savepoint(self, savepoint: AsyncSavepointWriter) -> None:
        """Take no other request until this savepoint has ended and has answered its request."""
        self._serving, self.savepoint = None, savepoint

    def write_committed(self, committed: CommittedCheckpoints) -> None:
        """Write the waiting savepoint if the committables of its checkpoint are committed."""
        if self.savepoint is not None and committed.includes(self.savepoint.checkpoint):
            self.savepoint.start()

    def commit_ended(self) -> None:
        """Note the end of a commit in the background, for which a savepoint may wait. May be
        called in any thread."""
        if self.savepoint is not None and not self.savepoint.started:
            self._bus.want()

    def close(self, cause: BaseException | None) -> None:
        """Finish the savepoint that is being written, and refuse the requests that have not
        begun."""
        asked = [r for r in (self._serving, self._rescaling.request) if r is not None]
        unfinished = [request for request in asked if not request.done.done()]
        if self.savepoint is not None and not self.savepoint.close():
            unfinished.append(self.savepoint.request)
        self._serving = None
        self._bus.close(unfinished, cause)
