"""Output of a subtask for an epoch, staged in the checkpoint until it is complete.

For sinks whose system has transactions, but none that can be left open while an epoch runs: the
committer writes what is staged, and which epoch it was, in one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from millrace.common.compression import compressed, decompressed
from millrace.common.sink import CommitRequest
from millrace.common.typed_json import decode_json

__all__ = ["CommittedEpochs", "StagedEpoch", "whole_epochs"]

_RUNS = 50
"""Runs whose last epochs are remembered: a checkpoint names what one run, rarely two, has left."""


class StagedEpoch(NamedTuple):
    """Output of one subtask in one epoch, as a committable.

    Attributes:
        run_id: id of the run that wrote the output.
        epoch: number of the epoch in this run.
        size: size of the packed content in bytes.
        packed: the content in MessagePack, compressed.
    """

    run_id: str
    epoch: int
    size: int
    packed: bytes

    @staticmethod
    def pack(run_id: str, epoch: int, content: Any) -> StagedEpoch:
        """Make a staged epoch from plain data (lists, texts, bytes, numbers)."""
        raw = msgspec.msgpack.encode(content)
        return StagedEpoch(run_id, epoch, len(raw), compressed(raw))

    def content(self) -> Any:
        """The content of the epoch, decompressed."""
        return msgspec.msgpack.decode(decompressed(self.packed, self.size))


class CommittedEpochs:
    """Commit mark that a transaction writes: the last committed epoch of each run of the job.

    By run, because somebody may go back to an older checkpoint, whose next epochs have old numbers
    and new records.
    """

    def __init__(self, epochs: Mapping[str, int]) -> None:
        self._epochs = dict(epochs)

    @staticmethod
    def decode(mark: bytes | None) -> CommittedEpochs:
        """Decode a mark; no epochs if the mark is None.

        Raises:
            ValueError: that is no mark.
        """
        raw = b"{}" if mark is None else mark
        try:
            return CommittedEpochs(decode_json(raw, dict[str, int]))
        except msgspec.DecodeError as error:
            raise ValueError("not a mark of committed epochs") from error

    def encode(self) -> bytes:
        """The mark of committed epochs, encoded as bytes."""
        return msgspec.json.encode(self._epochs)

    def cover(self, staged: StagedEpoch) -> bool:
        """Whether the mark covers an epoch, so that the epoch is committed."""
        return self._epochs.get(staged.run_id, -1) >= staged.epoch

    def with_epochs(self, staged: Sequence[StagedEpoch]) -> CommittedEpochs:
        """The mark with the given epochs added."""
        added = {one.run_id: one.epoch for one in staged}
        noted = [(run, epoch) for run, epoch in self._epochs.items() if run not in added]
        return CommittedEpochs(dict([*noted, *added.items()][-_RUNS:]))


def whole_epochs(
    requests: Sequence[CommitRequest[Any]], size: int
) -> Iterator[list[tuple[CommitRequest[Any], StagedEpoch]]]:
    """Requests in order, in groups of whole epochs. A group is complete when it reaches ``size``
    bytes. Epochs are never split, because a mark covers only whole epochs.
    """
    together: list[tuple[CommitRequest[Any], StagedEpoch]] = []
    total, last = 0, None
    for request in requests:
        staged = StagedEpoch(*request.committable)
        epoch = staged.run_id, staged.epoch
        if total >= size and epoch != last:
            yield together
            together, total = [], 0
        together.append((request, staged))
        total, last = total + staged.size, epoch
    if together:
        yield together
