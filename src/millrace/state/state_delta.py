"""State deltas: the changes of one epoch in a subtask's state, and the place of their bytes.

A subtask's state is the sum of its deltas in epoch order. A delta holds a *table delta* for each
table that the epoch changed, and a part of the *incremental compaction*, which copies all live
entries, a few per epoch. When a compaction that started at epoch ``low_epoch`` is complete, the
deltas before that epoch are no longer needed, and no epoch had to write the whole state at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from millrace.state.canonical.stored_state import SubtaskFiles


@dataclass(frozen=True)
class FileRef:
    """Range of bytes in a file of the checkpoint directory."""

    path: str
    """Path relative to the job's directory."""
    offset: int
    length: int
    crc: int
    """CRC-32 of the bytes."""


@dataclass(frozen=True)
class StateDelta:
    """Change of one subtask's state in one epoch."""

    epoch: int
    version: str
    """Version of the state after the delta, unique over all runs, epochs and attempts."""
    low_epoch: int
    """First epoch that a restore needs. Once this delta is live, deltas of earlier epochs are
    dead."""
    data: bytes | FileRef | SubtaskFiles
    """Payload, its place in a file, or, in a canonical savepoint, all files of the subtask."""

    def size(self) -> int:
        """Size of the payload in bytes."""
        return len(self.data) if isinstance(self.data, bytes) else self.data.length


@dataclass(frozen=True)
class StatePart:
    """Part of a subtask's state, for one subtask of another parallelism. Its two deltas are applied
    one after the other, on top of parts from other subtasks.
    """

    rows: StateDelta
    """Rows with keys. No other part has them, so the first delta of the subtask that takes them
    over follows this one, and need not repeat them."""
    rest: StateDelta
    """State without keys, and columns, which the subtask writes anew."""


def live(deltas: list[StateDelta]) -> list[StateDelta]:
    """The live deltas among ``deltas`` (in epoch order), which are the deltas that a restore
    needs."""
    low_epoch = max((delta.low_epoch for delta in deltas), default=0)
    return [delta for delta in deltas if delta.epoch >= low_epoch]
