"""Exchanges: outputs that spread records over the subtasks of the next stage, as buffers.

Records wait per target until a buffer is full. A watermark does not force buffers out: it goes
with the next one (that only delays it), and at the end of the epoch with the END buffer.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterable
from operator import index as index_of
from typing import Any

from millrace.common.errors import JobExecutionError, KeyTypeError
from millrace.common.functions.partitioner import Partitioner
from millrace.common.functions.runtime_context import RuntimeContext
from millrace.runtime.buffer import ACTIVE, IDLE, MIN_WATERMARK, Buffer, BufferKind
from millrace.runtime.columns import Columns, pack
from millrace.runtime.program import Edge, Exchange
from millrace.state.key_groups import KeyMemo, refusal, subtask_of
from millrace.state.serialization.payload import encode_records


class ExchangeOutput:
    """The part that all exchanges share: waiting records, full buffers, the end of an epoch."""

    def __init__(self, edge: Edge, channel: int, targets: int, buffer_records: int) -> None:
        self._edge = edge.id
        self._channel = channel
        self._targets = targets
        self._limit = buffer_records
        self._attempt = 0
        self._timed = False
        self._sent = [0] * targets
        self._values: list[list[Any]] = [[] for _ in range(targets)]
        self._timestamps: list[list[int]] = [[] for _ in range(targets)]
        self.watermark = MIN_WATERMARK
        self.restored_watermark = MIN_WATERMARK
        """What the operator had reached when its state was restored."""
        self.full: list[Buffer] = []
        """Buffers ready to be sent; the subtask takes them from here."""
        self.records = 0

    def open(self, context: RuntimeContext) -> None:
        """Make the user's code in it ready, if there is any; ``context`` is its operator's."""

    def close(self) -> None:
        """Close the user's code in it."""

    def begin_epoch(self, epoch: int, attempt: int) -> None:
        """Start counting for a new epoch, run by this task attempt."""
        self._attempt = attempt
        self._timed = False
        # receivers know what they were told in accepted epochs; an aborted one must not leak in
        self.watermark = self.restored_watermark
        self._sent = [0] * self._targets
        for waiting in (*self._values, *self._timestamps):
            waiting.clear()
        self.full.clear()
        self.records = 0

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Spread a batch over the targets."""
        raise NotImplementedError

    def emit_watermark(self, timestamp: int) -> None:
        """Remember the watermark; it goes with the next buffer."""
        self.watermark = timestamp

    def end_epoch(self, idle: bool) -> None:
        """Send what waits, and to every target the END buffer."""
        for target in range(self._targets):
            self._flush(target)
            payload = IDLE if idle else ACTIVE
            self._append(target, BufferKind.END, self._sent[target], payload)

    def _expect(self, timestamps: list[int] | None) -> None:
        """Records with and without event times never share a buffer."""
        timed = timestamps is not None
        if timed is not self._timed:
            for target in range(self._targets):
                self._flush(target)
            self._timed = timed

    def _flush_full(self) -> None:
        limit = self._limit
        for target, values in enumerate(self._values):
            if len(values) >= limit:
                self._flush(target)

    def _flush(self, target: int) -> None:
        values = self._values[target]
        if not values:
            return
        timestamps = self._timestamps[target]
        payload = encode_records(values, timestamps if timestamps else None)
        self._append(target, BufferKind.RECORDS, len(values), payload)
        self.records += len(values)
        # cleared in place: the append methods of these lists are remembered per key
        values.clear()
        timestamps.clear()

    def _send_columns(
        self, columns: Columns, timestamps: list[int] | None, targets: Iterable[int]
    ) -> None:
        """Send a columnar batch as it is, behind what waits."""
        payload = pack(columns, timestamps)
        for target in targets:
            self._flush(target)
            self._append(target, BufferKind.ARROW, len(columns), payload)
            self.records += len(columns)

    def _append(self, target: int, kind: BufferKind, count: int, payload: bytes) -> None:
        sequence = self._sent[target]
        self._sent[target] = sequence + 1
        self.full.append(
            Buffer(
                target, self._edge, self._channel, self._attempt, sequence, kind,
                self.watermark, count, payload,
            )
        )  # fmt: skip


class KeyedExchange(ExchangeOutput):
    """Sends each record to the subtask that owns its key's key group."""

    def __init__(
        self, edge: Edge, channel: int, targets: int, buffer_records: int, max_parallelism: int
    ) -> None:
        super().__init__(edge, channel, targets, buffer_records)
        assert edge.key_batch is not None
        self._keys_of = edge.key_batch
        self.name = edge.name
        appends = [values.append for values in self._values]
        pairs = list(zip(appends, (t.append for t in self._timestamps), strict=True))

        def owner(key_group: int) -> int:
            return subtask_of(key_group, targets, max_parallelism)

        self._append_value = KeyMemo(max_parallelism, lambda group: appends[owner(group)])
        self._append_both = KeyMemo(max_parallelism, lambda group: pairs[owner(group)])

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Spread a batch by key."""
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


def keys_of_batch(keys_of: Callable[[list[Any]], list[Any]], values: list[Any]) -> list[Any]:
    """The keys of a batch."""
    try:
        return keys_of(values)
    except Exception:
        # once more, one by one: the loop's variable tells which record it was
        for value in values:
            keys_of([value])
        raise


def _hashable(key: Any) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


class ForwardExchange(ExchangeOutput):
    """Sends everything to the subtask with the same index."""

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Send the batch on."""
        if isinstance(values, Columns):
            self._send_columns(values, timestamps, [self._channel])
            return
        self._expect(timestamps)
        self._values[self._channel].extend(values)
        if timestamps is not None:
            self._timestamps[self._channel].extend(timestamps)
        self._flush_full()


class RebalanceExchange(ExchangeOutput):
    """Deals records out in turn, to all of the targets or only to ``served`` ones."""

    def __init__(
        self,
        edge: Edge,
        channel: int,
        targets: int,
        buffer_records: int,
        served: range | None = None,
    ) -> None:
        super().__init__(edge, channel, targets, buffer_records)
        self._served = range(targets) if served is None else served
        self._next = 0

    def begin_epoch(self, epoch: int, attempt: int) -> None:
        """Where to begin follows from the epoch alone, so that a repeated epoch deals alike."""
        super().begin_epoch(epoch, attempt)
        self._next = (self._channel + epoch) % len(self._served)

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Deal a batch out, a columnar one as a whole."""
        if isinstance(values, Columns):
            self._send_columns(values, timestamps, [self._served[self._next]])
            self._next = (self._next + 1) % len(self._served)
            return
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


def served_by(channel: int, producers: int, targets: int) -> range:
    """The targets that a producer deals to under `rescale`: those near it, so that with twice as
    many targets as producers each producer has two."""
    first = channel * targets // producers
    return range(first, max(first + 1, (channel + 1) * targets // producers))


class GlobalExchange(ExchangeOutput):
    """Sends everything to the first subtask."""

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Send the batch to subtask 0."""
        if isinstance(values, Columns):
            self._send_columns(values, timestamps, [0])
            return
        self._expect(timestamps)
        self._values[0].extend(values)
        if timestamps is not None:
            self._timestamps[0].extend(timestamps)
        self._flush_full()


class CustomExchange(ExchangeOutput):
    """Sends each record where the user's partitioner says."""

    def __init__(self, edge: Edge, channel: int, targets: int, buffer_records: int) -> None:
        super().__init__(edge, channel, targets, buffer_records)
        assert edge.key_batch is not None
        self._keys_of = edge.key_batch
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

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Spread a batch as the partitioner says."""
        self._expect(timestamps)
        keys = keys_of_batch(self._keys_of, values)
        for index, (key, value) in enumerate(zip(keys, values, strict=True)):
            target = self._partition(key, self._targets)
            chosen = index_of(target) if hasattr(target, "__index__") else -1
            if not 0 <= chosen < self._targets:
                raise JobExecutionError(
                    f"the partitioner sent key {key!r} to partition {target!r}; it must give a "
                    f"whole number from 0 to {self._targets - 1}"
                )
            self._values[chosen].append(value)
            if timestamps is not None:
                self._timestamps[chosen].append(timestamps[index])
        self._flush_full()


class ShuffleExchange(ExchangeOutput):
    """Sends each record to a random target; the same ones when an epoch is repeated."""

    def begin_epoch(self, epoch: int, attempt: int) -> None:
        """Start a random sequence that follows from the epoch alone."""
        super().begin_epoch(epoch, attempt)
        self._random = random.Random(epoch * 65_536 + self._channel)

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Spread a batch at random."""
        self._expect(timestamps)
        targets = self._random.choices(range(self._targets), k=len(values))
        for target, value in zip(targets, values, strict=True):
            self._values[target].append(value)
        if timestamps is not None:
            for target, timestamp in zip(targets, timestamps, strict=True):
                self._timestamps[target].append(timestamp)
        self._flush_full()


class BroadcastExchange(ExchangeOutput):
    """Sends every record to every target."""

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Send the batch to each target."""
        if isinstance(values, Columns):
            self._send_columns(values, timestamps, range(self._targets))
            return
        self._expect(timestamps)
        for target in range(self._targets):
            self._values[target].extend(values)
            if timestamps is not None:
                self._timestamps[target].extend(timestamps)
        self._flush_full()


def create_exchange(
    edge: Edge,
    channel: int,
    producers: int,
    targets: int,
    buffer_records: int,
    max_parallelism: int,
) -> ExchangeOutput:
    """The output that sends along ``edge`` from subtask ``channel`` to ``targets`` subtasks."""
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
