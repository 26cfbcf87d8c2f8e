"""A sink that throws everything away: what a benchmark measures is what comes before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.sink import Sink, SinkWriter, WriterContext


class DiscardingSink(Sink[Any]):
    """Writes nothing."""

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return _Nowhere()


class _Nowhere(SinkWriter[Any]):
    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        pass

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        return ()
