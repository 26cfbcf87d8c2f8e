"""Reader of the partitions of one subtask, with a `KafkaSourceReader` for each cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from millrace.common.source import (
    AssignedSplit,
    ReaderContext,
    SourceEvent,
    SourceReader,
    SplitRecords,
)
from millrace.common.source.split_source import earliest
from millrace.common.types.batch import RowBatch
from millrace.connectors.kafka.dynamic_split import (
    ClusterEvent,
    DynamicKafkaSplit,
    RemoveSplits,
)
from millrace.connectors.kafka.partition_split import SplitsRemoved
from millrace.connectors.kafka.reader import KafkaSourceReader

__all__ = ["DynamicKafkaReader"]


class DynamicKafkaReader(SourceReader[Any]):
    """Releases partitions on request, and reports the offsets it had reached.

    Args:
        create: function that creates the reader of a cluster; it returns None if the streams no
            longer have the cluster.
    """

    def __init__(
        self,
        create: Callable[[str, ReaderContext], KafkaSourceReader | None],
        context: ReaderContext,
    ) -> None:
        self._create = create
        self._context = context
        self._readers: dict[str, tuple[KafkaSourceReader, ReaderContext]] = {}
        self._splits: dict[str, DynamicKafkaSplit] = {}
        self._removed: dict[str, int] = {}
        """Offsets of splits that are let go, until a poll has said so."""

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        for assigned in splits:
            self._splits[assigned.split.split_id] = assigned.split
        for cluster, group in groupby(_by_cluster(splits), lambda a: str(a.split.cluster)):
            assigned_here = list(group)
            reader = self._reader_of(cluster)
            if reader is None:
                self._let_go({a.split.split_id: _position(a) for a in assigned_here})
            else:
                reader.add_splits([a._replace(split=a.split.split) for a in assigned_here])

    def _reader_of(self, cluster: str) -> KafkaSourceReader | None:
        if cluster in self._readers:
            return self._readers[cluster][0]
        group = self._context.metrics.add_group("DynamicKafkaSource")
        metrics = group.add_group("kafkaCluster", cluster)
        context = replace(self._context, metrics=metrics, outputs={}, events=[])
        reader = self._create(cluster, context)
        if reader is not None:
            self._readers[cluster] = reader, context
        return reader

    def handle_source_event(self, event: SourceEvent) -> None:
        if isinstance(event, RemoveSplits):
            self._remove(event.split_ids & self._splits.keys() - self._removed.keys())
        elif isinstance(event, ClusterEvent) and event.cluster in self._readers:
            self._readers[event.cluster][0].handle_source_event(event.event)

    def _remove(self, split_ids: frozenset[str]) -> None:
        for cluster, (reader, _) in self._readers.items():
            mine = [i for i in split_ids if self._splits[i].cluster == cluster]
            offsets = reader.remove_splits([self._splits[i].split.split_id for i in mine])
            self._let_go({f"{cluster}-{name}": at for name, at in offsets.items()})

    def _let_go(self, offsets: dict[str, int]) -> None:
        if offsets:
            self._removed |= offsets
            self._context.send_source_event(SplitsRemoved(offsets))

    def begin_epoch(self, max_records_per_split: int) -> None:
        for reader, _ in self._readers.values():
            reader.begin_epoch(max_records_per_split)

    def poll(self, max_records: int) -> Sequence[SplitRecords[Any]]:
        polled = [SplitRecords(name, RowBatch[Any]([]), finished=True) for name in self._removed]
        for name in self._removed:
            del self._splits[name]
        self._removed = {}
        share = max(1, max_records // max(1, len(self._readers)))
        for cluster, (reader, context) in self._readers.items():
            polled += [
                records._replace(split_id=f"{cluster}-{records.split_id}")
                for records in reader.poll(share)
            ]
            for tag, values in context.outputs.items():
                for value in values:
                    self._context.output(tag, value)
            context.outputs.clear()
        return polled

    def snapshot_state(self) -> Mapping[str, int]:
        positions = dict(self._removed)
        for cluster, (reader, _) in self._readers.items():
            positions |= {f"{cluster}-{n}": at for n, at in reader.snapshot_state().items()}
        return positions

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        for cluster, (reader, _) in self._readers.items():
            reader.pause_or_resume_splits(self._of(cluster, pause), self._of(cluster, resume))

    def _of(self, cluster: str, split_ids: Sequence[str]) -> list[str]:
        splits = (self._splits[name] for name in split_ids if name in self._splits)
        return [split.split.split_id for split in splits if split.cluster == cluster]

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        for reader, _ in self._readers.values():
            reader.notify_checkpoint_complete(checkpoint_id)

    def next_wakeup(self, now: int) -> int | None:
        times = [reader.next_wakeup(now) for reader, _ in self._readers.values()]
        return earliest(times, now + self._context.poll_interval)

    def close(self) -> None:
        for reader, _ in self._readers.values():
            reader.close()


def _by_cluster(splits: Sequence[AssignedSplit]) -> list[AssignedSplit]:
    return sorted(splits, key=lambda assigned: str(assigned.split.cluster))


def _position(assigned: AssignedSplit) -> int:
    at = assigned.split.split.starting_offset if assigned.position is None else assigned.position
    return int(at)
