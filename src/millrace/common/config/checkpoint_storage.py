"""Storage of checkpoints as an object (Flink docs, "Checkpoints": Checkpoint Storage)."""

from __future__ import annotations

from typing import ClassVar

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.config.memory_size import MemorySize
from millrace.common.errors import ConfigurationError

__all__ = ["FileSystemCheckpointStorage"]


class FileSystemCheckpointStorage:
    """Checkpoints as files below a directory: the same as the option
    ``execution.checkpointing.dir``.

    Args:
        checkpoint_path: the directory, a path or a URI.
        file_state_size_threshold: changes of state of a subtask up to so many bytes travel to the
            driver, which writes them together; larger ones become a file of their own. None or -1:
            the option ``millrace.state.inline-limit``.
        write_buffer_size: kept and returned only; a file is written in one piece.

    Raises:
        ConfigurationError: no path, or a threshold beyond 1 MiB.

    Example:
        >>> from millrace.common.config.checkpoint_config import CheckpointConfig
        >>> storage = FileSystemCheckpointStorage("file:///var/checkpoints")
        >>> CheckpointConfig().set_checkpoint_storage(storage).get_checkpoint_storage_dir()
        'file:///var/checkpoints'
    """

    MAX_FILE_STATE_THRESHOLD: ClassVar[int] = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        if not isinstance(checkpoint_path, str) or not checkpoint_path:
            raise ConfigurationError(
                f"checkpoints are kept below a directory, a path or a URI; got {checkpoint_path!r}"
            )
        threshold = -1 if file_state_size_threshold is None else file_state_size_threshold
        if not -1 <= threshold <= self.MAX_FILE_STATE_THRESHOLD:
            raise ConfigurationError(
                "the threshold for files of state is -1 (the option millrace.state.inline-limit) "
                f"or from 0 to {self.MAX_FILE_STATE_THRESHOLD} bytes, got {threshold}"
            )
        self._checkpoint_path = checkpoint_path
        self._threshold = threshold
        self._write_buffer_size = write_buffer_size

    def configure(self, configuration: Configuration) -> None:
        """Set the equivalent options in a configuration."""
        configuration.set(options.CHECKPOINTING_DIR, self._checkpoint_path)
        if self._threshold != -1:
            configuration.set(options.STATE_INLINE_LIMIT, MemorySize(self._threshold))

    def get_checkpoint_path(self) -> str:
        """The directory of checkpoints."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """Always None, because the environment or the request names the directory of savepoints."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Size in bytes up to which changes of state share a file."""
        if self._threshold == -1:
            return Configuration().get(options.STATE_INLINE_LIMIT).get_bytes()
        return self._threshold

    def get_write_buffer_size(self) -> int:
        """The configured size of the write buffer in bytes; -1 if none is configured."""
        return self._write_buffer_size

    def __str__(self) -> str:
        return f"FileSystemCheckpointStorage({self._checkpoint_path!r})"
