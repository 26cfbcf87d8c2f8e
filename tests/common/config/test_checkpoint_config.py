"""Settings of checkpoints."""

from __future__ import annotations

import pytest

from millrace.common.config.checkpoint_config import (
    CheckpointConfig,
    CheckpointingMode,
    ExternalizedCheckpointRetention,
)
from millrace.common.config.configuration import Configuration
from millrace.common.config.options import CHECKPOINTING_MODE
from millrace.common.errors import ConfigurationError
from millrace.common.time import Duration


def test_defaults() -> None:
    """Off, exactly once, kept on cancellation."""
    config = CheckpointConfig()
    assert not config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == -1
    assert config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert config.is_fail_on_checkpointing_errors()
    retention = config.get_externalized_checkpoint_retention()
    assert retention is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION


def test_it_reads_and_writes_the_configuration() -> None:
    """There is one truth, whichever way it was set."""
    configuration = Configuration().set_string("execution.checkpointing.interval", "3 s")
    config = CheckpointConfig(configuration)
    assert config.get_checkpoint_interval() == 3_000
    config.set_checkpoint_interval(5_000)
    config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    config.set_tolerable_checkpoint_failure_number(2)
    assert configuration.to_dict() == {
        "execution.checkpointing.interval": "5 s",
        "execution.checkpointing.mode": "AT_LEAST_ONCE",
        "execution.checkpointing.tolerable-failed-checkpoints": "2",
    }
    assert config.get_tolerable_checkpoint_failure_number() == 2


def test_configuration_knows_every_mode() -> None:
    """The option's words are the enumeration's names."""
    assert set(CHECKPOINTING_MODE.choices) == {mode.name for mode in CheckpointingMode}


def test_failing_on_errors_is_a_number_of_tolerated_ones() -> None:
    """Flink's older setting."""
    config = CheckpointConfig().set_fail_on_checkpointing_errors(False)
    assert not config.is_fail_on_checkpointing_errors()
    assert config.get_tolerable_checkpoint_failure_number() > 10**9
    assert config.set_fail_on_checkpointing_errors(True).is_fail_on_checkpointing_errors()


def test_everything_that_is_set_is_returned() -> None:
    """Also what changes nothing here."""
    config = (
        CheckpointConfig()
        .set_checkpoint_timeout(20_000)
        .set_min_pause_between_checkpoints(100)
        .set_max_concurrent_checkpoints(2)
        .enable_unaligned_checkpoints()
        .set_force_unaligned_checkpoints()
        .set_alignment_timeout(Duration.of_seconds(7))
    )
    assert config.get_checkpoint_timeout() == 20_000
    assert config.get_min_pause_between_checkpoints() == 100
    assert config.get_max_concurrent_checkpoints() == 2
    assert config.is_unaligned_checkpoints_enabled()
    assert config.is_force_unaligned_checkpoints()
    assert config.get_aligned_checkpoint_timeout() == Duration.of_seconds(7)
    assert config.get_alignment_timeout() == Duration.of_seconds(7)
    assert not config.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()


@pytest.mark.parametrize("retention", ExternalizedCheckpointRetention)
def test_retention(retention: ExternalizedCheckpointRetention) -> None:
    """Enabled in both cases that keep checkpoints at all."""
    config = CheckpointConfig().set_externalized_checkpoint_retention(retention)
    assert config.get_externalized_checkpoint_retention() is retention
    enabled = retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
    assert config.is_externalized_checkpoints_enabled() is enabled


def test_wrong_values_are_refused() -> None:
    """By name."""
    with pytest.raises(ConfigurationError, match="checkpoint_interval must be at least 0, got -1"):
        CheckpointConfig().set_checkpoint_interval(-1)
    with pytest.raises(ConfigurationError, match="max_concurrent_checkpoints"):
        CheckpointConfig().set_max_concurrent_checkpoints(0)
