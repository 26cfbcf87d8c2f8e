"""The splits of a Pulsar source: partitions of topics. Flink: ``PulsarPartitionSplit``."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.source import SourceSplit
from millrace.connectors.pulsar.message_position import MessagePosition

__all__ = ["PulsarPartitionSplit"]


@dataclass(frozen=True)
class PulsarPartitionSplit(SourceSplit):
    """A partition, or a topic without partitions; its id is the full name."""

    start: MessagePosition
    inclusive: bool = False
    """Whether the message at ``start`` is read, too."""
    publish_time: int | None = None
    """Publish time at which reading begins, instead of ``start``."""
    stop: MessagePosition | None = None
    """The last message, if the end of the partition is known from the beginning."""
