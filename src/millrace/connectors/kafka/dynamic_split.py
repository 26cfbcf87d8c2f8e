"""Splits of a `DynamicKafkaSource`, and what its enumerator and readers exchange about them."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.source import SourceEvent, SourceSplit
from millrace.connectors.kafka.partition_split import KafkaPartitionSplit

__all__ = ["ClusterEvent", "DynamicKafkaSplit", "RemoveSplits", "SplitsRemoved"]


@dataclass(frozen=True)
class DynamicKafkaSplit(SourceSplit):
    """A partition of a cluster. How to reach that is not in it: it is part of checkpoints."""

    cluster: str
    split: KafkaPartitionSplit

    @staticmethod
    def of(cluster: str, split: KafkaPartitionSplit) -> DynamicKafkaSplit:
        """The split with the cluster in its id."""
        return DynamicKafkaSplit(f"{cluster}-{split.split_id}", cluster, split)


@dataclass(frozen=True)
class ClusterEvent(SourceEvent):
    """An event for the readers of a cluster."""

    cluster: str
    event: SourceEvent


@dataclass(frozen=True)
class RemoveSplits(SourceEvent):
    """To readers: read no more of these."""

    split_ids: frozenset[str]


@dataclass(frozen=True)
class SplitsRemoved(SourceEvent):
    """From a reader: where it was in each, by split id."""

    offsets: dict[str, int]
