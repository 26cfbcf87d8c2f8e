"""Identity, status and result of a job."""

from __future__ import annotations

import pickle

import pytest

from millrace.common.config.execution_mode import RuntimeExecutionMode
from millrace.common.config.options import RUNTIME_MODE
from millrace.common.job import JobExecutionResult, JobID, JobStatus


def test_job_ids() -> None:
    """New ones differ, named ones stay the same."""
    assert JobID.generate() != JobID.generate()
    assert JobID.from_name("a") == JobID.from_name("a") != JobID.from_name("b")
    job_id = JobID.generate()
    assert JobID(str(job_id)) == job_id
    assert pickle.loads(pickle.dumps(job_id)) == job_id


@pytest.mark.parametrize("text", ["", "abc", "g" * 32, "A" * 32, "../../" + "a" * 26])
def test_other_texts_are_no_job_ids(text: str) -> None:
    """They name directories, so only digits will do."""
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        JobID(text)


def test_terminal_states() -> None:
    """A suspended job is over here, but not for good."""
    globally = {status.name for status in JobStatus if status.is_globally_terminal_state()}
    here = {status.name for status in JobStatus if status.is_terminal_state()}
    assert globally == {"FAILED", "CANCELED", "FINISHED"}
    assert here == globally | {"SUSPENDED"}


def test_result() -> None:
    """With accumulators and without."""
    result = JobExecutionResult(JobID.from_name("a"), 1_500, {"n": 3})
    assert result.get_job_id() == JobID.from_name("a")
    assert result.get_net_runtime() == 1_500
    assert result.get_accumulator_result("n") == 3
    assert result.get_accumulator_result("m") is None
    assert result.get_all_accumulator_results() == {"n": 3}


def test_configuration_knows_every_execution_mode() -> None:
    """The option's words are the enumeration's names."""
    assert set(RUNTIME_MODE.choices) == {mode.name for mode in RuntimeExecutionMode}
