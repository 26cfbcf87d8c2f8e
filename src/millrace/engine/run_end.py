"""The end of a run that reads only what was there when it began (available now)."""

from __future__ import annotations

from millrace.engine.deployment import Deployment
from millrace.engine.epoch_timer import EpochTimer

__all__ = ["RunEnd"]


class RunEnd:
    """Finds out when all has been read, and has a last epoch hand over what is still open.

    The input does not end: no watermark jumps ahead, and what is in state stays for the next run.
    """

    def __init__(self) -> None:
        self.begun = False
        """All has been read: the epochs from now on read nothing, and wait for requests."""
        self.reached = False
        """And nothing is left to be done; what has to be committed may still be."""

    def begin(self, deployment: Deployment) -> None:
        """An epoch is about to be planned."""
        if not self.begun and deployment.reached_end:
            self.begun = True
            deployment.halt()

    def accept(self, deployment: Deployment, timer: EpochTimer) -> None:
        """An epoch has been accepted, and the next one has been timed."""
        if self.begun and not deployment.loops.pending:
            self.reached = timer.stands_still = True
        elif deployment.reached_end:
            timer.hurry()
