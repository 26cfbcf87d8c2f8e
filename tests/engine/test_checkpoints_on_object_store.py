"""Checkpoints, leases and savepoints where there are no directories, renames or locks: the same
tests on a disk and in an object store."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import pytest
from object_store import ObjectStore

from millrace.common.errors import CheckpointError, LeaseError, LeaseLostError
from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.lease import LIFETIME, Lease
from millrace.filesystem.registry import exists, file_system_of
from millrace.state.canonical.savepoint import write_canonical_savepoint
from millrace.state.checkpoint import packing
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.checkpoint.directory import complete_checkpoints
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.savepoint import write_savepoint
from millrace.state.checkpoint.savepoints import dispose_savepoint, find_savepoints
from millrace.state.checkpoint.segment import write_segment
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT


class Run:
    """One run of a job with one subtask."""

    def __init__(self, job_dir: str, run_id: str, **options: Any) -> None:
        self.job_dir = job_dir
        self.lease = Lease.acquire(job_dir, run_id)
        self.storage = CheckpointStorage(job_dir, run_id, self.lease, **options)
        self.epoch = 0

    def publish(self, data: Any = None, low_epoch: int = 1) -> int:
        self.epoch += 1
        content = data if data is not None else b"state of %d" % self.epoch
        delta = StateDelta(self.epoch, f"v{self.epoch}", low_epoch, content)
        manifest, _ = self.storage.publish(
            Manifest(
                job_name="count", epoch=self.epoch, timestamp=0, max_parallelism=8,
                stages={"s": 1}, operators={"s": "count"}, versions={("s", 0): delta.version},
                sources={}, pending={},
            ),
            [("s", 0, delta)],
        )  # fmt: skip
        return manifest.checkpoint

    def resume(self) -> list[bytes]:
        manifest = self.storage.load_latest()
        assert manifest is not None
        self.epoch = manifest.epoch
        load = DeltaLoader(self.job_dir)
        return [load(delta) for delta in self.storage.deltas(manifest)["s", 0]]

    def end(self) -> None:
        self.storage.close()
        self.lease.release()


@pytest.fixture
def job_dir(store_root: str) -> str:
    return f"{store_root}/jobs/count-1"


@pytest.fixture
def run(job_dir: str) -> Iterator[Run]:
    made = Run(job_dir, "run-1")
    yield made
    made.end()


def names(directory: str) -> list[str]:
    found = file_system_of(directory).list(directory, recursive=True)
    return sorted(file.location.removeprefix(f"{directory}/") for file in found)


class TestBoth:
    def test_a_run_goes_on_from_another(self, run: Run, job_dir: str) -> None:
        assert [run.publish(), run.publish()] == [1, 2]
        run.end()
        second = Run(job_dir, "run-2")
        assert second.resume() == [b"state of 1", b"state of 2"]
        number = second.publish()
        assert complete_checkpoints(job_dir)[-1] == number > 2
        second.end()
        third = Run(job_dir, "run-3")
        assert third.resume() == [b"state of 1", b"state of 2", b"state of 3"]
        third.end()

    def test_segments_are_read_in_ranges(self, run: Run, job_dir: str) -> None:
        run.publish(write_segment(job_dir, "big", [b"x" * 1000, b"y" * 1000]))
        run.end()
        again = Run(job_dir, "run-2")
        assert again.resume() == [b"x" * 1000 + b"y" * 1000]
        again.end()

    def test_old_checkpoints_go_with_their_files(self, run: Run, job_dir: str) -> None:
        for _ in range(6):
            run.publish(low_epoch=run.epoch + 1)
        assert complete_checkpoints(job_dir) == [5, 6]
        kept = [name for name in names(job_dir) if name.startswith(("chk-", "shared/"))]
        # a request that deletes many may fail in part: files go after their manifests have gone
        late = [] if file_system_of(job_dir).has_directories else ["shared/run-1-4.deltas"]
        assert kept == [
            "chk-5/_metadata", "chk-6/_metadata",
            *late, "shared/run-1-5.deltas", "shared/run-1-6.deltas",
        ]  # fmt: skip

    def test_what_was_discarded_is_gone(self, run: Run, job_dir: str) -> None:
        run.publish()
        run.publish()
        run.storage.discard()
        assert [n for n in names(job_dir) if not n.startswith(("lease", "commit"))] == []

    def test_a_pinned_checkpoint_stays(self, run: Run, job_dir: str) -> None:
        run.publish(low_epoch=1)
        pin = run.storage.pin()
        for _ in range(4):
            run.publish(low_epoch=run.epoch + 1)
        assert complete_checkpoints(job_dir) == [1, 4, 5]
        pin.release()
        run.publish()
        assert complete_checkpoints(job_dir) == [5, 6]

    def test_many_files_are_packed(
        self, run: Run, job_dir: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(packing, "FILES_PER_TIER", 3)
        for _ in range(9):
            run.publish()
            run.storage._packer.wait()
        assert [name for name in names(job_dir) if "-t1.deltas" in name]
        expected = [b"state of %d" % (n + 1) for n in range(9)]
        run.end()
        again = Run(job_dir, "run-2")
        assert again.resume() == expected
        again.end()

    def test_the_note_of_a_commit(self, run: Run, job_dir: str) -> None:
        run.publish()
        run.storage.note_committed(1)
        assert exists(f"{job_dir}/chk-1/_committed")

    def test_a_second_run_is_refused(self, run: Run, job_dir: str) -> None:
        with pytest.raises(LeaseError, match="belongs to run run-1"):
            Lease.acquire(job_dir, "run-2")
        run.publish()
        run.end()
        with pytest.raises(LeaseLostError, match="released"), run.lease.guard():
            pass
        Lease.acquire(job_dir, "run-3").release()

    def test_orphans_are_swept_when_they_are_old(self, run: Run, job_dir: str) -> None:
        files = file_system_of(job_dir)
        files.publish(f"{job_dir}/shared/zombie", [b"x"])
        abandoned = files.begin(f"{job_dir}/shared/half").persist()
        run.end()
        late = Run(job_dir, "run-2", clock=lambda: 4e9)
        late.publish()
        late.end()
        assert "shared/zombie" not in names(job_dir)
        assert list(files.uploads(job_dir)) == []
        with pytest.raises(FileNotFoundError):
            files.commit([abandoned])

    @pytest.mark.parametrize("canonical", [False, True])
    def test_savepoints(self, run: Run, store_root: str, job_dir: str, canonical: bool) -> None:
        state, counts = SubtaskState(), TableId("s", "counts")
        table = state.table(counts, FLAT)
        for key in range(100):
            table.put(key, key * key)
        delta = state.snapshot(1, "v1")
        assert delta is not None
        run.publish(delta.data)
        path = f"{store_root}/savepoints/one"
        with run.storage.pin() as pin:
            if canonical:
                write_canonical_savepoint(path, job_dir, pin.manifest, pin.deltas, {})
            else:
                write_savepoint(path, job_dir, pin)
        [found] = find_savepoints(store_root)
        assert getattr(found, "path", None) == path
        assert found.is_canonical is canonical
        reader = SnapshotReader(open_snapshot(path, trusted=not canonical))
        [info] = reader.states()
        assert {entry.key: entry.value for entry in reader.entries(info)} == {
            key: key * key for key in range(100)
        }
        assert dispose_savepoint(path) == []
        assert names(f"{store_root}/savepoints") == []

    def test_a_savepoint_that_fails_leaves_nothing(
        self, run: Run, store_root: str, job_dir: str
    ) -> None:
        run.publish()
        path = f"{store_root}/savepoints/one"
        with run.storage.pin() as pin:
            files = file_system_of(job_dir)
            [deltas] = files.list(f"{job_dir}/shared")
            files.publish(deltas.location, [b"damaged"])
            with pytest.raises(CheckpointError):
                write_savepoint(path, job_dir, pin)
        assert names(f"{store_root}/savepoints") == []


JOB = "memory://bucket/jobs/count-1"


class TestFencing:
    """Without locks, a driver that was believed dead may wake up at any moment."""

    def test_a_dead_run_can_be_followed_when_its_lease_has_ended(
        self, object_store: ObjectStore
    ) -> None:
        now = [1_000_000]
        zombie = Lease.acquire(JOB, "run-1", clock=lambda: now[0])
        with pytest.raises(LeaseError, match="its lease ends in 60 s"):
            Lease.acquire(JOB, "run-2", clock=lambda: now[0])
        now[0] += LIFETIME // 2
        assert zombie._renew()
        now[0] += LIFETIME // 2
        with pytest.raises(LeaseError):
            Lease.acquire(JOB, "run-2", clock=lambda: now[0])
        now[0] += LIFETIME
        owner = Lease.acquire(JOB, "run-2", clock=lambda: now[0])
        assert not zombie._renew()
        with pytest.raises(LeaseLostError, match="taken over by run run-2"), zombie.guard():
            pass
        zombie.release()
        owner.verify()
        owner.release()

    def test_a_process_that_has_died_here_is_followed_at_once(
        self, object_store: ObjectStore
    ) -> None:
        """Although its lease has not ended; one of a living or unknown process is waited for."""
        former = Lease.acquire(JOB, "run-1")
        dead = subprocess.Popen([sys.executable, "-c", ""])
        dead.wait()
        for process, refused in (
            ({"pid": os.getpid()}, True),
            ({"pid": dead.pid, "space": "another"}, True),
            ({"pid": dead.pid, "space": ""}, True),
            ({"pid": dead.pid}, False),
        ):
            record = {**asdict(former.owner), **process}
            object_store.put(f"{JOB}/lease.json", json.dumps(record).encode())
            if refused:
                with pytest.raises(LeaseError, match="its lease ends in"):
                    Lease.acquire(JOB, "run-2")
        Lease.acquire(JOB, "run-2").release()

    def test_two_that_follow_at_once(self, object_store: ObjectStore) -> None:
        """The second to write finds another record than it has read."""

        def somebody_else(key: str) -> None:
            object_store.before_put = lambda key: None
            Lease.acquire(JOB, "faster")

        object_store.before_put = somebody_else
        with pytest.raises(LeaseError, match="belongs to run faster"):
            Lease.acquire(JOB, "slower")

    def test_a_zombie_cannot_publish(self, object_store: ObjectStore) -> None:
        """Not even if it is taken over after it has made sure that it is the owner."""
        zombie = Run(JOB, "run-1")
        zombie.publish()
        successor: list[Run] = []

        def take_over(key: str) -> None:
            if key.endswith("chk-2/_metadata"):
                object_store.before_put = lambda key: None
                end_lease(object_store)
                successor.append(Run(JOB, "run-2"))
                assert successor[0].resume() == [b"state of 1"]

        object_store.before_put = take_over
        with pytest.raises(LeaseLostError, match="checkpoint 2 of .* was written by another run"):
            zombie.publish()
        [owner] = successor
        assert owner.publish() == 3
        assert complete_checkpoints(JOB) == [1, 3]
        assert owner.publish() == 4
        zombie.storage.close()
        owner.end()

    def test_a_zombie_that_is_faster_is_followed(self, object_store: ObjectStore) -> None:
        zombie = Run(JOB, "run-1")
        zombie.publish()
        end_lease(object_store)

        def publish_first(key: str) -> None:
            if key.endswith("chk-2/_metadata"):
                object_store.before_put = lambda key: None
                data = object_store.objects[f"{JOB}/chk-1/_metadata"][0]
                object_store.put(key, data.replace(b'"checkpoint": 1', b'"checkpoint": 2'))

        object_store.before_put = publish_first
        owner = Run(JOB, "run-2")
        assert complete_checkpoints(JOB) == [1, 2]
        assert owner.storage.next_number() == 4
        zombie.storage.close()
        owner.end()

    def test_a_failed_put_is_tried_again(self, object_store: ObjectStore) -> None:
        run = Run(JOB, "run-1")
        run.publish()

        def fail(key: str) -> None:
            object_store.before_put = lambda key: None
            raise OSError(5, "the store is not there")

        for _ in range(2):
            object_store.before_put = fail
            with pytest.raises(CheckpointError, match="the store is not there"):
                run.publish()
            run.epoch -= 1
        assert run.publish() == 2
        assert complete_checkpoints(JOB) == [1, 2]
        run.end()

    def test_an_answer_that_was_lost(
        self, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The client asks again, and hears that there is such an object: its own."""
        put = object_store.put

        def put_twice(key: str, data: bytes, *conditions: Any, **more: Any) -> str:
            tag = put(key, data, *conditions, **more)
            return put(key, data, *conditions, **more) if key.endswith("/_metadata") else tag

        monkeypatch.setattr(object_store, "put", put_twice)
        run = Run(JOB, "run-1")
        assert [run.publish(), run.publish()] == [1, 2]
        run.end()

    def test_a_checkpoint_takes_few_requests(self, object_store: ObjectStore) -> None:
        run = Run(JOB, "run-1")
        for _ in range(5):
            run.publish(low_epoch=run.epoch + 1)
        object_store.requests.clear()
        run.publish(low_epoch=run.epoch + 1)
        with run.lease.guard():
            run.storage.note_committed(6)
        # the deltas, the manifest, the note; what is not needed any more
        assert object_store.requests == {"put": 3, "delete": 1}
        run.end()

    def test_old_files_go_after_their_manifests(self, object_store: ObjectStore) -> None:
        """One request deletes many, of which only some may go when it fails."""
        run = Run(JOB, "run-1")
        delete_all = object_store.delete_all

        def half(locations: Iterable[str]) -> None:
            delete_all(list(locations)[1::2])
            raise OSError(5, "the store is not there")

        for number in range(1, 12):
            object_store.delete_all = half if number % 3 else delete_all  # type: ignore[assignment]
            run.publish(low_epoch=run.epoch + 1)
            needed = {f"run-1-{n}.deltas" for n in complete_checkpoints(JOB)}
            assert needed <= set(names(f"{JOB}/shared"))
        object_store.delete_all = delete_all  # type: ignore[method-assign]
        for _ in range(2):
            run.publish(low_epoch=run.epoch + 1)
        assert complete_checkpoints(JOB) == [12, 13]
        assert len(names(f"{JOB}/shared")) == 3
        run.end()

    def test_the_lease_is_asked_when_it_could_have_ended(self, object_store: ObjectStore) -> None:
        now = [1_000_000]
        lease = Lease.acquire(JOB, "run-1", clock=lambda: now[0])
        object_store.requests.clear()
        lease.verify()
        assert object_store.requests == {}
        now[0] += LIFETIME // 2
        lease.verify()
        assert object_store.requests == {"get": 1}
        lease.release()


def end_lease(store: ObjectStore) -> None:
    """As if the owner had not renewed it in time."""
    found = store.read_version(f"{JOB}/lease.json")
    assert found is not None
    data = re.sub(rb'"until": \d+', b'"until": 0', found[0])
    store.put(f"{JOB}/lease.json", data)
