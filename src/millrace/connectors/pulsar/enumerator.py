"""Enumerator of a Pulsar source: finds partitions, and moves its subscription to the read
positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from millrace.common.source import EnumeratorContext, SourceEvent, SourceSplit, SplitEnumerator
from millrace.connectors.pulsar.client import (
    CONSUMER_NAME,
    PulsarError,
    PulsarProperties,
    create_client,
)
from millrace.connectors.pulsar.cursor import StartCursor, StopCursor
from millrace.connectors.pulsar.message_position import EARLIEST, MessagePosition
from millrace.connectors.pulsar.partition_split import PulsarPartitionSplit
from millrace.connectors.pulsar.reader import ReadUpTo
from millrace.connectors.pulsar.subscription import Subscription
from millrace.connectors.pulsar.topic_names import TopicNames

__all__ = ["PulsarEnumerator"]

_LOOK_AGAIN = 100
"""Milliseconds until it is seen whether the brokers have answered."""


class PulsarEnumerator(SplitEnumerator):
    """Finds partitions; its state is the set of known partitions.

    Args:
        interval: ms between looks for new partitions; None for a single look.
    """

    def __init__(
        self,
        properties: PulsarProperties,
        topics: TopicNames,
        subscription_name: str,
        start: StartCursor,
        stop: StopCursor,
        interval: int | None,
    ) -> None:
        self._properties = properties
        self._topics = topics
        self._subscription_name = subscription_name
        self._start = start
        self._stop = stop
        self._interval = interval
        self._known: set[str] | None = None
        self._next = 0
        self._looked = False
        self._client: Any = None
        self._subscription: Subscription | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._looking: Future[list[PulsarPartitionSplit]] | None = None
        self._context = EnumeratorContext(1)
        self._available_now = False
        self._ends: dict[str, MessagePosition] = {}
        """End positions of an available-now run."""

    def start(self, context: EnumeratorContext) -> None:
        self._context = context

    def prepare_for_available_now(self, now: int) -> None:
        self._available_now = True

    def discover(self, now: int) -> Sequence[SourceSplit]:
        if not self._looked:  # the job has nothing to do before
            partitions = self._look()
            self._looked = True
            self._next = now + (self._interval or 0)
            return self._new(partitions)
        if self.no_more_splits() or now < self._next:
            return ()
        self._next = now + _LOOK_AGAIN
        if self._looking is None:
            self._looking = self._in_background(self._look)
        if not self._looking.done():
            return ()
        looked, self._looking = self._looking, None
        self._next = now + (self._interval or 0)
        try:
            return self._new(looked.result())
        except PulsarError as error:
            self._context.logger.warning("cannot look for new partitions now: %s", error)
            return ()

    def _new(self, splits: list[PulsarPartitionSplit]) -> list[PulsarPartitionSplit]:
        self._known = (self._known or set()) | {split.split_id for split in splits}
        return splits

    def _look(self) -> list[PulsarPartitionSplit]:
        """Partitions that exist and were not known before."""
        if self._subscription is None:
            self._client = create_client(self._properties)
            self._subscription = Subscription(
                self._client, self._subscription_name, self._properties.values.get(CONSUMER_NAME)
            )
        names = self._topics.partitions(self._client, self._properties)
        first = self._known is None
        known = self._known or set()
        latest = first and self._start.position is None and self._start.publish_time is None
        for name in sorted({*names, *known}):
            self._subscription.require(name, latest and name not in known)
            if self._available_now and name not in self._ends:
                self._ends[name] = self._subscription.last(name)
        return [self._split(name, first) for name in names if name not in known]

    def _split(self, name: str, first: bool) -> PulsarPartitionSplit:
        """Split of a partition; a partition that appears later is read from its first message."""
        assert self._subscription is not None
        start, stop = self._start, self._stop.position
        if self._stop.is_latest:
            stop = self._subscription.last(name)
        elif stop is not None and not self._stop.inclusive:
            stop = stop.before()
        position = start.position or EARLIEST
        if first and start.position is None and start.publish_time is None:
            position = self._subscription.last(name)
        if not first:
            position = EARLIEST
        return PulsarPartitionSplit(name, position, start.inclusive, start.publish_time, stop)

    def available_now_end(self, split: PulsarPartitionSplit) -> MessagePosition | None:
        """Position at which an available-now run ends; None if the split itself has an end."""
        return None if split.stop is not None else self._ends.get(split.split_id)

    def no_more_splits(self) -> bool:
        return self._looked and (self._interval is None or self._available_now)

    def next_discovery(self, now: int) -> int | None:
        return None if self.no_more_splits() else self._next

    def handle_source_event(self, subtask: int, event: SourceEvent) -> None:
        """Acknowledge the positions of a complete checkpoint, so that the subscription need not
        keep the messages."""
        if isinstance(event, ReadUpTo) and self._subscription is not None:
            subscription = self._subscription
            self._in_background(lambda: subscription.acknowledge(event.positions))

    def _in_background(self, work: Any) -> Future[Any]:
        self._pool = self._pool or ThreadPoolExecutor(1, "pulsar-partitions")
        return self._pool.submit(work)

    def snapshot_state(self) -> Mapping[str, Any] | None:
        return None if self._known is None else {"known": sorted(self._known)}

    def restore_state(self, state: Mapping[str, Any] | None) -> None:
        if state is not None:
            self._known = set(state["known"])

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=False)
        if self._client is not None:
            self._client.close()
