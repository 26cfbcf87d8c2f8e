from __future__ import annotations

import os
import signal

import pytest

from millrace.common import RestartStrategies
from millrace.common.job import JobStatus
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local


def test_ctrl_c_inside_of_a_function_interrupts_the_program(tmp_path, capsys) -> None:
    """It was a failed job, which a restart strategy began again."""

    def interrupted(value: int) -> int:
        if value == 7:
            signal.raise_signal(signal.SIGINT)
        return value

    def client(function, **settings):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
        env.enable_checkpointing(0)
        env.from_collection(range(20)).map(function).print()
        return env.build_client("job")

    with run_local(checkpoint_dir=tmp_path, epoch_records=5):
        job = client(interrupted)
        job.run()
        with pytest.raises(KeyboardInterrupt):
            job.result()
    assert job.get_job_status().result() is JobStatus.SUSPENDED
    assert job.progress().exceptions == ()
    assert job.progress().restarts == 0
    assert capsys.readouterr().out.split() == list("01234")
    with run_local(checkpoint_dir=tmp_path, epoch_records=5, resume=True):
        job = client(abs)
        job.run()
        job.result()
    assert capsys.readouterr().out.split() == [str(value) for value in range(5, 20)]


def test_a_job_without_archives_leaves_the_working_directory_alone(monkeypatch) -> None:
    """It is that of the whole process; other threads may change it meanwhile, or it may be gone."""
    monkeypatch.setattr(os, "chdir", lambda path: pytest.fail(f"changed to {path}"))
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        assert list(env.from_collection([1]).execute_and_collect()) == [1]
