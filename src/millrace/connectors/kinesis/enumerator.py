"""Enumerator of the shards of streams, including shards that resharding creates. Parent shards come
before their children.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from millrace.common.source import (
    AssignedSplit,
    EnumeratorContext,
    SourceSplit,
    SplitEnumerator,
)
from millrace.connectors.daemon_pool import DaemonPool
from millrace.connectors.kinesis.client import (
    KinesisError,
    KinesisProperties,
    create_client,
    explained,
)
from millrace.connectors.kinesis.shard_assigner import KinesisShardAssigner
from millrace.connectors.kinesis.shard_split import InitialPosition, KinesisShardSplit

__all__ = ["KinesisEnumerator"]

_LOOK_AGAIN = 100
"""Milliseconds until it is seen whether the service has answered."""


class _Shard(NamedTuple):
    stream: str
    shard_id: str
    parents: tuple[str, ...]
    closed: bool
    hash_range: tuple[int, int]

    @property
    def split_id(self) -> str:
        return f"{self.stream}:{self.shard_id}"


class KinesisEnumerator(SplitEnumerator):
    """Assigns a shard only after all records of its parents are read, so that the records of a key
    keep their order.

    Its state: the shards that were assigned, those of them that have ended, and since when a job
    reads that began with the latest records.

    Args:
        timestamp: for `InitialPosition.AT_TIMESTAMP`, in ms since 1970.
        interval: ms between looks for new shards.
        assigner: chooses the subtasks that read shards; None if the engine chooses them.
    """

    def __init__(
        self,
        streams: Sequence[str],
        properties: KinesisProperties,
        initial: InitialPosition,
        timestamp: int | None,
        interval: int,
        assigner: KinesisShardAssigner | None = None,
    ) -> None:
        self._assigner = assigner
        self._streams = streams
        self._properties = properties
        self._initial = initial
        self._timestamp = timestamp
        self._interval = interval
        self._assigned: set[str] | None = None
        self._ended: set[str] = set()
        self._listed: dict[str, _Shard] = {}
        self._next = 0
        self._client: Any = None
        self._pool: DaemonPool | None = None
        self._looking: Future[list[_Shard]] | None = None
        self._context = EnumeratorContext(1)

    def start(self, context: EnumeratorContext) -> None:
        self._context = context

    def discover(self, now: int) -> Sequence[SourceSplit]:
        if not self._listed:  # the job has nothing to do before
            self._take(self._list(), now)
            self._next = now + self._interval
        elif self._looking is not None and self._looking.done():
            looked, self._looking = self._looking, None
            self._next = now + self._interval
            try:
                self._take(looked.result(), now)
            except KinesisError as error:
                self._context.logger.warning("cannot look for new shards now: %s", error)
        elif now >= self._next:
            if self._looking is None:
                self._pool = self._pool or DaemonPool(1, "kinesis-shards")
                self._looking = self._pool.submit(self._list)
            self._next = now + _LOOK_AGAIN
        ready = self._ready()
        if self._assigner is None:
            return ready
        self._assign(self._assigner, [AssignedSplit(split) for split in ready])
        return ()

    def add_splits_back(
        self, splits: Sequence[AssignedSplit], subtask: int
    ) -> Sequence[AssignedSplit]:
        if self._assigner is None:
            return splits
        self._assign(self._assigner, splits)
        return ()

    def _assign(self, assigner: KinesisShardAssigner, splits: Sequence[AssignedSplit]) -> None:
        """Assign shards to the subtasks that the user's assigner chooses.

        Raises:
            KinesisError: it gives no number.
        """
        subtasks = self._context.parallelism
        for assigned in splits:
            chosen = assigner.assign(assigned.split, subtasks)
            if not isinstance(chosen, int):
                raise KinesisError(
                    f"the shard assigner {type(assigner).__name__} gave {chosen!r} for "
                    f"{assigned.split.split_id}; assign() gives a whole number"
                )
            self._context.assign_split(assigned, chosen % subtasks)

    def _take(self, shards: list[_Shard], now: int) -> None:
        """Update the list of shards, and forget shards that the stream no longer has."""
        self._listed = {shard.split_id: shard for shard in shards}
        if self._assigned is None:
            self._assigned = set()
            if self._initial is InitialPosition.LATEST:
                self._timestamp = now
                past = {shard.split_id for shard in shards if shard.closed}
                self._assigned |= past
                self._ended |= past
        self._assigned &= self._listed.keys()
        self._ended &= self._listed.keys()

    def _ready(self) -> list[SourceSplit]:
        """Unassigned shards whose parents are fully read."""
        assert self._assigned is not None
        ready: list[SourceSplit] = []
        for split_id, shard in self._listed.items():
            parents = (f"{shard.stream}:{parent}" for parent in shard.parents)
            unread = (p for p in parents if p in self._listed and p not in self._ended)
            if split_id not in self._assigned and not any(unread):
                place = shard.stream, shard.shard_id
                start = self._timestamp
                ready.append(KinesisShardSplit(split_id, *place, start, shard.hash_range))
        self._assigned.update(split.split_id for split in ready)
        return ready

    def _list(self) -> list[_Shard]:
        return [shard for stream in self._streams for shard in self._shards_of(stream)]

    def _shards_of(self, stream: str) -> list[_Shard]:
        self._client = self._client or create_client(self._properties)
        shards: list[_Shard] = []
        request: dict[str, Any] = {"StreamName": stream}
        while True:
            try:
                answer = self._client.list_shards(**request)
            except Exception as error:  # whatever kinds the client has
                raise explained(error, stream, "read the shards of") from error
            shards += (_shard(stream, description) for description in answer["Shards"])
            if not (token := answer.get("NextToken")):
                return shards
            request = {"NextToken": token}

    def no_more_splits(self) -> bool:
        return False

    def next_discovery(self, now: int) -> int:
        return self._next

    def handle_split_finished(self, split: KinesisShardSplit) -> None:
        """Mark the shard as fully read after a split or merge, so that its children can be read."""
        self._ended.add(split.split_id)
        children = (s for s in self._listed.values() if split.shard_id in s.parents)
        if not any(child.stream == split.stream for child in children):
            self._next = 0  # what it has become is not known yet: look

    def snapshot_state(self) -> Mapping[str, Any] | None:
        if self._assigned is None:
            return None
        return {
            "assigned": sorted(self._assigned),
            "ended": sorted(self._ended),
            "timestamp": self._timestamp,
        }

    def restore_state(self, state: Mapping[str, Any] | None) -> None:
        if state is not None:
            self._assigned, self._ended = set(state["assigned"]), set(state["ended"])
            self._timestamp = state["timestamp"]

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()


def _shard(stream: str, description: Mapping[str, Any]) -> _Shard:
    parents = (description.get("ParentShardId"), description.get("AdjacentParentShardId"))
    hashes = description["HashKeyRange"]
    return _Shard(
        stream,
        description["ShardId"],
        tuple(parent for parent in parents if parent),
        "EndingSequenceNumber" in description["SequenceNumberRange"],
        (int(hashes["StartingHashKey"]), int(hashes["EndingHashKey"])),
    )
