"""Outputs of operators: the next operator of the chain, an exchange, or several of these."""

from __future__ import annotations

from typing import Protocol

from millrace.common.types.batch import Batch
from millrace.runtime.detached import detached_batch


class Output(Protocol):
    """Takes batches of records and watermarks, in order.

    An emitted batch must not be changed any more, neither by the sender nor by the receiver.
    """

    def emit(self, batch: Batch) -> None:
        """Pass on a batch of rows or columns."""

    def emit_watermark(self, timestamp: int) -> None:
        """Pass on the watermark: no later record has an event time at or below ``timestamp``."""


class Discard:
    """Output without a consumer, which drops all batches."""

    def emit(self, batch: Batch) -> None:
        """Drop the batch."""

    def emit_watermark(self, timestamp: int) -> None:
        """Drop the watermark."""


class FanOut:
    """Passes the same batches to several outputs. If one output changes a record, the others do not
    see the change.
    """

    def __init__(self, outputs: list[Output]) -> None:
        self._outputs = outputs

    def emit(self, batch: Batch) -> None:
        """Pass the batch to each of the outputs."""
        for output in self._outputs[:-1]:
            output.emit(detached_batch(batch))
        self._outputs[-1].emit(batch)

    def emit_watermark(self, timestamp: int) -> None:
        """Pass the watermark to each of the outputs."""
        for output in self._outputs:
            output.emit_watermark(timestamp)


def combined(outputs: list[Output]) -> Output:
    """One output that passes batches on to all the given outputs."""
    if len(outputs) == 1:
        return outputs[0]
    return FanOut(outputs) if outputs else Discard()
