"""Savepoints: made while a job runs or as it ends, and what can be gone on from."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import (
    CheckpointCorruptError,
    CheckpointError,
    JobCancelledError,
    JobDefinitionError,
    JobExecutionError,
    UserFunctionError,
)
from millrace.common.job import JobStatus
from millrace.common.savepoint_format_type import SavepointFormatType
from millrace.common.serialization import Encoder
from millrace.connectors.file_sink import FileSink
from millrace.connectors.part_file import PartCommittable
from millrace.connectors.rolling_policy import RollingPolicy
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.engine.executor import EpochHooks
from millrace.engine.job_identity import job_id_of
from millrace.runtime.epoch import Ack, EpochPlan
from millrace.state.checkpoint.snapshot import Snapshot, open_snapshot, read_snapshot_manifest
from millrace.state.serialization.payload import encode
from millrace.testing import LocalExecutor, MiniJob, run_local

Build = Callable[[StreamExecutionEnvironment], Any]
Act = Callable[[EmbeddedJobClient], Any]


def running(env: StreamExecutionEnvironment) -> Any:
    numbers = env.from_collection(range(40)).uid("numbers")
    return numbers.key_by(lambda n: n % 5).sum().uid("sums")


WHOLE = Counter(sum(range(n % 5, n + 1, 5)) for n in range(40))


@dataclass
class Job:
    """Runs of jobs below one directory."""

    directory: Path
    clients: list[EmbeddedJobClient] = field(default_factory=list)

    def run(
        self, build: Build = running, act: Act | None = None, *, at: int = 3, parallelism: int = 2,
        start_from: str | None = None, checkpoints: str | None = None, resume: bool = False,
        **settings: Any,
    ) -> list[Any]:  # fmt: skip
        """What a run gave; ``act`` is done after its epoch number ``at``."""
        configuration = Configuration()
        configuration.set(options.SAVEPOINT_DIR, str(self.directory / "savepoints"))
        if start_from is not None:
            configuration.set(options.START_FROM, start_from)
        for key, value in settings.items():
            configuration.set(getattr(options, key), value)
        directory = None if checkpoints is None else str(self.directory / checkpoints)
        with run_local(
            workers=2, seed=1, epoch_records=2, checkpoint_dir=directory, resume=resume
        ) as cluster:
            env = StreamExecutionEnvironment.get_execution_environment(configuration)
            env.set_parallelism(parallelism).enable_checkpointing(0)
            started: Future[EmbeddedJobClient] = Future()
            if act is not None:
                # before the job starts: it may be past that epoch when this thread goes on
                cluster.listeners.append(
                    lambda p: act(started.result(60)) if p.epochs == at else None
                )
            results = build(env).execute_and_collect("job")
            started.set_result(results._client)
            self.clients.append(results._client)
            return list(results)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def paths(job: Job) -> list[str]:
    return sorted(map(str, (job.directory / "savepoints").glob("savepoint-*")))


def test_the_job_goes_on(job: Job) -> None:
    """And the savepoint is of the moment in which it was asked for."""
    futures: list[Any] = []
    first = job.run(act=lambda client: futures.append(client.trigger_savepoint()))
    assert Counter(first) == WHOLE
    path = futures[0].result(0)
    assert paths(job) == [path]
    manifest = read_snapshot_manifest(path).manifest
    assert (manifest.kind, manifest.pending, manifest.ancestor) == ("savepoint", {}, "")
    second = job.run(start_from=path)
    before = len(first) - len(second)
    assert 8 <= before <= 12
    assert Counter(first[:before]) + Counter(second) == WHOLE


def test_a_savepoint_that_cannot_be_noted_is_complete(
    job: Job, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its request failed, and its user would have looked for what is there."""

    def refuse(job_dir: object, path: object) -> None:
        raise CheckpointError("no space left on device")

    monkeypatch.setattr("millrace.engine.savepoint_writer.note_own", refuse)
    futures: list[Any] = []
    abandoned = job.directory / "savepoints" / f"savepoint-{job_id_of('job')}-0123456789ab"
    abandoned.mkdir(parents=True)
    os.utime(abandoned, (1000, 1000))
    assert Counter(job.run(act=lambda c: futures.append(c.trigger_savepoint()))) == WHOLE
    assert futures[0].result(0) == paths(job)[0]
    assert read_snapshot_manifest(futures[0].result(0)).manifest.kind == "savepoint"
    assert "is complete, but could not be noted" in caplog.text
    assert not abandoned.exists()


def test_stop_and_go_on_elsewhere(job: Job) -> None:
    """The directory is moved, the job that made it is gone."""
    futures: list[Any] = []
    first = job.run(act=lambda c: futures.append(c.stop_with_savepoint()), checkpoints="one")
    assert job.clients[0].get_job_status().result() is JobStatus.FINISHED
    shutil.move(futures[0].result(0), job.directory / "elsewhere")
    shutil.rmtree(job.directory / "one")
    second = job.run(start_from=str(job.directory / "elsewhere"), parallelism=3)
    assert 0 < len(second) < 40
    assert Counter(first) + Counter(second) == WHOLE


def test_drain_ends_the_input(job: Job) -> None:
    """Whatever waits for the end of time comes out."""

    def windows(env: StreamExecutionEnvironment) -> Any:
        numbers = env.from_collection(range(40)).uid("numbers")
        return numbers.key_by(lambda n: n % 5).count_window(100).reduce(max).uid("never")

    def timers(env: StreamExecutionEnvironment) -> Any:
        from millrace.common.time.watermark_strategy import WatermarkStrategy
        from millrace.datastream.window import TumblingEventTimeWindows

        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda n, _: n
        )
        numbers = env.from_collection(range(40)).uid("numbers")
        timed = numbers.assign_timestamps_and_watermarks(strategy).uid("times")
        keyed = timed.key_by(lambda n: 0)
        return keyed.window(TumblingEventTimeWindows.of(1_000)).reduce(max).uid("window")

    def drain(client: EmbeddedJobClient) -> None:
        client.stop_with_savepoint(advance_to_end_of_event_time=True)

    assert job.run(windows, drain) == []
    [last] = job.run(timers, drain)
    assert 3 < last < 12
    assert [open_snapshot(path).manifest.finished for path in paths(job)] == [True, True]


def test_cancel_with_savepoint(job: Job) -> None:
    futures: list[Any] = []
    with pytest.raises(JobCancelledError, match="after a savepoint"):
        job.run(act=lambda c: futures.append(c.cancel_with_savepoint()))
    assert paths(job) == [futures[0].result(0)]


def test_the_directory_comes_from_somewhere(job: Job, tmp_path: Path) -> None:
    """The call's goes first; without any the job goes on and the future says what to do."""
    futures: list[Any] = []

    configuration = Configuration()
    with run_local(epoch_records=2) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        started: Future[Any] = Future()
        directories = {3: None, 5: str(tmp_path / "mine")}

        def ask(progress: Any) -> None:
            if progress.epochs in directories:
                directory = directories[progress.epochs]
                futures.append(started.result(60).trigger_savepoint(directory))

        cluster.listeners.append(ask)
        results = running(env).execute_and_collect("job")
        started.set_result(results._client)
        assert Counter(results) == WHOLE
    with pytest.raises(CheckpointError, match=r"set execution.checkpointing.savepoint-dir"):
        futures[0].result(0)
    assert Path(futures[1].result(0)).parent == tmp_path / "mine"
    late = results._client.trigger_savepoint()
    with pytest.raises(JobExecutionError, match="has ended"):
        late.result(0)


def test_a_failed_savepoint_leaves_the_job_running(job: Job) -> None:
    """Even one that was to be its end."""
    (job.directory / "savepoints").write_text("a file is in the way")
    futures: list[Any] = []
    assert Counter(job.run(act=lambda c: futures.append(c.stop_with_savepoint()))) == WHOLE
    with pytest.raises(CheckpointError, match="cannot write a savepoint below"):
        futures[0].result(0)


@pytest.mark.parametrize("name", ["a\0b", "half\ud800"])
def test_a_savepoint_that_can_have_no_directory_is_refused(job: Job, name: str) -> None:
    futures: list[Any] = []
    directory = str(job.directory / name)
    acted = job.run(act=lambda c: futures.append(c.trigger_savepoint(directory)))
    assert Counter(acted) == WHOLE
    with pytest.raises(CheckpointError, match="cannot be a directory"):
        futures[0].result(0)


def test_lineage(job: Job) -> None:
    """Every savepoint knows the one before it in its history, across runs and resumes."""

    def save(**settings: Any) -> Snapshot:
        before = set(paths(job))
        job.run(act=lambda c: c.stop_with_savepoint(), **settings)
        return open_snapshot((set(paths(job)) - before).pop())

    first = save(checkpoints="one", at=2)
    assert first.manifest.snapshot_id == os.path.basename(first.path)
    second = save(checkpoints="one", resume=True, at=2)
    assert second.manifest.ancestor == first.manifest.snapshot_id
    third = save(start_from=str(second.path), at=2)
    assert third.manifest.ancestor == second.manifest.snapshot_id
    fork = save(start_from=str(first.path), at=2)
    assert fork.manifest.ancestor == first.manifest.snapshot_id


# -- another program -------------------------------------------------------------------


def stopped(job: Job, build: Build = running) -> str:
    job.run(build, lambda c: c.stop_with_savepoint())
    return paths(job)[-1]


def test_operators_may_move_between_stages(job: Job) -> None:
    """State follows the uid, whatever it is chained with now."""

    def rebuilt(env: StreamExecutionEnvironment) -> Any:
        numbers = env.from_collection(range(40)).uid("numbers").filter(lambda n: True)
        sums = numbers.key_by(lambda n: n % 5).map(lambda n: n).key_by(lambda n: n % 5).sum()
        return sums.uid("sums").map(lambda v: v)

    path = stopped(job)
    second = job.run(rebuilt, start_from=path)
    assert set(second) <= set(WHOLE)
    assert max(second) == max(WHOLE)


def test_what_disappeared_is_refused_unless_allowed(job: Job) -> None:
    """Operators and sources alike; stateless ones are nobody's loss."""

    def with_more(env: StreamExecutionEnvironment) -> Any:
        other = env.from_collection(range(100, 120)).uid("hundreds").map(lambda n: n).uid("plain")
        counts = other.key_by(lambda n: n % 2).sum().uid("more")
        return running(env).union(counts)

    path = stopped(job, with_more)
    with pytest.raises(CheckpointError, match=r"'Collection' \(uid hundreds\), 'Sum' \(uid more\)"):
        job.run(start_from=path)
    second = job.run(start_from=path, ALLOW_NON_RESTORED=True)
    assert set(second) <= set(WHOLE)
    assert len(second) < 40


def test_new_operators_start_empty(job: Job) -> None:
    """New sources as well."""

    def with_more(env: StreamExecutionEnvironment) -> Any:
        other = env.from_collection([7, 8]).uid("new").map(lambda n: -n)
        return running(env).union(other)

    path = stopped(job)
    second = job.run(with_more, start_from=path)
    assert {-7, -8} <= set(second)
    assert {v for v in second if v > 0} <= set(WHOLE)


# -- whose it is -----------------------------------------------------------------------


def files(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*.deltas")} | {
        str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("_metadata")
    }


def test_a_fork_leaves_its_parent_alone(job: Job) -> None:
    """Whether it begins at a savepoint or at a checkpoint that its parent retains."""
    job.run(act=lambda c: c.stop_with_savepoint(), checkpoints="one")
    [parent] = (job.directory / "one").iterdir()
    before = files(job.directory)
    for start in (*paths(job), str(parent)):
        assert 0 < len(job.run(start_from=start, checkpoints="fork", ALLOW_PICKLE=True)) < 40
        shutil.rmtree(job.directory / "fork")
    assert files(job.directory) == before


@pytest.mark.parametrize("kind", ["savepoint", "checkpoint"])
def test_what_is_claimed_goes_when_it_is_not_needed(job: Job, kind: str) -> None:
    job.run(act=lambda c: c.stop_with_savepoint(), checkpoints="one")
    [parent] = (job.directory / "one").iterdir()
    start = paths(job)[0] if kind == "savepoint" else str(open_snapshot(parent).path)
    second = job.run(start_from=start, checkpoints="two", CLAIM_MODE="CLAIM", ALLOW_PICKLE=True)
    assert 0 < len(second) < 40
    assert not Path(start).exists()
    if kind == "checkpoint":
        earlier = open_snapshot(parent)
        assert earlier.path != Path(start)


def test_native_snapshots_of_others_need_leave(job: Job) -> None:
    """A job's own, and what it wrote itself and nobody has changed, do not."""
    native = lambda c: c.stop_with_savepoint(format_type=SavepointFormatType.NATIVE)  # noqa: E731
    job.run(act=native, checkpoints="one")
    [parent] = (job.directory / "one").iterdir()
    [savepoint] = paths(job)
    assert not read_snapshot_manifest(savepoint).is_canonical
    for start in (savepoint, str(parent)):
        with pytest.raises(CheckpointError, match="native format.*--allow-pickle"):
            job.run(start_from=start, checkpoints="two")
        assert 0 < len(job.run(start_from=start, checkpoints="three", ALLOW_PICKLE=True)) < 40
    moved = shutil.copytree(savepoint, job.directory / "moved")
    assert 0 < len(job.run(start_from=str(moved), checkpoints="one")) < 40
    manifest = dataclasses.replace(read_snapshot_manifest(moved).manifest, timestamp=1)
    (moved / "_metadata").write_bytes(manifest.encode())
    with pytest.raises(CheckpointError, match="native format"):
        job.run(start_from=str(moved), checkpoints="one")


def lines(directory: Path) -> list[int]:
    return sorted(int(v) for p in directory.rglob("part-*") for v in p.read_text().split())


def to_files(directory: Path) -> Build:
    def build(env: StreamExecutionEnvironment) -> Any:
        encoder = Encoder.simple_string_encoder()
        policy = RollingPolicy.default_rolling_policy(rollover_interval=10**9)
        sink = FileSink.for_row_format(str(directory), encoder).with_rolling_policy(policy).build()
        sums = running(env)
        sums.sink_to(sink).uid("files")
        return sums

    return build


def test_parts_are_handed_over_before_a_savepoint(job: Job) -> None:
    """So that what came before it is its parent's, once and for all."""
    build = to_files(job.directory / "out")
    job.run(build, lambda c: c.stop_with_savepoint(), checkpoints="one")
    before = lines(job.directory / "out")
    assert len(before) == 6, "of the epochs before, none of the one for the savepoint"
    first = {p: p.read_bytes() for p in (job.directory / "out").rglob("part-*")}
    job.run(to_files(job.directory / "a"), start_from=paths(job)[0], parallelism=1)
    job.run(build, start_from=paths(job)[0], checkpoints="one", parallelism=3)
    assert Counter(lines(job.directory / "out")) == WHOLE
    assert Counter(before + lines(job.directory / "a")) == WHOLE
    assert all(path.read_bytes() == data for path, data in first.items())


def test_open_parts_follow_a_smaller_parallelism(job: Job) -> None:
    """A checkpoint may have open parts; the subtasks that are left go on with them."""
    build = to_files(job.directory / "out")
    with pytest.raises(JobCancelledError):
        job.run(build, lambda c: c.stop(), checkpoints="one", parallelism=4)
    assert lines(job.directory / "out") == []
    job.run(build, checkpoints="one", resume=True, parallelism=1)
    assert Counter(lines(job.directory / "out")) == WHOLE


# -- what must not happen --------------------------------------------------------------


def failing(env: StreamExecutionEnvironment) -> Any:
    numbers = env.from_collection(range(40)).uid("numbers")
    return numbers.key_by(lambda n: n % 5).sum().uid("sums").map(lambda v: 1 // (v - 105))


def test_a_job_that_keeps_no_checkpoints_disposes_of_nothing(job: Job) -> None:
    """What it claims would be gone with it."""
    path = stopped(job)
    with pytest.raises(UserFunctionError):
        job.run(failing, start_from=path, CLAIM_MODE="CLAIM")
    assert open_snapshot(path).is_savepoint


def test_a_claimed_checkpoint_names_files_of_its_own_only(job: Job, tmp_path: Path) -> None:
    """Whoever made it: nothing else is read or deleted."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"")
    job.run(act=lambda c: c.stop_with_savepoint(), checkpoints="one")
    [parent] = (tmp_path / "one").iterdir()
    found = open_snapshot(parent)
    ref = found.manifest.delta_files[0]
    outside = dataclasses.replace(ref, path=f"shared/../../../{victim.name}")
    manifest = dataclasses.replace(found.manifest, delta_files=(outside,))
    Path(found.path, "_metadata").write_bytes(manifest.encode())
    with pytest.raises(CheckpointCorruptError, match="which is not a file of the checkpoint"):
        job.run(start_from=str(found.path), checkpoints="two", CLAIM_MODE="CLAIM")
    assert victim.exists()


def test_a_job_is_not_drained_for_nothing(job: Job) -> None:
    """Without a place for the savepoint its input goes on."""
    (job.directory / "savepoints").write_text("a file is in the way")
    futures: list[Any] = []
    assert Counter(job.run(act=lambda c: futures.append(c.stop_with_savepoint(True)))) == WHOLE
    with pytest.raises(CheckpointError, match="cannot write a savepoint below"):
        futures[0].result(0)


def test_a_fork_of_what_had_finished_may_have_more_to_read(job: Job) -> None:
    def with_more(env: StreamExecutionEnvironment) -> Any:
        return running(env).union(env.from_collection([7, 8]).uid("new").map(lambda n: -n))

    job.run(act=lambda c: c.stop_with_savepoint(True))
    [path] = paths(job)
    assert open_snapshot(path).manifest.finished
    assert job.run(start_from=path) == []
    assert sorted(job.run(with_more, start_from=path)) == [-8, -7]


def test_its_own_checkpoint_stays_unless_it_is_claimed(job: Job) -> None:
    """Although newer ones come."""
    job.run(act=lambda c: c.stop_with_savepoint(), checkpoints="one")
    [parent] = (job.directory / "one").iterdir()
    start = open_snapshot(parent).path
    job.run(start_from=str(start), checkpoints="one")
    assert Path(start).exists()
    assert open_snapshot(start).deltas.live()


def test_requests_of_a_job_that_waits_are_answered_at_once(job: Job, tmp_path: Path) -> None:
    """One after the other, refused ones as well; the manual clock does not move."""
    with MiniJob(checkpoint_dir=str(tmp_path / "ckpt")) as mini:
        source = mini.source("numbers")
        mini.collect(source.stream)
        source.push(1)
        mini.process()
        directory = str(tmp_path / "savepoints")
        futures = [mini.client.trigger_savepoint(directory) for _ in range(3)]
        refused = mini.client.rescale(0)
        last = mini.client.trigger_savepoint(directory)
        while not last.done():
            mini.process()
        assert len({future.result(1) for future in (*futures, last)}) == 4
        assert isinstance(refused.exception(1), JobDefinitionError)


def test_a_savepoint_has_nothing_for_the_sinks_to_commit(job: Job) -> None:
    """One that says otherwise was tampered with."""
    build = to_files(job.directory / "out")
    job.run(build, lambda c: c.stop_with_savepoint())
    pending = job.directory / "out" / ".part-0-0.merged.x"
    pending.write_text("99999")
    part = PartCommittable(str(pending), str(job.directory / "out" / "part-x-0-0"), 5)
    [path] = paths(job)
    manifest = read_snapshot_manifest(path).manifest
    tampered = dataclasses.replace(manifest, pending={"files": [encode(part)]})
    (Path(path) / "_metadata").write_bytes(tampered.encode())
    job.run(build, start_from=path, checkpoints="two", CLAIM_MODE="CLAIM")
    assert 99999 not in lines(job.directory / "out")


class AskedInAnEpoch(LocalExecutor):
    """Somebody asks for something while epoch number 2 runs; keeps what each epoch read."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        super().__init__()
        self.ask = ask
        self.read: list[int] = []
        self.end_files: list[str] = []

    def run_epoch(self, plan: EpochPlan, hooks: EpochHooks | None = None) -> list[Ack]:
        assert plan.end_file is not None
        self.end_files.append(plan.end_file)
        if plan.epoch == 2:
            self.ask()
        acks = super().run_epoch(plan)
        self.read.append(sum(split.records for ack in acks for split in ack.reading.splits))
        return acks


@pytest.mark.parametrize(
    ("ask", "read"),
    [
        (lambda client: client.stop_with_savepoint(), [10, 10, 0, 0]),
        (lambda client: client.cancel_with_savepoint(), [10, 10, 0, 0]),
        (lambda client: client.stop(), [10, 10, 0]),
        (lambda client: client.trigger_savepoint(), [10, 10, 0, 10, 10]),
    ],
    ids=["stop with savepoint", "cancel with savepoint", "stop", "savepoint"],
)
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_who_asks_waits_for_no_more_reading(job: Job, ask: Act, read: list[int], mode: str) -> None:
    """The running epoch reads no more, and the one for a savepoint that ends the job nothing."""
    executor = AskedInAnEpoch(lambda: ask(job.clients[0]))
    configuration = Configuration()
    configuration.set(options.SAVEPOINT_DIR, str(job.directory / "savepoints"))
    configuration.set_string(options.RUNTIME_MODE.key, mode)
    with (
        run_local(
            executor=lambda: executor, epoch_records=10, checkpoint_dir=str(job.directory / "c")
        ),
        suppress(JobCancelledError),
    ):
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(1).from_collection(range(40)).print()
        job.clients.append(env.execute_async("job"))
        job.clients[0].get_job_execution_result().result()
    assert executor.read[: len(read)] == read
    assert len(executor.read) == len(read) or len(read) == 5
    assert not any(map(os.path.exists, executor.end_files)), "left behind"
