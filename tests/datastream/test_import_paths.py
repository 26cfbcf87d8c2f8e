"""Names are found at PyFlink's module paths too, and are the same objects."""

from __future__ import annotations

from importlib import import_module

import pytest

from millrace.datastream import ProcessWindowFunction, TimeWindow
from millrace.datastream.functions import ProcessAllWindowFunction

PATHS = {
    "millrace.common.job_execution_result": "JobExecutionResult",
    "millrace.common.job_id": "JobID",
    "millrace.common.job_status": "JobStatus",
    "millrace.datastream.async_retry_strategies": "FixedDelayRetryStrategy",
    "millrace.datastream.checkpoint_config": "CheckpointConfig",
    "millrace.datastream.checkpointing_mode": "CheckpointingMode",
    "millrace.datastream.execution_mode": "RuntimeExecutionMode",
    "millrace.datastream.externalized_checkpoint_retention": "ExternalizedCheckpointRetention",
    "millrace.datastream.functions": "KeyedStateStore",
    "millrace.datastream.state": "MergingState",
    "millrace.datastream.time_domain": "TimeDomain",
    "millrace.datastream.timerservice": "TimerService",
}


@pytest.mark.parametrize(("path", "name"), PATHS.items())
def test_a_name_is_found_at_its_path(path: str, name: str) -> None:
    found = getattr(import_module(path), name)
    assert found.__name__ == name
    assert getattr(import_module(found.__module__), name) is found


@pytest.mark.parametrize("function", [ProcessWindowFunction, ProcessAllWindowFunction])
def test_contexts_name_their_window(function: type[ProcessWindowFunction]) -> None:
    """As in all of PyFlink's examples with windows."""
    assert function.Context[TimeWindow].__args__ == (TimeWindow,)
