"""What becomes of a job's checkpoints when it ends (Flink docs, "Checkpoints", retained ones)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from millrace.common import Configuration
from millrace.common.config.checkpoint_config import ExternalizedCheckpointRetention as Retention
from millrace.common.errors import JobCancelledError, JobExecutionError, UserFunctionError
from millrace.common.sink import CommitMode, CommitRequest, Committer, Sink, SinkWriter
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine import sink_commits
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.testing import run_local

KEEP, ON_CANCEL, NONE = (
    Retention.RETAIN_ON_CANCELLATION,
    Retention.DELETE_ON_CANCELLATION,
    Retention.NO_EXTERNALIZED_CHECKPOINTS,
)
Act = Callable[[EmbeddedJobClient], object]


def run(
    directory: Path,
    retention: Retention,
    act: Act = lambda client: None,
    *,
    fail: bool = False,
    resume: bool = False,
) -> EmbeddedJobClient:
    """Run a job with checkpoints after each epoch; ``act`` is done after the third."""
    settings = {"execution.checkpointing.savepoint-dir": str(directory / "savepoints")}
    with run_local(epoch_records=2, checkpoint_dir=directory / "ck", resume=resume) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
        env.enable_checkpointing(0)
        env.get_checkpoint_config().set_externalized_checkpoint_retention(retention)
        numbers = env.from_collection(range(20))
        checked = numbers.map(lambda n: 1 // (n - 15)) if fail else numbers
        checked.key_by(lambda n: n % 3).sum().print()
        client = env.build_client("job")
        cluster.listeners.append(lambda p: act(client) if p.epochs == 3 else None)
        client.run()
    return client


def checkpoints(directory: Path) -> list[str]:
    return sorted(path.parent.name for path in directory.glob("ck/*/chk-*/_metadata"))


def files(directory: Path) -> list[Path]:
    """Everything below the checkpoint directory that belongs to checkpoints."""
    return [
        path for path in directory.glob("ck/*/*/*") if path.parent.name.startswith(("chk", "s"))
    ]


def ended(client: EmbeddedJobClient, error: type[BaseException] | None) -> None:
    if error is None:
        client.result()
        return
    with pytest.raises(error):
        client.result()


@pytest.mark.parametrize(("retention", "kept"), [(KEEP, True), (ON_CANCEL, False), (NONE, False)])
def test_cancelled(tmp_path: Path, retention: Retention, kept: bool) -> None:
    """Deleted means: with all files, and nobody is told to resume from it."""
    client = run(tmp_path, retention, lambda client: client.cancel())
    ended(client, JobCancelledError)
    assert bool(checkpoints(tmp_path)) == bool(files(tmp_path)) == kept
    assert (client.progress().checkpoint is not None) == kept


@pytest.mark.parametrize(("retention", "kept"), [(KEEP, True), (ON_CANCEL, True), (NONE, False)])
def test_failed(tmp_path: Path, retention: Retention, kept: bool) -> None:
    """A job that failed may be mended and resumed."""
    ended(run(tmp_path, retention, fail=True), UserFunctionError)
    assert bool(checkpoints(tmp_path)) == bool(files(tmp_path)) == kept


@pytest.mark.parametrize(("retention", "kept"), [(KEEP, True), (ON_CANCEL, True), (NONE, False)])
def test_finished(tmp_path: Path, retention: Retention, kept: bool) -> None:
    """What is kept says that there is nothing left to do."""
    ended(run(tmp_path, retention), None)
    assert bool(checkpoints(tmp_path)) == bool(files(tmp_path)) == kept


@pytest.mark.parametrize("retention", Retention)
def test_stopped(tmp_path: Path, retention: Retention) -> None:
    """To be resumed, so the checkpoint stays in any case."""
    ended(run(tmp_path, retention, lambda client: client.stop()), JobCancelledError)
    assert checkpoints(tmp_path)
    ended(run(tmp_path, KEEP, resume=True), None)


@pytest.mark.parametrize("retention", Retention)
def test_killed(tmp_path: Path, retention: Retention) -> None:
    """An interrupt, or whatever else is no decision about the job."""

    def kill(client: EmbeddedJobClient) -> None:
        raise KeyboardInterrupt

    ended(run(tmp_path, retention, kill), KeyboardInterrupt)
    assert checkpoints(tmp_path)


def test_savepoints_stay(tmp_path: Path) -> None:
    """They are the user's."""
    paths: list[str] = []

    def cancel(client: EmbeddedJobClient) -> None:
        future = client.cancel_with_savepoint()
        future.add_done_callback(lambda done: paths.append(done.result()))

    ended(run(tmp_path, NONE, cancel), JobCancelledError)
    assert files(tmp_path) == []
    assert open_snapshot(paths[0]).deltas.live()


def test_a_run_that_failed_to_start(tmp_path: Path) -> None:
    """It has not decided about the checkpoints of those before it."""
    ended(run(tmp_path, KEEP, lambda client: client.stop()), JobCancelledError)
    before = files(tmp_path)
    settings = Configuration({"millrace.checkpoint.resume-from": "99"})
    with run_local(checkpoint_dir=tmp_path / "ck", resume=True):
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        env.get_checkpoint_config().set_externalized_checkpoint_retention(NONE)
        env.from_collection(range(20)).key_by(lambda n: n % 3).sum().print()
        client = env.build_client("job")
        client.run()
    with pytest.raises(Exception, match="99"):
        client.result()
    assert files(tmp_path) == before


def test_what_a_run_did_not_go_on_from_stays(tmp_path: Path) -> None:
    """A new start does not decide about what was before, either."""
    ended(run(tmp_path, KEEP, lambda client: client.stop()), JobCancelledError)
    before = checkpoints(tmp_path)[-1]
    ended(run(tmp_path, ON_CANCEL, lambda client: client.cancel()), JobCancelledError)
    assert checkpoints(tmp_path) == [before]
    ended(run(tmp_path, KEEP, resume=True), None)


class Refusing(Sink[int], SinkWriter[int], Committer):
    """A sink whose committables can never be committed."""

    def __init__(self, mode: CommitMode) -> None:
        self._mode = mode

    @property
    def commit_mode(self) -> CommitMode:
        return self._mode

    def create_writer(self, context: object, state: object) -> SinkWriter[int]:
        return self

    def create_committer(self, context: object) -> Committer:
        return self

    def write(self, batch: object) -> None:
        pass

    def prepare_commit(self, flush: bool) -> list[str]:
        return ["transaction 7"]

    def commit(self, requests: Sequence[CommitRequest[str]]) -> None:
        raise OSError("the broker is gone")


@pytest.mark.parametrize("mode", CommitMode)
def test_what_could_not_be_committed_is_kept(tmp_path: Path, mode: CommitMode) -> None:
    """The error says that the job can be resumed to commit the rest; the checkpoint was deleted.
    The committer's own error is told wherever it runs."""
    settings = Configuration({"sink.committer.retries": "1"})
    with run_local(checkpoint_dir=tmp_path / "ck"):
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        env.enable_checkpointing(0)
        env.get_checkpoint_config().set_externalized_checkpoint_retention(NONE)
        env.from_collection(range(20)).sink_to(Refusing(mode))
        client = env.build_client("job")
        client.run()
    with pytest.raises(JobExecutionError, match=r"in 2 tries: .*the broker is gone.*resume"):
        client.result()
    assert checkpoints(tmp_path)
    assert client.progress().checkpoint is not None


@pytest.mark.parametrize("mode", [CommitMode.IN_BACKGROUND, CommitMode.IN_SUBTASK])
@pytest.mark.parametrize("retention", [ON_CANCEL, NONE])
def test_what_waits_to_be_committed_when_the_job_is_cancelled_is_kept(
    tmp_path: Path, retention: Retention, mode: CommitMode, caplog: pytest.LogCaptureFixture
) -> None:
    """The checkpoint is the only one that names it, and it was deleted."""
    with run_local(checkpoint_dir=tmp_path / "ck", epoch_records=2) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(0)
        env.get_checkpoint_config().set_externalized_checkpoint_retention(retention)
        env.from_collection(range(20)).sink_to(Refusing(mode))
        client = env.build_client("job")
        cluster.listeners.append(lambda p: client.cancel() if p.epochs == 3 else None)
        client.run()
    ended(client, JobCancelledError)
    newest = checkpoints(tmp_path)[-1]
    [directory] = (tmp_path / "ck").iterdir()
    pending = open_snapshot(directory / newest, trusted=True).manifest.pending
    assert any(pending.values())
    assert "resume the job to commit them" in caplog.text


def test_a_job_that_fails_does_not_wait_for_what_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_commits, "backoff", lambda tries: 300.0)
    started = time.monotonic()
    with run_local(checkpoint_dir=tmp_path / "ck", epoch_records=2):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(0)
        numbers = env.from_collection(range(20))
        numbers.map(lambda n: 1 // (n - 15)).sink_to(Refusing(CommitMode.IN_BACKGROUND))
        client = env.build_client("job")
        client.run()
    ended(client, UserFunctionError)
    assert time.monotonic() - started < 200
    assert checkpoints(tmp_path)
