"""Outputs: where an operator's results go: the next operator of the chain, an exchange, or both."""

from __future__ import annotations

from typing import Protocol

from millrace.common.types.batch import Batch
from millrace.runtime.detached import detached_batch


class Output(Protocol):
    """Takes batches of records and watermarks, in order.

    A batch that was emitted belongs to nobody: neither side may change it any more.
    """

    def emit(self, batch: Batch) -> None:
        """Hand on a batch of either form."""

    def emit_watermark(self, timestamp: int) -> None:
        """No later record will have an event time at or below ``timestamp``."""


class Discard:
    """Drops everything: the output of an operator that nothing follows."""

    def emit(self, batch: Batch) -> None:
        """Drop the batch."""

    def emit_watermark(self, timestamp: int) -> None:
        """Drop the watermark."""


class FanOut:
    """Gives the same batches to several outputs; none sees what another does to a record."""

    def __init__(self, outputs: list[Output]) -> None:
        self._outputs = outputs

    def emit(self, batch: Batch) -> None:
        """Hand the batch to each of the outputs."""
        for output in self._outputs[:-1]:
            output.emit(detached_batch(batch))
        self._outputs[-1].emit(batch)

    def emit_watermark(self, timestamp: int) -> None:
        """Hand the watermark to each of the outputs."""
        for output in self._outputs:
            output.emit_watermark(timestamp)


def combined(outputs: list[Output]) -> Output:
    """One output that stands for all of them."""
    if len(outputs) == 1:
        return outputs[0]
    return FanOut(outputs) if outputs else Discard()
