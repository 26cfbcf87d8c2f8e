"""Splits of a `DynamicKafkaSource`, and the events that its enumerator and readers exchange
about them."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.source import SourceEvent, SourceSplit
from millrace.connectors.kafka.partition_split import KafkaPartitionSplit

__all__ = ["ClusterEvent", "DynamicKafkaSplit", "RemoveSplits"]


@dataclass(frozen=True)
class DynamicKafkaSplit(SourceSplit):
    """A partition of a cluster. The cluster's address is left out, because splits are part of
    checkpoints."""

    cluster: str
    split: KafkaPartitionSplit

    @staticmethod
    def of(cluster: str, split: KafkaPartitionSplit) -> DynamicKafkaSplit:
        """The split with the cluster's name in its id."""
        return DynamicKafkaSplit(f"{cluster}-{split.split_id}", cluster, split)


@dataclass(frozen=True)
class ClusterEvent(SourceEvent):
    """An event for the readers of a cluster."""

    cluster: str
    event: SourceEvent


@dataclass(frozen=True)
class RemoveSplits(SourceEvent):
    """Tells readers to stop reading the given splits."""

    split_ids: frozenset[str]
