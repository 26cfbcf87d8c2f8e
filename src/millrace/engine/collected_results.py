"""Buffer for the results of collecting sinks until a checkpoint makes them durable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.runtime.epoch import Ack
from millrace.runtime.program import Program
from millrace.state.serialization.payload import decode

__all__ = ["CollectedResults", "ResultHandler"]

ResultHandler = Callable[[str, list[Any], int, int], None]
"""Receives the results of a subtask of a collecting sink in a committed epoch: (uid, values,
subtask, number of subtasks)."""


class CollectedResults:
    """Keeps the results of accepted epochs and gives them to the client in order.

    Args:
        handler: function that receives the results; None if results are not delivered.
    """

    def __init__(self, handler: ResultHandler | None) -> None:
        self._handler = handler
        self._waiting: list[Ack] = []

    def add(self, acks: list[Ack]) -> None:
        """Take the results of an accepted epoch."""
        self._waiting += [ack for ack in acks if ack.results]

    def deliver(self, program: Program) -> None:
        """Make the buffered results visible to the client."""
        waiting, self._waiting = self._waiting, []
        if self._handler is None:
            return
        width = {stage.id: stage.parallelism for stage in program.stages}
        for ack in sorted(waiting, key=lambda ack: (ack.stage, ack.subtask)):
            for uid, values in ack.results.items():
                self._handler(uid, decode(values), ack.subtask, width[ack.stage])
