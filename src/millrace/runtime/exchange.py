"""Exchanges: ways to distribute records among the subtasks of the next stage."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterable
from operator import index as index_of
from typing import Any

from millrace.common.errors import JobExecutionError, KeyTypeError
from millrace.common.functions.partitioner import Partitioner
from millrace.common.functions.runtime_context import RuntimeContext
from millrace.common.types.batch import ColumnBatch
from millrace.runtime.exchange_output import ExchangeOutput
from millrace.runtime.key_check import CheckedKeyMemo, KeyCheck
from millrace.runtime.key_columns import key_columns, key_objects
from millrace.runtime.program import Exchange, JobEdge
from millrace.state.key_groups import KeyMemo, owners_of_keys, refusal, subtask_of

Parts = Iterable[tuple[int, ColumnBatch]]


class KeyedExchange(ExchangeOutput):
    """Sends each record to the subtask that owns its key's key group."""

    def __init__(
        self, edge: JobEdge, channel: int, targets: int, buffer_records: int, max_parallelism: int
    ) -> None:
        super().__init__(edge, channel, targets, buffer_records)
        assert edge.key_batch is not None
        self._keys_of, self._selector = edge.key_batch, edge.key_selector
        self._max_parallelism = max_parallelism
        self.name = edge.name
        appends = [values.append for values in self._values]
        pairs = list(zip(appends, (t.append for t in self._timestamps), strict=True))
        groups = range(max_parallelism)
        owners = [subtask_of(group, targets, max_parallelism) for group in groups]
        self._check = KeyCheck.of(edge.key_type)
        self._sql_keys = edge.sql_keys
        self._append_value = self._memo([appends[owner] for owner in owners].__getitem__)
        self._append_both = self._memo([pairs[owner] for owner in owners].__getitem__)

    def _memo(self, resolve: Callable[[int], Any]) -> KeyMemo:
        if self._check is None:
            return KeyMemo(self._max_parallelism, resolve)
        return CheckedKeyMemo(self._check, self._max_parallelism, resolve)

    def spread(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Distribute a batch by key."""
        self._expect(timestamps)
        keys = keys_of_batch(self._keys_of, values)
        try:
            if timestamps is None:
                memo = self._append_value
                for key, value in zip(keys, values, strict=True):
                    memo[key](value)
            else:
                both = self._append_both
                for key, value, timestamp in zip(keys, values, timestamps, strict=True):
                    append_value, append_timestamp = both[key]
                    append_value(value)
                    append_timestamp(timestamp)
        except TypeError as error:
            if isinstance(error, KeyTypeError) or _hashable(key):
                raise
            raise KeyTypeError(refusal(key)) from None
        self._flush_full()

    def divide(self, batch: ColumnBatch) -> Parts:
        """The batch divided by key. If the key consists of fields, whole columns are hashed;
        otherwise the key function is called for each record.
        """

        from millrace.runtime.column_partitions import by_target
        from millrace.state.column_key_groups import owners_of_columns

        columns = key_columns(self._selector, batch, self._sql_keys)
        if columns is not None:
            if self._check is not None:
                self._check.columns(columns, batch)
            owners = owners_of_columns(
                columns, self._targets, self._max_parallelism, self._sql_keys
            )
        else:
            values = batch.to_rows().values
            keys = keys_of_batch(self._keys_of, values)
            if self._check is not None:
                self._check.keys(keys, values)
            owners = owners_of_keys(keys, self._targets, self._max_parallelism)
        return by_target(batch, owners)


def keys_of_batch(keys_of: Callable[[list[Any]], list[Any]], values: list[Any]) -> list[Any]:
    """Keys of a batch."""
    try:
        return keys_of(values)
    except Exception as error:
        failed = error
    # once more, one by one: the loop's variable tells which record it was. Outside of the handler,
    # as otherwise the same error would be told twice
    for value in values:
        keys_of([value])
    raise failed


def _hashable(key: Any) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


class ForwardExchange(ExchangeOutput):
    """Sends all records to the subtask with the same index."""

    def spread(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Send the batch to the subtask with the same index."""
        self._expect(timestamps)
        self._values[self._channel].extend(values)
        if timestamps is not None:
            self._timestamps[self._channel].extend(timestamps)
        self._flush_full()

    def divide(self, batch: ColumnBatch) -> Parts:
        """The whole batch for one target."""
        return [(self._channel, batch)]


class RebalanceExchange(ExchangeOutput):
    """Sends records to targets in turn: to all targets, or only to the ``served`` ones."""

    def __init__(
        self,
        edge: JobEdge,
        channel: int,
        targets: int,
        buffer_records: int,
        served: range | None = None,
    ) -> None:
        super().__init__(edge, channel, targets, buffer_records)
        self._served = range(targets) if served is None else served
        self._next = 0

    def begin_epoch(self, epoch: int, attempt: int) -> None:
        """Choose the first target from the epoch alone, so that a repeated epoch distributes its
        records in the same way.
        """
        super().begin_epoch(epoch, attempt)
        self._next = (self._channel + epoch) % len(self._served)

    def spread(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Distribute a batch in turn."""
        self._expect(timestamps)
        served, first = self._served, self._next
        width = len(served)
        for offset in range(width):
            target = served[(first + offset) % width]
            self._values[target].extend(values[offset::width])
            if timestamps is not None:
                self._timestamps[target].extend(timestamps[offset::width])
        self._next = (first + len(values)) % width
        self._flush_full()

    def divide(self, batch: ColumnBatch) -> Parts:
        """Equal parts of the batch. Adjacent records stay together, so that nothing is copied."""
        from millrace.runtime.column_partitions import in_turn

        first = self._next
        self._next = (first + len(batch)) % len(self._served)
        return in_turn(batch, self._served, first)


def served_by(channel: int, producers: int, targets: int) -> range:
    """Targets of a producer under `rescale`: a range of adjacent targets. With twice as many
    targets as producers, each producer has two.
    """
    first = channel * targets // producers
    return range(first, max(first + 1, (channel + 1) * targets // producers))


class GlobalExchange(ExchangeOutput):
    """Sends all records to the first subtask."""

    def spread(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Send the batch to subtask 0."""
        self._expect(timestamps)
        self._values[0].extend(values)
        if timestamps is not None:
            self._timestamps[0].extend(timestamps)
        self._flush_full()

    def divide(self, batch: ColumnBatch) -> Parts:
        """The whole batch for subtask 0."""
        return [(0, batch)]


class CustomExchange(ExchangeOutput):
    """Sends each record to the target that the user's partitioner returns."""

    def __init__(self, edge: JobEdge, channel: int, targets: int, buffer_records: int) -> None:
        super().__init__(edge, channel, targets, buffer_records)
        assert edge.key_batch is not None
        self._keys_of, self._selector = edge.key_batch, edge.key_selector
        self._partitioner: Any = pickle.loads(edge.partitioner)
        self.name = edge.name

    def open(self, context: RuntimeContext) -> None:
        """Open the partitioner if it is a function object."""
        partitioner = self._partitioner
        is_object = isinstance(partitioner, Partitioner)
        if is_object:
            partitioner.open(context)
        self._partition = partitioner.partition if is_object else partitioner

    def close(self) -> None:
        """Close the partitioner if it is a function object."""
        if isinstance(self._partitioner, Partitioner):
            self._partitioner.close()

    def spread(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Distribute a batch by the partitioner."""
        self._expect(timestamps)
        keys = keys_of_batch(self._keys_of, values)
        for index, (key, value) in enumerate(zip(keys, values, strict=True)):
            chosen = self._chosen(key)
            self._values[chosen].append(value)
            if timestamps is not None:
                self._timestamps[chosen].append(timestamps[index])
        self._flush_full()

    def divide(self, batch: ColumnBatch) -> Parts:
        """The batch divided by the partitioner, which is called with each key."""
        import numpy as np

        from millrace.runtime.column_partitions import by_target

        columns = key_columns(self._selector, batch)
        if columns is not None:
            keys = key_objects(columns)
        else:
            keys = keys_of_batch(self._keys_of, batch.to_rows().values)
        return by_target(batch, np.fromiter(map(self._chosen, keys), np.uint16, len(keys)))

    def _chosen(self, key: Any) -> int:
        target = self._partition(key, self._targets)
        chosen = index_of(target) if hasattr(target, "__index__") else -1
        if not 0 <= chosen < self._targets:
            raise JobExecutionError(
                f"the partitioner sent key {key!r} to partition {target!r}; it must give a "
                f"whole number from 0 to {self._targets - 1}"
            )
        return chosen


class ShuffleExchange(ExchangeOutput):
    """Sends each record to a random target. A repeated epoch chooses the same targets."""

    def begin_epoch(self, epoch: int, attempt: int) -> None:
        """Start a random sequence that depends on the epoch alone."""
        super().begin_epoch(epoch, attempt)
        self._random = random.Random(epoch * 65_536 + self._channel)

    def spread(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Distribute a batch at random."""
        self._expect(timestamps)
        targets = self._random.choices(range(self._targets), k=len(values))
        for target, value in zip(targets, values, strict=True):
            self._values[target].append(value)
        if timestamps is not None:
            for target, timestamp in zip(targets, timestamps, strict=True):
                self._timestamps[target].append(timestamp)
        self._flush_full()

    def divide(self, batch: ColumnBatch) -> Parts:
        """The batch divided at random."""
        import numpy as np

        from millrace.runtime.column_partitions import by_target

        generator = np.random.default_rng(self._random.getrandbits(64))
        return by_target(batch, generator.integers(0, self._targets, len(batch), np.uint16))


class BroadcastExchange(ExchangeOutput):
    """Sends every record to every target."""

    def spread(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Send the batch to each target."""
        self._expect(timestamps)
        for target in range(self._targets):
            self._values[target].extend(values)
            if timestamps is not None:
                self._timestamps[target].extend(timestamps)
        self._flush_full()

    def send_columns(self, batch: ColumnBatch) -> None:
        """Send the batch to each target, encoded once."""
        self._send(range(self._targets), batch)


def create_exchange(
    edge: JobEdge,
    channel: int,
    producers: int,
    targets: int,
    buffer_records: int,
    max_parallelism: int,
) -> ExchangeOutput:
    """Output that sends along ``edge`` from subtask ``channel`` to ``targets`` subtasks."""
    if edge.exchange is Exchange.KEYED:
        return KeyedExchange(edge, channel, targets, buffer_records, max_parallelism)
    if edge.exchange is Exchange.RESCALE:
        served = served_by(channel, producers, targets)
        return RebalanceExchange(edge, channel, targets, buffer_records, served)
    kinds: dict[Exchange, Callable[..., ExchangeOutput]] = {
        Exchange.FORWARD: ForwardExchange,
        Exchange.REBALANCE: RebalanceExchange,
        Exchange.SHUFFLE: ShuffleExchange,
        Exchange.BROADCAST: BroadcastExchange,
        Exchange.CUSTOM: CustomExchange,
        Exchange.GLOBAL: GlobalExchange,
    }
    return kinds[edge.exchange](edge, channel, targets, buffer_records)
