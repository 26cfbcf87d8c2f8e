"""Layers: what a subtask hands over at the end of an epoch, and where the bytes are.

A subtask's state is the sum of its layers in epoch order. A layer holds the epoch's delta and,
piece by piece, a rolling copy of everything (a *pass*), so that old layers die without any epoch
having to write the whole state: when a pass that began at epoch ``floor`` is complete, the layers
before ``floor`` are no longer needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from millrace.state.canonical.stored_state import SubtaskFiles


@dataclass(frozen=True)
class FileRef:
    """Bytes in a file of the checkpoint directory."""

    path: str
    """Relative to the job's directory."""
    offset: int
    length: int
    crc: int
    """CRC-32 of the bytes."""


@dataclass(frozen=True)
class Layer:
    """The change of one subtask's state in one epoch."""

    epoch: int
    version: str
    """The attempt that made it: unique over all runs, epochs, tries and task attempts."""
    floor: int
    """Layers of this subtask before this epoch number are dead once this layer counts."""
    data: bytes | FileRef | SubtaskFiles
    """Of a canonical savepoint: all files of the subtask."""

    def size(self) -> int:
        """Bytes of the payload."""
        return len(self.data) if isinstance(self.data, bytes) else self.data.length


def live(layers: list[Layer]) -> list[Layer]:
    """Those of ``layers`` (in epoch order) that a restore needs."""
    floor = max((layer.floor for layer in layers), default=0)
    return [layer for layer in layers if layer.epoch >= floor]
