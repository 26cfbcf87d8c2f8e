"""End of a run that reads only the input that existed at its beginning (available now)."""

from __future__ import annotations

from millrace.engine.deployment import Deployment
from millrace.engine.epoch_timer import EpochTimer

__all__ = ["RunEnd"]


class RunEnd:
    """Determines when all input has been read, and lets a last epoch emit everything that is still
    open.

    The input itself does not end: no watermark jumps ahead, and state is kept for the next run.
    """

    def __init__(self) -> None:
        self.begun = False
        """Whether all input has been read. From then on, epochs read nothing, and wait for
        requests in flight."""
        self.reached = False
        """Whether no records are left in loops either. Only commits may still be outstanding."""

    def begin(self, deployment: Deployment) -> None:
        """Called before an epoch is planned."""
        if not self.begun and deployment.reached_end:
            self.begun = True
            deployment.halt()

    def accept(self, deployment: Deployment, timer: EpochTimer) -> None:
        """Called after an epoch was accepted and the next one was scheduled."""
        if self.begun and not deployment.loops.pending:
            self.reached = timer.stands_still = True
        elif deployment.reached_end:
            timer.hurry()
