"""Follows the clusters and topics of streams, with a `KafkaEnumerator` for each cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Thread
from typing import Any

from millrace.common.source import (
    AssignedSplit,
    EnumeratorContext,
    SourceEvent,
    SourceSplit,
    SplitEnumerator,
)
from millrace.connectors.kafka.client import KafkaError
from millrace.connectors.kafka.dynamic_split import (
    ClusterEvent,
    DynamicKafkaSplit,
    RemoveSplits,
)
from millrace.connectors.kafka.metadata_service import ClusterMetadata
from millrace.connectors.kafka.partition_split import SplitsRemoved
from millrace.connectors.kafka.topic_partition import KafkaTopicPartition

__all__ = ["DynamicKafkaEnumerator"]

Places = Collection[tuple[str, int]]

_LOOK_AGAIN = 100
"""Milliseconds until it is seen whether the service has answered, or readers have let go."""


class DynamicKafkaEnumerator(SplitEnumerator):
    """Enumerator of a `DynamicKafkaSource`. Its state holds the known partitions by cluster, and
    the end offsets of removed partitions.

    What appears while the job runs is read from its first record; what was removed and comes back,
    from where it was left.

    Args:
        look: function that returns the current clusters of the streams.
        create: function that creates the enumerator of a cluster.
        interval: ms between looks; None for a single look.
        failures: number of consecutive looks that may fail before the job fails.
    """

    def __init__(
        self,
        look: Callable[[], Mapping[str, ClusterMetadata]],
        create: Callable[[str, ClusterMetadata], SplitEnumerator],
        interval: int | None,
        failures: int,
    ) -> None:
        self._look = look
        self._create = create
        self._interval = interval
        self._failures_allowed = failures
        self._failed = 0
        self._pool: ThreadPoolExecutor | None = None
        self._looking: Future[Mapping[str, ClusterMetadata]] | None = None
        self._next = 0
        self._looked = False
        self._clusters: dict[str, ClusterMetadata] = {}
        self._enumerators: dict[str, SplitEnumerator] = {}
        self._contexts: dict[str, EnumeratorContext] = {}
        self._restored: dict[str, Any] | None = None
        """State from a checkpoint, until the service has answered."""
        self._left: dict[str, int] = {}
        """Offsets of partitions that were removed, by split id."""
        self._leaving: set[str] = set()
        """Ids of splits that readers are to let go of."""
        self._available_now: int | None = None
        self._context = EnumeratorContext(1)

    def start(self, context: EnumeratorContext) -> None:
        self._context = context

    # -- clusters ----------------------------------------------------------------------

    def _update(self, now: int) -> None:
        """Apply the metadata service's response, and query the service again at each interval."""
        if not self._looked:
            self._apply(self._look())  # the job has nothing to do before
            self._looked, self._next = True, now + (self._interval or 0)
            return
        if self._interval is None or now < self._next:
            return
        self._pool = self._pool or ThreadPoolExecutor(1, "kafka-metadata")
        self._looking = self._looking or self._pool.submit(self._look)
        if not self._looking.done() or self._leaving:
            self._next = now + _LOOK_AGAIN
            return
        looked, self._looking = self._looking, None
        self._next = now + self._interval
        if (clusters := self._answer(looked)) is not None:
            self._apply(clusters)

    def _answer(
        self, looked: Future[Mapping[str, ClusterMetadata]]
    ) -> Mapping[str, ClusterMetadata] | None:
        try:
            answer = looked.result()
        except Exception as error:  # whatever a service of the user's raises
            self._failed += 1
            if self._failed >= self._failures_allowed:
                raise KafkaError(f"the Kafka metadata service does not answer: {error}") from error
            self._context.logger.warning("the Kafka metadata service does not answer: %s", error)
            return None
        self._failed = 0
        return answer

    def _apply(self, wanted: Mapping[str, ClusterMetadata]) -> None:
        first = not self._looked and self._restored is None
        known = {name: e.snapshot_state() for name, e in self._enumerators.items()}
        known |= self._restored or {}
        self._restored = None
        for name in sorted(known.keys() | wanted.keys()):
            if name in self._clusters and self._clusters[name] == wanted.get(name):
                continue
            self._close(name)
            before, topics = known.get(name), wanted[name].topics if name in wanted else frozenset()
            places = before["partitions"] if before is not None else []
            self._remove(name, [place for place in places if place[0] not in topics])
            if name in wanted:
                kept = [place for place in places if place[0] in topics]
                ids = before["topics"] if before is not None else {}
                never_looked = first or (name in known and before is None)
                state = None if never_looked else {"partitions": kept, "topics": ids}
                self._add(name, wanted[name], state)

    def _add(self, name: str, cluster: ClusterMetadata, known: dict[str, Any] | None) -> None:
        self._context.logger.info("cluster '%s': %s", name, ", ".join(sorted(cluster.topics)))
        enumerator = self._create(name, cluster)
        if known is not None:
            enumerator.restore_state(known)
        self._contexts[name] = replace(self._context, assignments=[], events=[])
        enumerator.start(self._contexts[name])
        if self._available_now is not None:
            enumerator.prepare_for_available_now(self._available_now)
        self._clusters[name], self._enumerators[name] = cluster, enumerator

    def _remove(self, name: str, places: Places) -> None:
        """Tell readers to release partitions."""
        if not places:
            return
        gone = frozenset(f"{name}-{KafkaTopicPartition(*place)}" for place in places)
        self._context.logger.info("no longer read: %s", ", ".join(sorted(gone)))
        self._leaving |= gone
        for subtask in range(self._context.parallelism):
            self._context.send_source_event(subtask, RemoveSplits(gone))

    def _close(self, name: str) -> None:
        self._clusters.pop(name, None)
        self._contexts.pop(name, None)
        if (enumerator := self._enumerators.pop(name, None)) is not None:
            # a question to a cluster that is gone takes its time
            Thread(target=enumerator.close, name="kafka-close", daemon=True).start()

    # -- splits ------------------------------------------------------------------------

    def discover(self, now: int) -> Sequence[SourceSplit]:
        self._update(now)
        splits: list[SourceSplit] = []
        for name, enumerator in self._enumerators.items():
            for split in enumerator.discover(now):
                wrapped = DynamicKafkaSplit.of(name, split)  # type: ignore[arg-type]
                at = self._left.pop(wrapped.split_id, None)
                if at is not None:
                    wrapped = replace(wrapped, split=wrapped.split.continued_at(at))
                splits.append(wrapped)
            events = self._contexts[name].events
            for subtask, event in events:
                self._context.send_source_event(subtask, ClusterEvent(name, event))
            events.clear()
        return splits

    def handle_source_event(self, subtask: int, event: SourceEvent) -> None:
        if isinstance(event, SplitsRemoved):
            self._left |= event.offsets
            self._leaving -= event.offsets.keys()

    def handle_split_finished(self, split: DynamicKafkaSplit) -> None:
        self._leaving.discard(split.split_id)

    def add_splits_back(
        self, splits: Sequence[AssignedSplit], subtask: int
    ) -> Sequence[AssignedSplit]:
        """Take back splits to assign them again. Splits that readers were asked to release count
        as released."""
        for split, position, _ in splits:
            if split.split_id in self._leaving:
                at = split.split.starting_offset if position is None else position
                self._left[split.split_id] = at
        kept = [assigned for assigned in splits if assigned.split.split_id not in self._leaving]
        self._leaving -= self._left.keys()
        return kept

    def no_more_splits(self) -> bool:
        ended = all(enumerator.no_more_splits() for enumerator in self._enumerators.values())
        return self._looked and ended and self._interval is None

    def next_discovery(self, now: int) -> int | None:
        times = [enumerator.next_discovery(now) for enumerator in self._enumerators.values()]
        if self._interval is not None:
            times.append(self._next)
        return min((at for at in times if at is not None), default=None)

    def prepare_for_available_now(self, now: int) -> None:
        self._available_now = now
        self._update(now)
        self._interval = None

    def available_now_end(self, split: DynamicKafkaSplit) -> Any:
        enumerator = self._enumerators.get(split.cluster)
        return None if enumerator is None else enumerator.available_now_end(split.split)

    # -- checkpoints -------------------------------------------------------------------

    def snapshot_state(self) -> dict[str, Any] | None:
        if not self._looked:
            return None
        return {
            "clusters": {name: e.snapshot_state() for name, e in self._enumerators.items()},
            "left": dict(self._left),
            "leaving": set(self._leaving),
        }

    def restore_state(self, state: dict[str, Any] | None) -> None:
        if state is not None:
            self._restored = dict(state["clusters"])
            self._left, self._leaving = dict(state["left"]), set(state["leaving"])

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        for enumerator in self._enumerators.values():
            enumerator.close()
