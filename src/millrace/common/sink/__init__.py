"""Sinks in two phases: write in subtasks, commit after the checkpoint."""

from __future__ import annotations

from millrace.common.sink.sink import (
    Committer,
    Sink,
    SinkWriter,
    WriterContext,
)

__all__ = [
    "Committer",
    "Sink",
    "SinkWriter",
    "WriterContext",
]
