"""Collect sink: sends records to the client with the acknowledgement of the epoch."""

from __future__ import annotations

from typing import Any

from millrace.runtime.epoch import Ack, EpochContext
from millrace.runtime.operator import Operator
from millrace.state.serialization.payload import encode


class CollectOperator(Operator):
    """Sink of a stream whose records the client or `print` reads."""

    def open(self) -> None:
        self._values: list[Any] = []

    def begin_epoch(self, epoch: EpochContext) -> None:
        self._values = []

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._values.extend(values)

    def contribute(self, ack: Ack) -> None:
        if self._values:
            ack.results[self.context.uid] = encode(self._values)
            self._values = []
