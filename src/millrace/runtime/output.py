"""Outputs: where an operator's results go: the next operator of the chain, an exchange, or both."""

from __future__ import annotations

from typing import Any, Protocol

from millrace.runtime.detached import detached_batch


class Output(Protocol):
    """Takes batches of records (with event times, or None) and watermarks, in order.

    A batch that was emitted belongs to nobody: neither side may change the lists any more.
    """

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Hand on a batch; timestamps in ms since the epoch, one per value."""

    def emit_watermark(self, timestamp: int) -> None:
        """No later record will have an event time at or below ``timestamp``."""


class Discard:
    """Drops everything: the output of an operator that nothing follows."""

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Drop the batch."""

    def emit_watermark(self, timestamp: int) -> None:
        """Drop the watermark."""


class FanOut:
    """Gives the same batches to several outputs; none sees what another does to a record."""

    def __init__(self, outputs: list[Output]) -> None:
        self._outputs = outputs

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Hand the batch to each of the outputs."""
        for output in self._outputs[:-1]:
            output.emit(detached_batch(values), timestamps)
        self._outputs[-1].emit(values, timestamps)

    def emit_watermark(self, timestamp: int) -> None:
        """Hand the watermark to each of the outputs."""
        for output in self._outputs:
            output.emit_watermark(timestamp)


def combined(outputs: list[Output]) -> Output:
    """One output that stands for all of them."""
    if len(outputs) == 1:
        return outputs[0]
    return FanOut(outputs) if outputs else Discard()
