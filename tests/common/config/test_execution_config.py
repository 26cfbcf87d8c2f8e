"""Settings of a job."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common.config.configuration import Configuration
from millrace.common.config.execution_config import ExecutionConfig
from millrace.common.errors import ConfigurationError


def test_it_reads_and_writes_the_configuration() -> None:
    """There is one truth, whichever way it was set."""
    configuration = Configuration().set_string("parallelism.default", "3")
    config = ExecutionConfig(configuration)
    assert config.get_parallelism() == 3
    config.set_max_parallelism(256).set_auto_watermark_interval(50)
    config.set_global_job_parameters({"a": 1})
    assert configuration.to_dict() == {
        "parallelism.default": "3",
        "pipeline.max-parallelism": "256",
        "pipeline.auto-watermark-interval": "50 ms",
        "pipeline.global-job-parameters": "a:1",
    }
    assert config.get_global_job_parameters() == {"a": "1"}
    assert (config.get_max_parallelism(), config.get_auto_watermark_interval()) == (256, 50)


def test_special_parallelisms() -> None:
    """One resets, the other leaves it alone."""
    config = ExecutionConfig().set_parallelism(4)
    assert config.set_parallelism(ExecutionConfig.PARALLELISM_UNKNOWN).get_parallelism() == 4
    assert config.set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT).get_parallelism() == 1
    with pytest.raises(ConfigurationError, match=r"parallelism.default must be at least 1, got 0"):
        config.set_parallelism(0)


@pytest.mark.parametrize(
    ("enable", "disable", "ask", "answer"),
    [
        ("enable_closure_cleaner", "disable_closure_cleaner", "is_closure_cleaner_enabled", True),
        ("enable_object_reuse", "disable_object_reuse", "is_object_reuse_enabled", True),
        ("enable_generic_types", "disable_generic_types", "has_generic_types_disabled", False),
        (
            "enable_auto_generated_uids",
            "disable_auto_generated_uids",
            "has_auto_generated_uids_enabled",
            True,
        ),
    ],
)
def test_switches(enable: str, disable: str, ask: str, answer: bool) -> None:
    """On and off."""
    config: Any = ExecutionConfig()
    getattr(config, enable)()
    assert getattr(config, ask)() is answer
    getattr(config, disable)()
    assert getattr(config, ask)() is not answer


def test_everything_that_is_set_is_returned() -> None:
    """Also what changes nothing here."""
    config = (
        ExecutionConfig()
        .set_latency_tracking_interval(10)
        .set_task_cancellation_interval(20)
        .set_task_cancellation_timeout(30)
        .set_use_snapshot_compression(True)
    )
    assert config.get_latency_tracking_interval() == 10
    assert config.get_task_cancellation_interval() == 20
    assert config.get_task_cancellation_timeout() == 30
    assert config.is_use_snapshot_compression()


def test_configs_of_equal_settings_are_equal() -> None:
    """As two environments of one program have them."""
    one, other = ExecutionConfig(), ExecutionConfig()
    assert one == other
    assert hash(one) == hash(other)
    one.set_parallelism(2)
    assert one != other
    other.set_parallelism(2)
    assert one == other
    assert hash(one) == hash(other)
    assert one != object()
