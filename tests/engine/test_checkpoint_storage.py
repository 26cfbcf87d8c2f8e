"""Publishing, finding and deleting checkpoints, in one process."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import CheckpointCorruptError, CheckpointError, LeaseLostError
from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.lease import Lease
from millrace.filesystem import crash_points as crash
from millrace.state.checkpoint import packing
from millrace.state.checkpoint.delta_file import DeltaEntry, DeltaLoader
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.retention import SWEEP_EVERY
from millrace.state.checkpoint.segment import write_segment
from millrace.state.state_delta import StateDelta


class Job:
    """A job of one stage; its deltas say which epoch they are of."""

    def __init__(self, job_dir: Path, run_id: str = "r1", **options: Any) -> None:
        self.job_dir = job_dir
        self.run_id = run_id
        self.lease = Lease.acquire(job_dir, run_id)
        self.storage = CheckpointStorage(job_dir, run_id, self.lease, **options)
        self.versions: dict[tuple[str, int], str] = {}

    def delta(
        self, epoch: int, low_epoch: int = 0, subtask: int = 0, big: bool = False
    ) -> DeltaEntry:
        version = f"{self.run_id}-{epoch}"
        self.versions["s", subtask] = version
        data = b"state of %d" % epoch
        if big:
            reference = write_segment(self.job_dir, f"{version}-{subtask}", data, durable=False)
            return "s", subtask, StateDelta(epoch, version, low_epoch, reference)
        return "s", subtask, StateDelta(epoch, version, low_epoch, data)

    def publish(self, *deltas: DeltaEntry, epoch: int = 0, **changes: Any) -> Manifest:
        return self.publish_all(*deltas, epoch=epoch, **changes)[0]

    def publish_all(
        self, *deltas: DeltaEntry, epoch: int = 0, **changes: Any
    ) -> tuple[Manifest, list[DeltaEntry]]:
        parts: dict[str, Any] = {
            "job_name": "count",
            "epoch": epoch,
            "timestamp": 1,
            "max_parallelism": 128,
            "stages": {"s": 2},
            "operators": {"s": "count"},
            "versions": dict(self.versions),
            "sources": {"src": b"position"},
            "pending": {"sink": [b"part"]},
        }
        return self.storage.publish(Manifest(**{**parts, **changes}), deltas)

    def state(self, manifest: Manifest) -> dict[tuple[str, int], list[bytes]]:
        load = DeltaLoader(self.job_dir)
        return {k: [load(v) for v in found] for k, found in self.storage.deltas(manifest).items()}

    def end(self) -> None:
        self.storage.close()
        self.lease.release()

    def shared(self) -> set[str]:
        return {path.name for path in (self.job_dir / "shared").iterdir()}

    def checkpoints(self) -> set[str]:
        return {path.name for path in self.job_dir.glob("chk-*")}


@pytest.fixture
def job_dir(tmp_path: Path) -> Path:
    return tmp_path / "count-1"


@pytest.fixture
def job(job_dir: Path) -> Job:
    return Job(job_dir)


def set_trap(monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    monkeypatch.setattr(crash, "_TRAPS", crash._parse(spec))
    crash._passed.clear()


def corrupt(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_nothing_yet(job: Job) -> None:
    """A new directory has no checkpoint, and 1 is the first."""
    assert job.storage.load_latest() is None
    assert job.storage.next_number() == 1


def test_what_was_published_is_found(job: Job, job_dir: Path) -> None:
    """By the run itself and by the next one."""
    first = job.publish(job.delta(1), job.delta(1, subtask=1, big=True), epoch=2)
    second = job.publish(job.delta(2), epoch=3, finished=True)
    assert (first.checkpoint, first.parent) == (1, None)
    assert (second.checkpoint, second.parent, second.epoch) == (2, 1, 3)
    expected = {("s", 0): [b"state of 1", b"state of 2"], ("s", 1): [b"state of 1"]}
    assert job.state(second) == expected
    assert job.state(first) == {("s", 0): [b"state of 1"], ("s", 1): [b"state of 1"]}
    job.end()
    again = Job(job_dir, "r2")
    assert again.storage.load_latest() == second
    assert again.state(second) == expected
    assert again.storage.load(1) == first


def test_without_new_deltas_there_is_no_new_file(job: Job) -> None:
    """An idle job writes one small file per checkpoint."""
    job.publish(job.delta(1))
    before = job.shared()
    job.publish()
    assert job.shared() == before


def test_numbers_exceed_all_that_are_present(job_dir: Path) -> None:
    """Those of incomplete checkpoints too."""
    (job_dir / "chk-7").mkdir(parents=True)
    (job_dir / "chk-x").mkdir()
    job = Job(job_dir)
    assert job.storage.next_number() == 8
    assert job.publish().checkpoint == 8


def test_the_moved_deltas_are_handed_back(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """New ones, and those that were packed: their former files will go away."""
    monkeypatch.setattr(packing, "FILES_PER_TIER", 2)
    deltas = {}
    for epoch in range(1, 20):
        _, moved = job.publish_all(job.delta(epoch), epoch=epoch)
        deltas.update({delta.version: delta for _, _, delta in moved})
        job.storage._packer.wait()
    load = DeltaLoader(job.job_dir)
    assert [load(delta) for delta in deltas.values()] == [
        b"state of %d" % epoch for epoch in range(1, 20)
    ]
    assert len(job.shared()) < 15


def test_packed_segments_are_deleted(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the files that named them, when no checkpoint needs them any more."""
    monkeypatch.setattr(packing, "FILES_PER_TIER", 2)
    for epoch in range(1, 9):
        manifest = job.publish(job.delta(epoch, big=True), epoch=epoch)
        job.storage._packer.wait()
    job.publish()
    manifest = job.publish()
    assert job.state(manifest) == {("s", 0): [b"state of %d" % epoch for epoch in range(1, 9)]}
    assert not job.shared() & {f"r1-{epoch}-0" for epoch in range(1, 5)}


def test_the_file_that_is_being_packed_is_no_orphan(
    job_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it takes."""
    monkeypatch.setattr(packing, "MIN_BYTES_PER_STEP", 0)
    monkeypatch.setattr(packing, "FILES_PER_TIER", 40)
    job = Job(job_dir, orphan_age=0.0, clock=lambda: 1e12)
    for epoch in range(1, 2 * SWEEP_EVERY):
        job.publish(job.delta(epoch), epoch=epoch)
        job.storage._packer.wait()
        if job.storage._packer.working_files():
            assert job.storage._packer.working_files() & {f"shared/{n}" for n in job.shared()}
    assert len(job.shared()) < SWEEP_EVERY


def test_dead_deltas_are_not_written(job: Job) -> None:
    """Several epochs in one checkpoint, the last of which made the others useless."""
    manifest = job.publish(job.delta(1), job.delta(2), job.delta(3, low_epoch=3))
    assert job.state(manifest) == {("s", 0): [b"state of 3"]}
    assert manifest.delta_files[0].deltas == 1


def test_dead_files_and_segments_are_deleted(job: Job) -> None:
    """One checkpoint after the last that names them."""
    job.publish(job.delta(1, big=True))
    job.publish(job.delta(2, low_epoch=2))
    job.publish()
    assert job.shared() == {"r1-2.deltas"}


def test_deltas_handed_over_twice_count_once(job: Job) -> None:
    """An interrupted caller does not know how far it came."""
    delta = job.delta(1)
    job.publish(delta)
    manifest = job.publish(delta, job.delta(2))
    assert job.state(manifest) == {("s", 0): [b"state of 1", b"state of 2"]}


def test_retention_across_runs(job: Job, job_dir: Path) -> None:
    """A run deletes what only its predecessors' old checkpoints needed."""
    job.publish(job.delta(1, big=True))
    job.publish(job.delta(2))
    job.end()
    again = Job(job_dir, "r2", retained=1)
    again.versions = job.versions
    again.storage.load_latest()
    again.publish(again.delta(3, low_epoch=3))
    again.publish()
    assert again.shared() == {"r2-3.deltas"}
    assert again.checkpoints() == {"chk-4"}


def test_going_back_to_an_earlier_checkpoint(job: Job, job_dir: Path) -> None:
    """Its files are spared although the later checkpoint did without them."""
    job.publish(job.delta(1))
    job.publish(job.delta(2, low_epoch=2))
    back = job.storage.load(1)
    job.versions = {("s", 0): "r1-1"}
    manifest = job.publish()
    for _ in range(3):
        manifest = job.publish()
    assert manifest.parent == 5
    assert back.delta_files == manifest.delta_files
    assert job.state(manifest) == {("s", 0): [b"state of 1"]}
    assert job.shared() == {"r1-1.deltas"}
    assert len(job.checkpoints()) == 2


def test_the_history_that_was_gone_back_from(job_dir: Path) -> None:
    """Pushes nothing out of the new one, and is never proposed in its place."""
    job = Job(job_dir, retained=3)
    for epoch in range(1, 8):
        job.publish(job.delta(epoch, low_epoch=epoch))
    job.end()
    assert job.checkpoints() == {"chk-5", "chk-6", "chk-7"}
    back = Job(job_dir, "r2")
    back.storage.load(5)
    assert back.publish(back.delta(6, low_epoch=6)).parent == 5
    assert back.checkpoints() == {"chk-5", "chk-8"}
    manifest = (job_dir / "chk-8" / "_metadata").read_bytes()
    corrupt(job_dir / "chk-8" / "_metadata")
    with pytest.raises(CheckpointCorruptError, match="checkpoint 5 before it is whole"):
        back.storage.load_latest()
    (job_dir / "chk-8" / "_metadata").write_bytes(manifest)
    back.publish()
    assert back.checkpoints() == {"chk-8", "chk-9"}
    assert back.shared() == {"r2-8.deltas"}


@pytest.mark.parametrize("unreadable", [3, 4, 5])
def test_a_history_with_a_gap(job_dir: Path, unreadable: int) -> None:
    """What is older than an ancestor that cannot be read may belong to it, and is kept."""
    job = Job(job_dir, retained=9)
    for epoch in range(1, 6):
        job.publish(job.delta(epoch))
    job.end()
    corrupt(job_dir / f"chk-{unreadable}" / "_metadata")
    back = Job(job_dir, "r2", retained=9)
    back.versions = back.storage.load(4 if unreadable != 4 else 3).versions
    back.publish()
    gone = {"chk-5"} if unreadable != 5 else set()
    assert back.checkpoints() == {f"chk-{number}" for number in range(1, 7)} - gone


def test_versions_that_no_delta_makes_are_refused(job: Job) -> None:
    """A checkpoint that could not be restored is not written."""
    job.delta(1)
    with pytest.raises(CheckpointError, match="could not be restored"):
        job.publish()
    assert job.checkpoints() == set()


def test_another_job(job: Job, job_dir: Path) -> None:
    """Its checkpoints are refused by name."""
    job.publish(job.delta(1))
    other = CheckpointStorage(job_dir, "r2", job.lease, job_id="sum-2")
    with pytest.raises(CheckpointError, match=r"belongs to job 'count' \(count-1\), not to sum-2"):
        other.load_latest()


@pytest.mark.parametrize("damaged", ["chk-2/_metadata", "shared/r1-2.deltas"])
def test_a_damaged_newest_checkpoint(job: Job, job_dir: Path, damaged: str) -> None:
    """Names the file and what could be used instead, which then works."""
    job.publish(job.delta(1))
    job.publish(job.delta(2))
    (job_dir / damaged).write_bytes((job_dir / damaged).read_bytes()[:-1])
    with pytest.raises(CheckpointCorruptError) as caught:
        job.storage.load_latest()
    assert str(caught.value.path) == str(job_dir / damaged)
    assert "checkpoint 1 before it is whole" in str(caught.value)
    assert job.state(job.storage.load(1)) == {("s", 0): [b"state of 1"]}


def test_a_missing_segment(job: Job, job_dir: Path) -> None:
    """Is found before a worker stumbles over it; without an earlier checkpoint it says so."""
    job.publish(job.delta(1, big=True))
    (job_dir / "shared" / "r1-1-0").unlink()
    with pytest.raises(CheckpointCorruptError, match="r1-1-0 is corrupt.*no earlier checkpoint"):
        job.storage.load_latest()


def test_a_damaged_payload_is_found_when_it_is_loaded(job: Job, job_dir: Path) -> None:
    """By the name of its file."""
    manifest = job.publish(job.delta(1, big=True))
    corrupt(job_dir / "shared" / "r1-1-0")
    with pytest.raises(CheckpointCorruptError, match="r1-1-0 is corrupt: the checksum"):
        job.state(manifest)


def test_a_checkpoint_that_is_not_there(job: Job) -> None:
    """The error lists those that are."""
    job.publish()
    with pytest.raises(CheckpointError, match="no complete checkpoint 5; there are: 1"):
        job.storage.load(5)


@pytest.mark.parametrize("place", ["after-deltas", "during-metadata", "after-metadata"])
def test_a_full_disk(job: Job, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """The last checkpoint stays, nothing is left over, the same deltas can be tried again."""
    before = job.publish(job.delta(1))
    shared = job.shared()
    delta = job.delta(2, low_epoch=2)
    set_trap(monkeypatch, f"{place}:1:raise")
    with pytest.raises(CheckpointError, match="No space left on device"):
        job.publish(delta)
    assert (job.shared(), job.checkpoints()) == (shared, {"chk-1"})
    assert job.storage.load_latest() == before
    assert job.state(before) == {("s", 0): [b"state of 1"]}
    assert job.state(job.publish(delta)) == {("s", 0): [b"state of 2"]}


def test_a_full_disk_that_is_noticed_at_the_flush(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever in a checkpoint it happens: the flush of a file or of a directory."""
    before = job.publish(job.delta(1))
    delta = job.delta(2)
    real = os.fsync
    for failing in range(1, 6):
        calls = itertools.count(1)

        def fsync(descriptor: int, failing: int = failing, calls: Iterator[int] = calls) -> None:
            if next(calls) == failing:
                raise OSError(errno.ENOSPC, "No space left on device")
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(CheckpointError, match="No space left on device"):
            job.publish(delta)
        monkeypatch.setattr(os, "fsync", real)
        assert (job.shared(), job.checkpoints()) == ({"r1-1.deltas"}, {"chk-1"})
    assert job.storage.load_latest() == before


def test_failing_to_delete_fails_nothing(
    job: Job, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The checkpoint is complete; garbage can wait."""
    set_trap(monkeypatch, "during-retention:1:raise")
    manifest = job.publish(job.delta(1))
    assert "deleting old checkpoints" in caplog.text
    assert job.storage.load_latest() == manifest


def test_a_zombie_cannot_publish(job: Job, job_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does its attempt harm the checkpoint of the new owner that has the same number."""
    job.publish(job.delta(1))
    (job_dir / "lease.lock").unlink()
    owner = Job(job_dir, "r2")
    owner.storage.load_latest()
    owner.versions = {("s", 0): "r1-1"}
    with pytest.raises(LeaseLostError):
        job.publish(job.delta(2))
    assert owner.shared() == {"r1-1.deltas"}
    manifest = owner.publish(owner.delta(2))
    assert (manifest.checkpoint, manifest.run_id) == (2, "r2")
    monkeypatch.setattr(job.storage, "next_number", lambda: 2)
    with pytest.raises(LeaseLostError):
        job.publish(job.delta(2))
    assert owner.storage.load_latest() == manifest
    assert owner.state(manifest) == {("s", 0): [b"state of 1", b"state of 2"]}
    assert owner.shared() >= {"r1-1.deltas", "r2-2.deltas"}


def test_a_zombies_segment_is_swept_when_old(job_dir: Path) -> None:
    """A task that outlived its epoch wrote what nobody asked for."""
    job = Job(job_dir, orphan_age=0.0, clock=lambda: 1e12)
    job.delta(1, big=True)
    job.versions.clear()
    job.publish()
    assert job.shared() == set()


def test_a_pinned_checkpoint_stays(job: Job, job_dir: Path) -> None:
    """Whole, while newer ones come and go; the other files go as ever."""
    job.publish(job.delta(1, big=True))
    job.publish(job.delta(2))
    pin = job.storage.pin()
    for epoch in range(3, 8):
        job.publish(job.delta(epoch, low_epoch=epoch))
    assert job.shared() == {"r1-1-0", "r1-1.deltas", "r1-2.deltas", "r1-6.deltas", "r1-7.deltas"}
    assert job.checkpoints() == {"chk-2", "chk-6", "chk-7"}
    assert job.state(pin.manifest) == {("s", 0): [b"state of 1", b"state of 2"]}
    load = DeltaLoader(job_dir)
    assert [load(delta) for delta in pin.deltas["s", 0]] == [b"state of 1", b"state of 2"]
    pin.release()
    pin.release()
    job.publish()
    assert job.shared() == {"r1-7.deltas"}
    assert job.checkpoints() == {"chk-7", "chk-8"}


def test_several_pins(job: Job) -> None:
    """Each holds its own; one may be held twice."""
    job.publish(job.delta(1))
    with job.storage.pin() as pin, job.storage.pin() as other:
        job.publish(job.delta(2, low_epoch=2))
        other.release()
        later = job.storage.pin()
        for epoch in (3, 4, 5):
            job.publish(job.delta(epoch, low_epoch=epoch))
        assert job.state(pin.manifest) == {("s", 0): [b"state of 1"]}
    job.publish()
    assert job.checkpoints() == {"chk-2", "chk-5", "chk-6"}
    assert job.state(later.manifest) == {("s", 0): [b"state of 2"]}


def test_nothing_to_pin(job: Job) -> None:
    """Before the first checkpoint."""
    with pytest.raises(CheckpointError, match="no checkpoint in .* yet"):
        job.storage.pin()


def test_a_pin_of_a_run_that_died(job: Job, job_dir: Path) -> None:
    """The next run deletes what it held."""
    job.publish(job.delta(1))
    job.storage.pin()
    for epoch in (2, 3):
        job.publish(job.delta(epoch, low_epoch=epoch))
    job.end()
    again = Job(job_dir, "r2")
    again.versions = job.versions
    again.storage.load_latest()
    again.publish()
    again.publish()
    assert again.shared() == {"r1-3.deltas"}
    assert again.checkpoints() == {"chk-4", "chk-5"}


def test_starting_afresh_keeps_one_earlier_checkpoint(job: Job, job_dir: Path) -> None:
    """The newest one of before, and nothing else of what this run no longer needs."""
    job.publish(job.delta(1))
    job.publish(job.delta(2, low_epoch=2))
    job.end()
    afresh = Job(job_dir, "r2")
    for epoch in range(1, 6):
        afresh.publish(afresh.delta(epoch, low_epoch=epoch))
    assert afresh.shared() == {"r1-2.deltas", "r2-6.deltas", "r2-7.deltas"}
    assert afresh.checkpoints() == {"chk-2", "chk-6", "chk-7"}


def test_deltas_of_a_narrower_stage(job: Job) -> None:
    """What belonged to subtasks that are no more is not restored."""
    job.publish(job.delta(1), job.delta(1, subtask=1))
    wide = job.versions.pop(("s", 1))
    manifest = job.publish(job.delta(2, low_epoch=2), stages={"s": 1})
    assert wide == "r1-1"
    assert job.state(manifest) == {("s", 0): [b"state of 2"]}
    assert job.storage.load_latest() == manifest
    assert job.state(manifest) == {("s", 0): [b"state of 2"]}


def test_the_note_of_a_commit_is_flushed_later(
    job: Job, job_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the next checkpoint, which waits for the disk anyway, or at the end; once."""
    flushed: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: flushed.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    )
    job.publish(job.delta(1))
    flushed.clear()
    job.storage.note_committed(1)
    assert (job_dir / "chk-1" / "_committed").exists()
    assert flushed == []
    job.publish()
    assert flushed.count(str(job_dir / "chk-1")) == 1
    flushed.clear()
    job.publish()
    assert str(job_dir / "chk-1") not in flushed
    job.storage.note_committed(3)
    job.storage.close()
    assert flushed[-1] == str(job_dir / "chk-3")


def test_what_a_crash_left_goes_with_the_checkpoint(job: Job, job_dir: Path) -> None:
    """A file that was being written is no file of the checkpoint, but it is in its directory."""
    job.publish()
    (job_dir / "chk-1" / "._metadata.0123.tmp").write_bytes(b"{")
    for _ in range(2):
        job.publish()
    assert job.checkpoints() == {"chk-2", "chk-3"}


def test_a_note_of_what_is_gone(job: Job, job_dir: Path) -> None:
    """It is only a note."""
    job.publish()
    job.storage.note_committed(7)
    job.storage.note_committed(1)
    shutil.rmtree(job_dir / "chk-1")
    job.publish()
    job.storage.close()


def test_a_temporary_job_flushes_nothing(job_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush is the dearest part of a small checkpoint."""
    job = Job(job_dir, durable=False)

    def refuse(descriptor: int) -> None:
        raise AssertionError("flushed")

    monkeypatch.setattr(os, "fsync", refuse)
    job.publish(job.delta(1))
