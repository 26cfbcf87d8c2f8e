"""Reader of the shards of one subtask, with one client."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from millrace.common.source import AssignedSplit, ReaderContext, SourceReader, SplitRecords
from millrace.common.types.batch import RowBatch
from millrace.connectors.daemon_pool import DaemonPool
from millrace.connectors.kinesis.aggregation import unpacked
from millrace.connectors.kinesis.client import (
    KinesisProperties,
    code_of,
    create_client,
    explained,
    is_transient,
)
from millrace.connectors.kinesis.record_deserializer import KinesisRecord, RecordDecoder
from millrace.connectors.kinesis.shard_split import KinesisShardSplit
from millrace.connectors.wake_ups import SAFETY_MS

__all__ = ["KinesisReader"]

_AFTER_FAILURE = 1_000
"""Milliseconds until a shard is asked again that could not be read."""
_CLOCKS_DIFFER = 300_000
"""Milliseconds at most: requests that are signed later are refused."""
_REQUESTS = 4
"""Requests of a reader that may run at a time."""


class _OpenShard:
    """State of a shard that is being read.

    Args:
        position: the sequence number of the last record read; None if no record was read.
    """

    def __init__(
        self, split: KinesisShardSplit, position: str | None, decoder: RecordDecoder
    ) -> None:
        self.split = split
        self.position = position
        self.decoder = decoder
        self.fetched: deque[Mapping[str, Any]] = deque()
        """Records of the last request that no epoch has taken."""
        self.iterator: str | None = None
        """Place of the next request; the thread of a running request alone has it."""
        self.request: Future[Mapping[str, Any]] | None = None
        """Request whose answer has not been taken."""
        self.has_ended = False
        """Whether nothing is behind what was fetched: the shard was split or merged."""
        self.asked_again_at = 0
        self.behind = 0
        """Milliseconds between its newest record and the last one fetched."""
        self.paused = False


class KinesisReader(SourceReader[Any]):
    """Reads the shards in turn, each as often as its limits allow. If the loop of the subtask can
    be woken, requests run in threads, so that the loop does not wait for the answers.

    Args:
        create_decoder: makes the decoder of a shard.
        interval: ms between two requests to a shard.
        most: records of one request.
    """

    def __init__(
        self,
        properties: KinesisProperties,
        create_decoder: Callable[[str], RecordDecoder],
        interval: int,
        most: int,
        context: ReaderContext,
    ) -> None:
        self._properties = properties
        self._create_decoder = create_decoder
        self._interval = interval
        self._most = most
        self._context = context
        self._client: Any = None
        self._threads: DaemonPool | None = None
        self._open: dict[str, _OpenShard] = {}
        self._metrics = context.metrics.add_group("KinesisReader")
        self._metrics.gauge("millisBehindLatest", self._largest_lag)

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        self._client = self._client or create_client(self._properties)
        for split, position, _ in splits:
            decoder = self._create_decoder(split.split_id)
            self._open[split.split_id] = _OpenShard(split, position, decoder)

    def poll(self, max_records: int) -> Sequence[SplitRecords[Any]]:
        now = self._context.current_time()
        readable = [shard for shard in self._open.values() if not shard.paused]
        share = max(1, max_records // max(1, len(readable)))
        polled: list[SplitRecords[Any]] = []
        for shard in readable:
            if not shard.fetched and not shard.has_ended:
                self._fetch(shard, now)
            if shard.fetched:
                polled += self._read(shard, share)
            if shard.has_ended and not shard.fetched:
                del self._open[shard.split.split_id]
                polled.append(SplitRecords(shard.split.split_id, RowBatch([]), finished=True))
        return polled

    def _fetch(self, shard: _OpenShard, now: int) -> None:
        """Request the next records, if it is time, and take them, if they are there. A request
        that fails temporarily is repeated later."""
        if shard.request is None:
            if now < shard.asked_again_at:
                return
            shard.asked_again_at = now + self._interval
            shard.request = self._requested(shard)
        if not shard.request.done():
            return
        request, shard.request = shard.request, None
        try:
            answer = request.result()
        except Exception as error:  # whatever kinds the client has
            shard.iterator = None
            if code_of(error) == "ExpiredIteratorException":
                shard.asked_again_at = now
            elif is_transient(error) or _begins_later(shard, error, now):
                shard.asked_again_at = now + max(_AFTER_FAILURE, self._interval)
                self._context.logger.warning("%s: %s", shard.split.split_id, error)
            else:
                raise explained(error, shard.split.stream, "read") from error
            return
        shard.fetched.extend(answer["Records"])
        shard.iterator = answer.get("NextShardIterator")
        shard.has_ended = shard.iterator is None
        shard.behind = answer.get("MillisBehindLatest") or 0

    def _requested(self, shard: _OpenShard) -> Future[Mapping[str, Any]]:
        """A request for records: made in a thread, which wakes the loop, or else here."""
        wake_up = self._context.wake_up
        if wake_up is None:
            request: Future[Mapping[str, Any]] = Future()
            try:
                request.set_result(self._ask(shard))
            except Exception as error:  # raised where the result is taken
                request.set_exception(error)
            return request
        if self._threads is None:
            self._threads = DaemonPool(_REQUESTS, "Kinesis requests")
        request = self._threads.submit(self._ask, shard)
        request.add_done_callback(lambda _: wake_up())
        return request

    def _ask(self, shard: _OpenShard) -> Mapping[str, Any]:
        """The answer to a request for the next records."""
        if shard.iterator is None:
            shard.iterator = self._iterator(shard)
        answer: Mapping[str, Any] = self._client.get_records(
            ShardIterator=shard.iterator, Limit=self._most
        )
        return answer

    def _iterator(self, shard: _OpenShard) -> str:
        """An iterator after the position."""
        split = shard.split
        start: dict[str, Any]
        if shard.position is not None:
            start = {
                "ShardIteratorType": "AFTER_SEQUENCE_NUMBER",
                "StartingSequenceNumber": shard.position,
            }
        elif split.start is not None:
            at = split.start / 1000
            start = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": at}
        else:
            start = {"ShardIteratorType": "TRIM_HORIZON"}
        answer = self._client.get_shard_iterator(
            StreamName=split.stream, ShardId=split.shard_id, **start
        )
        return str(answer["ShardIterator"])

    def _read(self, shard: _OpenShard, most: int) -> list[SplitRecords[Any]]:
        """Take up to ``most`` of the fetched records."""
        split = shard.split
        records: list[KinesisRecord] = []
        for _ in range(min(most, len(shard.fetched))):
            raw = shard.fetched.popleft()
            number, data, key = raw["SequenceNumber"], raw["Data"], raw["PartitionKey"]
            arrival = int(raw["ApproximateArrivalTimestamp"].timestamp() * 1000)
            place = split.stream, split.shard_id, number
            inner = unpacked(data, split.hash_range)
            if inner is None:
                records.append(KinesisRecord(*place, key, arrival, data))
            else:
                records += (KinesisRecord(*place, r.partition_key, arrival, r.data) for r in inner)
            shard.position = number
        batches = shard.decoder.decode(records)
        polled = [SplitRecords(split.split_id, batch) for batch in batches]
        skipped = len(records) - sum(len(batch) for batch in batches)
        if skipped or not polled:
            polled.append(SplitRecords(split.split_id, RowBatch([]), skipped=skipped))
        return polled

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        for split_id, shard in self._open.items():
            shard.paused = split_id in pause or (shard.paused and split_id not in resume)

    def next_wakeup(self, now: int) -> int | None:
        readable = [shard for shard in self._open.values() if not shard.paused]
        if any(shard.fetched or shard.has_ended for shard in readable):
            return now
        running = [shard.request for shard in readable if shard.request is not None]
        if any(request.done() for request in running):
            return now
        times = [shard.asked_again_at for shard in readable if shard.request is None]
        if running:  # their ends wake the loop
            times.append(now + SAFETY_MS)
        return min(times, default=None)

    def snapshot_state(self) -> Mapping[str, str | None]:
        return {split_id: shard.position for split_id, shard in self._open.items()}

    def _largest_lag(self) -> int:
        return max((shard.behind for shard in self._open.values()), default=0)

    def close(self) -> None:
        if self._threads is not None:
            self._threads.close()
        if self._client is not None:
            self._client.close()


def _begins_later(shard: _OpenShard, error: Exception, now: int) -> bool:
    """Whether Kinesis refuses the start time because its own clock has not reached it: the clock
    of this machine may be ahead."""
    start = shard.split.start
    early = start is not None and shard.position is None and start > now - _CLOCKS_DIFFER
    return early and code_of(error) == "InvalidArgumentException"
