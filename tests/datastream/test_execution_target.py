"""The executor that a job gets, as far as its program decides."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from millrace.common import Configuration
from millrace.common.errors import JobDefinitionError
from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.execution_target import (
    choice_without_slots,
    local_target,
    warn_of_idle_options,
)
from millrace.engine.archived_job import read_archive
from millrace.engine.executor_choice import ExecutorChoice, ExecutorKind
from millrace.job_graph.job_graph import JobGraph
from millrace.spark.connector import SparkSink
from millrace.testing import run_local
from millrace.testing.local_executor import LocalExecutor
from millrace.testing.resident_tasks import local_resident_executor


def environment(executor: str = "auto") -> StreamExecutionEnvironment:
    configuration = Configuration({"millrace.executor": executor})
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def graph(env: StreamExecutionEnvironment) -> JobGraph:
    return env._graph()


def choice(
    env: StreamExecutionEnvironment, executor: str = "auto", **settings: str
) -> ExecutorChoice | None:
    """The executor of a job, as far as it does not depend on slots."""
    configuration = Configuration({"millrace.executor": executor, **settings})
    return choice_without_slots(graph(env), configuration)


@pytest.mark.parametrize("name", ["max-records-per-split", "min-interval", "target-duration"])
def test_a_job_that_sets_an_option_of_epochs_runs_on_them(name: str) -> None:
    """Unless the user has named resident tasks."""
    key = f"millrace.epoch.{name}"
    settings = {key: "100 ms" if "records" not in name else "50"}
    env = environment()
    env.from_collection([1]).print()
    assert str(choice(env, **settings)) == (
        f"epochs: {key} is set, which has an effect only on epochs"
    )
    assert str(choice(env, "resident", **settings)) == "resident: millrace.executor is resident"


def test_a_streaming_job_depends_on_the_slots() -> None:
    env = environment()
    env.from_collection([1]).print()
    assert choice(env) is None
    assert "executor: resident, if the Spark application has slots" in env.explain()


def test_a_batch_job_runs_on_epochs() -> None:
    env = environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.from_collection([1]).print()
    reason = "the job runs in batch mode"
    assert choice(env) == ExecutorChoice(ExecutorKind.EPOCHS, reason)
    assert env.explain().splitlines()[-1] == f"executor: epochs: {reason}"
    with pytest.raises(JobDefinitionError, match="BATCH mode"):
        choice(env, "resident")


def test_a_run_that_ends_with_what_is_there_runs_on_epochs() -> None:
    """With ``resident``, it runs on resident tasks nevertheless."""
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration({"millrace.available-now": "true"})
    )
    env.from_collection([1]).print()
    assert str(choice(env)) == "epochs: the run reads what is there and ends"
    chosen = choice(env, "resident")
    assert chosen is not None
    assert chosen.kind is ExecutorKind.RESIDENT


def test_a_sink_that_runs_spark_jobs_runs_on_epochs_unless_the_user_says_otherwise() -> None:
    env = environment()
    env.from_collection([1]).sink_to(SparkSink(lambda frame, checkpoint: None)).name("lake")
    assert str(choice(env)) == "epochs: the sink 'lake' runs Spark jobs"
    chosen = choice(env, "resident")
    assert chosen is not None
    assert str(chosen) == "resident: millrace.executor is resident"


def test_without_spark_the_launcher_decides() -> None:
    assert local_target(LocalExecutor()).choice.kind is ExecutorKind.EPOCHS
    resident = local_resident_executor()
    try:
        assert local_target(resident).choice.kind is ExecutorKind.RESIDENT
    finally:
        resident.close()


def test_the_job_tells_its_executor_in_its_directory(tmp_path: Path) -> None:
    with run_local():
        env = environment()
        env.enable_checkpointing(10).get_checkpoint_config().set_checkpoint_storage_dir(
            str(tmp_path)
        )
        env.from_collection([1]).print()
        env.execute("told")
    (details,) = tmp_path.rglob("details.json")
    archive = read_archive(details.parent)
    assert archive is not None
    assert archive.executor == "epochs"
    assert "without Spark" in archive.executor_reason


@pytest.mark.parametrize(
    ("kind", "warned", "silent"),
    [
        (ExecutorKind.RESIDENT, "millrace.epoch.min-interval", "barrier-interval"),
        (ExecutorKind.EPOCHS, "millrace.resident.barrier-interval", "min-interval"),
    ],
)
def test_options_of_the_other_executor_are_named(
    kind: ExecutorKind, warned: str, silent: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {
        "millrace.epoch.min-interval": "1 s",
        "millrace.epoch.timeout": "1 min",
        "millrace.resident.barrier-interval": "20 ms",
    }
    with caplog.at_level(logging.WARNING):
        warn_of_idle_options(Configuration(settings), kind)
    (message,) = caplog.messages
    assert message.startswith(f"{warned} has no effect")
    assert silent not in message
    caplog.clear()
    warn_of_idle_options(Configuration({"millrace.epoch.timeout": "1 min"}), kind)
    assert not caplog.messages, "it has a meaning on both"
