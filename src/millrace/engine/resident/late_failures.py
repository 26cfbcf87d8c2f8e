"""Failures of functions that come when their attempt has already ended."""

from __future__ import annotations

from millrace.engine.epoch_check import user_failure
from millrace.engine.resident.open_epoch import OpenEpoch
from millrace.runtime.epoch import Ack, FailureKind

__all__ = ["LateFailures"]


class LateFailures:
    """Failures of functions in an attempt that has ended because subtasks miss their state. They
    come before the workers are connected anew. None goes unnoticed, although the epoch runs again.
    """

    def __init__(self) -> None:
        self._attempt = -1
        """Attempt whose failures count. Negative if the last attempt ended for another reason."""
        self._acks: list[Ack] = []

    def expect(self, opened: OpenEpoch, attempt: int) -> None:
        """Record the end of an attempt of an epoch in which subtasks have failed."""
        kinds = {ack.failure.kind for ack in opened.acks if ack.failure is not None}
        self._attempt = attempt if kinds == {FailureKind.STATE_MISS} else -1

    def offer(self, ack: Ack) -> None:
        """Take an answer of an attempt that is over, if it is such a failure."""
        if ack.attempt == self._attempt and user_failure([ack]) is not None:
            self._acks.append(ack)

    def taken(self) -> list[Ack]:
        """The failures, once the workers are connected anew."""
        taken, self._acks, self._attempt = self._acks, [], -1
        return taken
