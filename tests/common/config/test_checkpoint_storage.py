"""Where checkpoints are kept, as an object."""

from __future__ import annotations

import pytest

from millrace.common.config import options
from millrace.common.config.checkpoint_config import CheckpointConfig
from millrace.common.config.checkpoint_storage import FileSystemCheckpointStorage
from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError


def test_a_storage_sets_the_options_that_jobs_read() -> None:
    """The directory, and up to which size changes travel to the driver."""
    configuration = Configuration()
    checkpoints = CheckpointConfig(configuration)
    assert checkpoints.get_checkpoint_storage() is None
    checkpoints.set_checkpoint_storage(FileSystemCheckpointStorage("file:///checkpoints", 2048))
    assert configuration.get(options.CHECKPOINTING_DIR) == "file:///checkpoints"
    assert configuration.get(options.STATE_INLINE_LIMIT).get_bytes() == 2048
    checkpoints.set_checkpoint_storage_dir("/elsewhere")
    storage = checkpoints.get_checkpoint_storage()
    assert isinstance(storage, FileSystemCheckpointStorage)
    assert storage.get_checkpoint_path() == "/elsewhere"
    assert configuration.get(options.STATE_INLINE_LIMIT).get_bytes() == 2048


def test_what_it_was_not_given_is_the_default() -> None:
    """Flink's getters."""
    storage = FileSystemCheckpointStorage("/checkpoints")
    assert storage.get_min_file_size_threshold() == 1 << 20
    assert storage.get_savepoint_path() is None
    assert storage.get_write_buffer_size() == -1
    assert str(storage) == "FileSystemCheckpointStorage('/checkpoints')"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("",), "below a directory"),
        ((None,), "below a directory"),
        (("/checkpoints", (1 << 20) + 1), "from 0 to 1048576 bytes, got 1048577"),
        (("/checkpoints", -2), "got -2"),
    ],
)
def test_refusals(arguments: tuple[object, ...], message: str) -> None:
    """They say what would do."""
    with pytest.raises(ConfigurationError, match=message):
        FileSystemCheckpointStorage(*arguments)  # type: ignore[arg-type]


def test_a_directory_is_not_a_storage() -> None:
    """The error names the method that takes one."""
    with pytest.raises(ConfigurationError, match="set_checkpoint_storage_dir"):
        CheckpointConfig().set_checkpoint_storage("/checkpoints")  # type: ignore[arg-type]
