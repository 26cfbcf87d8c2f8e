"""A pinned checkpoint: it is being read, so retention does not delete its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType

from millrace.state.checkpoint.delta_file import SubtaskKey
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.state_delta import StateDelta

__all__ = ["Pin"]


class Pin:
    """Keeps the files of one checkpoint from being deleted; a context manager, too.

    Taken with `CheckpointStorage.pin`. It may be read and released in any thread; what it held is
    deleted with one of the next checkpoints. After a crash it holds nothing.
    """

    def __init__(
        self,
        manifest: Manifest,
        deltas: Mapping[SubtaskKey, list[StateDelta]],
        release: Callable[[], None],
    ) -> None:
        self.manifest = manifest
        self.deltas = deltas
        """The live deltas of every subtask that has any, in epoch order."""
        self._release = release

    def release(self) -> None:
        """The files are no longer needed. Repeating it does nothing."""
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
