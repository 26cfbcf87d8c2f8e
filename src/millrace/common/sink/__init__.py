"""Sinks in two phases: write in subtasks, commit after the checkpoint."""

from __future__ import annotations

from millrace.common.sink.committer import (
    CommitMode,
    CommitRequest,
    CommitState,
    Committer,
    CommitterContext,
)
from millrace.common.sink.delivery_guarantee import DeliveryGuarantee
from millrace.common.sink.orphan_sweep import SupportsOrphanSweep
from millrace.common.sink.sink import Sink
from millrace.common.sink.writer import SinkWriter, WriterContext, WriterEpoch

__all__ = [
    "CommitMode",
    "CommitRequest",
    "CommitState",
    "Committer",
    "CommitterContext",
    "DeliveryGuarantee",
    "Sink",
    "SinkWriter",
    "SupportsOrphanSweep",
    "WriterContext",
    "WriterEpoch",
]
