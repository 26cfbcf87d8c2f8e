"""Pinned checkpoint: retention does not delete its files while they are being read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType

from millrace.state.checkpoint.delta_file import SubtaskKey
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.state_delta import StateDelta

__all__ = ["Pin"]


class Pin:
    """Protects the files of one checkpoint from deletion. Also a context manager.

    Taken with `CheckpointStorage.pin`. It may be read and released in any thread. After its
    release, one of the next checkpoints deletes the files. After a crash, the pin no longer
    protects them.
    """

    def __init__(
        self,
        manifest: Manifest,
        deltas: Mapping[SubtaskKey, list[StateDelta]],
        release: Callable[[], None],
    ) -> None:
        self.manifest = manifest
        self.deltas = deltas
        """Live deltas of every subtask that has any, in epoch order."""
        self._release = release

    def release(self) -> None:
        """Give up the protection of the files. Repeated calls do nothing."""
        self._release()

    def __enter__(self) -> Pin:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()
