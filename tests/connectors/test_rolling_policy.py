"""Rolling policies."""

import pytest

from millrace.common.config.memory_size import MemorySize
from millrace.common.errors import JobDefinitionError
from millrace.common.time import Duration
from millrace.connectors.rolling_policy import PartFileInfo, RollingPolicy


def test_size_age_or_inactivity_end_a_part() -> None:
    policy = RollingPolicy.default_rolling_policy(
        MemorySize.of_mebi_bytes(1), Duration.of_seconds(10), 3000
    )
    assert policy.should_roll_on_size(PartFileInfo("", 1 << 20, 0, 0))
    assert not policy.should_roll_on_size(PartFileInfo("", (1 << 20) - 1, 0, 0))
    assert policy.roll_time(PartFileInfo("", 1, 0, 2000)) == 5000
    assert policy.roll_time(PartFileInfo("", 1, 0, 9000)) == 10_000


def test_defaults_are_those_of_flink() -> None:
    policy = RollingPolicy.default_rolling_policy()
    assert policy == RollingPolicy.default_rolling_policy(128 * 1024 * 1024, 60_000, 60_000)


def test_each_checkpoint_ends_a_part() -> None:
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    info = PartFileInfo("", 1, 0, 0)
    assert policy.should_roll_on_checkpoint(info)
    assert policy.roll_time(info) is None


def test_nothing_but_positive_limits() -> None:
    with pytest.raises(JobDefinitionError, match="must be positive"):
        RollingPolicy.default_rolling_policy(rollover_interval=0)
