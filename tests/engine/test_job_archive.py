"""What other processes see of a job, while it runs and when it has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.common import Configuration
from millrace.common.completable_future import CompletableFuture
from millrace.common.config.restart_strategy import (
    FallbackRestartStrategy,
    RestartStrategies,
    RestartStrategyConfiguration,
)
from millrace.common.errors import JobExecutionError
from millrace.common.job import JobStatus
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.archived_job import ARCHIVE, RestartSettings, read_archive
from millrace.engine.executor import ExecutorError
from millrace.engine.job_details import JobDetails, RescaleStatus
from millrace.runtime.program import Program
from millrace.testing import run_local
from millrace.testing.local_executor import LocalExecutor


def archive_of(directory: Path):
    (job_dir,) = directory.iterdir()
    assert (job_dir / ARCHIVE).stat().st_mode & 0o777 == 0o600
    archive = read_archive(job_dir)
    assert archive is not None
    return archive


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(
        Configuration({"my.password": "sesame", "my.colour": "red"})
    )


def test_the_graph_and_the_end_of_a_job(tmp_path: Path) -> None:
    with run_local(checkpoint_dir=str(tmp_path)):
        env = environment()
        env.from_collection(["a", "b", "a"]).map(lambda word: (word, 1)).key_by(0).sum(1).print()
        env.execute("count")
    archive = archive_of(tmp_path)
    source, count = archive.stages
    assert not source.inputs
    assert [(i.stage, i.exchange) for i in count.inputs] == [(source.uid, "KEYED")]
    details = archive.details
    assert (details.job_name, details.status, details.records) == ("count", JobStatus.FINISHED, 3)
    assert sum(stage.records_in for stage in details.stages) == 6
    assert archive.settings["my.password"] == "******"
    assert archive.settings["my.colour"] == "red"


def test_what_operators_and_checkpoints_did(tmp_path: Path) -> None:
    with run_local(checkpoint_dir=str(tmp_path)):
        env = environment()
        env.set_parallelism(1)
        words = env.from_collection(["a", "b", "a"]).flat_map(lambda word: [word, word.upper()])
        words.name("both")
        words.filter(str.islower).name("lower").key_by(str).map(lambda word: (word, 1)).print()
        counts = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
        counts.print()
        env.execute("count")
    archive = archive_of(tmp_path)
    figures = {
        stage.operators[uid]: tuple(operator)[:2]
        for stage in archive.details.stages
        for subtask in stage.subtasks
        for uid, operator in zip(stage.operators, subtask.operators, strict=True)
    }
    assert (figures["both"], figures["lower"]) == ((3, 6), (6, 3))
    source, *others = archive.details.stages
    (reading,) = source.subtasks
    assert reading.bytes_out == sum(stage.subtasks[0].bytes_in for stage in others) > 0
    assert reading.busy_ms_per_second > 0
    newest = archive.details.checkpoints.recent[0]
    assert newest.full_size >= newest.size > 0
    assert newest.full_size == sum(size.full for size in newest.stages.values())
    assert newest.stages.keys() == {stage.uid for stage in archive.details.stages}
    assert newest.path.endswith(f"/chk-{newest.number}")
    assert 0 < newest.written_ms <= newest.duration
    assert archive.details.state_bytes == newest.full_size


def test_a_failure_is_kept(tmp_path: Path) -> None:
    with run_local(checkpoint_dir=str(tmp_path)):
        env = environment()
        env.from_collection([1]).map(lambda value: value / 0).print()
        with pytest.raises(JobExecutionError):
            env.execute("fails")
    details = archive_of(tmp_path).details
    assert details.status is JobStatus.FAILED
    assert details.exceptions[0].fatal
    assert "ZeroDivisionError" in details.exceptions[0].cause


@pytest.mark.parametrize(
    "strategy",
    [
        RestartStrategies.no_restart(),
        FallbackRestartStrategy(),
        RestartStrategies.fixed_delay_restart(3, 500),
        RestartStrategies.failure_rate_restart(3, 500, 7),
        RestartStrategies.exponential_delay_restart(10, 500, 1.5, 7, 0.1),
    ],
    ids=lambda strategy: type(strategy).__name__,
)
def test_a_restart_strategy_survives(strategy: RestartStrategyConfiguration) -> None:
    assert RestartSettings.of(strategy).strategy() == strategy


def test_an_unknown_strategy_is_the_default() -> None:
    assert RestartSettings("Path").strategy() == FallbackRestartStrategy()
    assert RestartSettings("Later").strategy() == FallbackRestartStrategy()


def test_nonsense_is_no_archive(tmp_path: Path) -> None:
    assert read_archive(tmp_path) is None
    for content in (b"", b"{", b'{"run_id": 7}', b"[" * 10_000):
        (tmp_path / ARCHIVE).write_bytes(content)
        assert read_archive(tmp_path) is None


def test_latencies_of_a_job(tmp_path: Path) -> None:
    with run_local(checkpoint_dir=str(tmp_path)):
        configuration = Configuration({"metrics.latency.interval": "1 ms"})
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.from_collection(["a", "b"]).key_by(str).map(str.upper).print()
        env.execute("shout")
    details = archive_of(tmp_path).details
    source, target = details.stages
    found = {(one.source, one.stage): one for one in details.latencies}
    assert found.keys() == {(source.uid, source.uid), (source.uid, target.uid)}
    assert found[source.uid, target.uid].quantiles[0.99] >= 0


@pytest.mark.parametrize("end", ["FINISHED", "CANCELED", "SUSPENDED", "FAILED"])
def test_a_rescaling_that_the_end_of_the_job_overtakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """It is not left in progress for ever, and nothing was wrong with it."""
    monkeypatch.setattr(LocalExecutor, "prepare", lambda executor, program: CompletableFuture())
    asked: list[CompletableFuture[None]] = []

    def look(number: int) -> int:
        if end == "FAILED" and number == 15:
            raise ValueError("no luck")
        return number

    with run_local(checkpoint_dir=str(tmp_path), epoch_records=1) as cluster:
        env = environment()
        env.from_collection(range(20)).map(look).print()
        client = env.build_client("overtaken")

        def act(details: JobDetails) -> None:
            if details.epochs == 2:
                asked.append(client.rescale(3))
            elif details.epochs == 5:
                {"CANCELED": client.cancel, "SUSPENDED": client.stop}.get(end, lambda: None)()

        cluster.listeners.append(act)
        client.run()
    details = archive_of(tmp_path).details
    assert details.status is JobStatus[end]
    (rescaling,) = details.rescales
    (answer,) = asked
    assert rescaling.status is RescaleStatus.IGNORED
    assert rescaling.failure == str(answer.exception(0))
    assert rescaling.failure.startswith("the job has ended before it could change its parallelism")
    assert rescaling.ended is not None


def test_a_rescaling_that_the_job_fails_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asked for it hears why."""
    deploy, asked = LocalExecutor.deploy, list[CompletableFuture[None]]()

    def refuse(executor: LocalExecutor, program: Program) -> None:
        if asked:
            raise ExecutorError("Spark does not run")
        deploy(executor, program)

    monkeypatch.setattr(LocalExecutor, "deploy", refuse)
    with run_local(checkpoint_dir=str(tmp_path), epoch_records=1) as cluster:
        env = environment()
        env.from_collection(range(20)).map(str).print()
        client = env.build_client("refused")

        def act(details: JobDetails) -> None:
            if details.epochs == 2:
                asked.append(client.rescale(3))

        cluster.listeners.append(act)
        client.run()
    details = archive_of(tmp_path).details
    assert details.status is JobStatus.FAILED
    (rescaling,) = details.rescales
    assert rescaling.status is RescaleStatus.FAILED
    assert rescaling.failure == "the job could not be rescaled: Spark does not run"
    with pytest.raises(JobExecutionError, match="could not be rescaled: Spark does not run"):
        asked[0].result(0)
