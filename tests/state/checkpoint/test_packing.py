"""Packing in tiers, a little per checkpoint, and the thread that does it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from millrace.state.checkpoint import packing
from millrace.state.checkpoint.delta_file import DeltaEntry, DeltaLoader, write_delta_file
from millrace.state.checkpoint.delta_set import DeltaSet
from millrace.state.checkpoint.packer import PAUSE_AFTER_ERROR, Packer
from millrace.state.checkpoint.packing import FILES_PER_TIER, PackedFile, Packing, choose
from millrace.state.checkpoint.segment import write_segment
from millrace.state.state_delta import FileRef, StateDelta


@pytest.fixture
def job_dir(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return tmp_path


def grown(job_dir: Path, deltas: DeltaSet, count: int, start: int = 1, size: int = 1) -> DeltaSet:
    for epoch in range(start, start + count):
        entry = ("s", 0, StateDelta(epoch, f"v{epoch}", 0, b"%d" % epoch * size))
        file = write_delta_file(job_dir, f"{epoch}.deltas", [entry], durable=False)
        deltas = deltas.with_file(file)
    return deltas


def contents(job_dir: Path, deltas: DeltaSet) -> list[bytes]:
    load = DeltaLoader(job_dir)
    return [load(delta) for delta in deltas.by_subtask().get(("s", 0), [])]


def packer(job_dir: Path) -> Packer:
    return Packer(job_dir, "run", durable=False)


def work(worker: Packer, deltas: DeltaSet, added: int = 0) -> list[PackedFile]:
    """Copy a piece and see what is ready."""
    worker.offer(deltas, added)
    worker.wait()
    return worker.ready()


def shared(job_dir: Path) -> list[str]:
    return sorted(path.name for path in (job_dir / "shared").iterdir())


def pack_whole(job_dir: Path, deltas: DeltaSet) -> DeltaSet:
    """With all pieces of one group copied."""
    (group,) = choose(deltas)
    one = Packing(group, deltas, job_dir, "p")
    while one.packed is None:
        one.step(deltas, 1, lambda: None)
    return one.packed.applied_to(deltas)


def test_a_full_tier_is_packed(job_dir: Path) -> None:
    """Not before, and the state stays the same."""
    deltas = grown(job_dir, DeltaSet(), FILES_PER_TIER - 1)
    assert choose(deltas) == []
    deltas = grown(job_dir, deltas, 1, start=FILES_PER_TIER)
    before = contents(job_dir, deltas)
    (packed,) = work(packer(job_dir), deltas)
    after = packed.applied_to(deltas)
    assert [file.ref.tier for file in after.files.values()] == [1]
    for path in deltas.files:
        (job_dir / path).unlink()
    assert contents(job_dir, after) == before


def test_a_piece_per_checkpoint(job_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In proportion to what the checkpoint adds, and ready before the tier is full again."""
    monkeypatch.setattr(packing, "MIN_BYTES_PER_STEP", 0)
    size = 1000
    deltas = grown(job_dir, DeltaSet(), FILES_PER_TIER, size=size)
    worker = packer(job_dir)
    grew, length = [], 0
    for epoch in range(FILES_PER_TIER + 1, 2 * FILES_PER_TIER):
        if work(worker, deltas, added=3 * size):
            break
        (draft,) = [job_dir / path for path in worker.working_files() if path.endswith(".tmp")]
        grew.append(draft.stat().st_size - length)
        length += grew[-1]
        deltas = grown(job_dir, deltas, 1, start=epoch, size=size)
    else:
        pytest.fail("not ready before the tier was full again")
    assert max(grew) < 3 * size * packing.PACE + 3 * size
    assert len(grew) > FILES_PER_TIER // 2


def test_even_a_delta_is_copied_in_pieces(job_dir: Path) -> None:
    """A first load among small changes is no reason to copy much at once."""
    deltas = grown(job_dir, DeltaSet(), 1, size=10_000)
    deltas = grown(job_dir, deltas, FILES_PER_TIER - 1, start=2)
    (group,) = choose(deltas)
    one = Packing(group, deltas, job_dir, "p")
    sizes = []
    while one.packed is None:
        before = one.remaining
        one.step(deltas, 100, lambda: None)
        sizes.append(before - one.remaining)
    assert max(sizes) <= 101
    assert one.remaining == 0
    assert contents(job_dir, one.packed.applied_to(deltas)) == contents(job_dir, deltas)


def test_a_tier_that_fills_up_is_packed_faster(
    job_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small checkpoints after big ones must not let the files pile up."""
    monkeypatch.setattr(packing, "MIN_BYTES_PER_STEP", 0)
    deltas = grown(job_dir, DeltaSet(), FILES_PER_TIER, size=1000)
    worker = packer(job_dir)
    for epoch in range(FILES_PER_TIER + 1, 3 * FILES_PER_TIER):
        if work(worker, deltas, added=1):
            break
        deltas = grown(job_dir, deltas, 1, start=epoch)
    assert len(deltas.files) <= 2 * FILES_PER_TIER


def test_dead_deltas_are_left_out(job_dir: Path) -> None:
    """Only what a restore needs is copied, even of deltas that die while others are copied."""
    deltas = grown(job_dir, DeltaSet(), FILES_PER_TIER)
    (group,) = choose(deltas)
    one = Packing(group, deltas, job_dir, "p")
    one.step(deltas, 5, lambda: None)
    later = FILES_PER_TIER + 1
    low_epoch = ("s", 0, StateDelta(later, f"v{later}", later - 3, b"later"))
    deltas = deltas.with_file(write_delta_file(job_dir, "later.deltas", [low_epoch]))
    while one.packed is None:
        one.step(deltas, 5, lambda: None)
    assert one.packed.file.ref.deltas < 10
    assert contents(job_dir, one.packed.applied_to(deltas)) == contents(job_dir, deltas)


def test_a_group_that_dies_altogether(job_dir: Path) -> None:
    """Nothing of it is left in the set."""
    deltas = grown(job_dir, DeltaSet(), FILES_PER_TIER)
    (group,) = choose(deltas)
    one = Packing(group, deltas, job_dir, "p")
    one.step(deltas, 5, lambda: None)
    later = FILES_PER_TIER + 1
    low_epoch = ("s", 0, StateDelta(later, f"v{later}", later, b"later"))
    deltas = deltas.with_file(write_delta_file(job_dir, "later.deltas", [low_epoch]))
    for path in group.sources:
        (job_dir / path.ref.path).unlink()
    one.step(deltas, 1, lambda: None)
    assert one.packed is not None
    assert list(one.packed.applied_to(deltas).files) == ["shared/later.deltas"]


def test_tiers_of_tiers(job_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of files stays small over many checkpoints, several tiers at work at a time."""
    monkeypatch.setattr(packing, "FILES_PER_TIER", 4)
    monkeypatch.setattr(packing, "MIN_BYTES_PER_STEP", 0)
    deltas, worker = DeltaSet(), packer(job_dir)
    most = at_once = 0
    for epoch in range(1, 401):
        deltas = grown(job_dir, deltas, 1, start=epoch)
        packed = work(worker, deltas, added=3)
        for one in packed:
            deltas = one.applied_to(deltas)
        worker.taken(packed)
        most = max(most, len(deltas.files))
        at_once = max(at_once, len(worker.working_files()))
    assert contents(job_dir, deltas) == [b"%d" % epoch for epoch in range(1, 401)]
    assert most < 32
    assert at_once > 2


def test_a_big_file_that_is_mostly_dead(job_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One idle subtask does not keep the bytes of all the others."""
    monkeypatch.setattr(packing, "MIN_REWRITTEN_BYTES", 100)
    idle, busy = (
        ("s", 1, StateDelta(1, "i", 0, b"idle")),
        ("s", 0, StateDelta(1, "b", 0, b"x" * 1000)),
    )
    file = write_delta_file(job_dir, "a.deltas", [idle, busy])
    deltas = DeltaSet().with_file(file)
    assert choose(deltas) == []
    again = ("s", 0, StateDelta(2, "c", 2, b"y"))
    deltas = deltas.with_file(write_delta_file(job_dir, "b.deltas", [again]))
    assert choose(deltas, busy=[0]) == []
    deltas = pack_whole(job_dir, deltas)
    assert [f.ref.deltas for f in deltas.files.values()] == [1, 1]
    assert sum(f.ref.length for f in deltas.files.values()) < 500
    assert choose(deltas) == []


def segments(job_dir: Path, count: int, size: int = 10) -> DeltaSet:
    """A set of as many files as a tier takes, some of which refer to a segment."""
    deltas = DeltaSet()
    for epoch in range(1, FILES_PER_TIER + 1):
        data: FileRef | bytes = b"x" * size
        if epoch <= count:
            data = write_segment(job_dir, f"segment-{epoch}", b"x" * size, durable=False)
        entry: DeltaEntry = ("s", 0, StateDelta(epoch, f"v{epoch}", 0, data))
        deltas = deltas.with_file(write_delta_file(job_dir, f"{epoch}.deltas", [entry]))
    return deltas


@pytest.mark.parametrize(("count", "absorbed"), [(3, 0), (FILES_PER_TIER, FILES_PER_TIER)])
def test_many_small_segments_are_absorbed(job_dir: Path, count: int, absorbed: int) -> None:
    """A few may stay files of their own."""
    deltas = segments(job_dir, count)
    before = contents(job_dir, deltas)
    (packed,) = work(packer(job_dir), deltas)
    assert len(packed.segments) == absorbed
    for path in (*packed.sources, *packed.segments):
        (job_dir / path).unlink()
    assert contents(job_dir, packed.applied_to(deltas)) == before


def test_big_segments_stay(job_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are copied by nobody, and do not count as something to be copied."""
    monkeypatch.setattr(packing, "BIG_SEGMENT", 10)
    deltas = segments(job_dir, FILES_PER_TIER)
    (group,) = choose(deltas)
    one = Packing(group, deltas, job_dir, "p")
    assert one.remaining == 0
    one.step(deltas, 1, lambda: None)
    assert one.packed is not None
    assert not one.packed.segments


def test_errors_are_logged_and_tried_again(job_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They never reach the job."""
    deltas = grown(job_dir, DeltaSet(), FILES_PER_TIER)
    hidden = job_dir / "shared" / "1.deltas"
    content = hidden.read_bytes()
    hidden.unlink()
    worker = packer(job_dir)
    assert work(worker, deltas) == []
    with caplog.at_level(logging.WARNING):
        assert work(worker, deltas) == []
    assert "1.deltas is corrupt: the file is missing" in caplog.text
    assert len(shared(job_dir)) == FILES_PER_TIER - 1
    hidden.write_bytes(content)
    for _ in range(PAUSE_AFTER_ERROR - 1):
        assert work(worker, deltas) == []
    assert work(worker, deltas)


def test_only_what_was_taken_goes(job_dir: Path) -> None:
    """A file that got ready meanwhile waits for the next checkpoint."""
    worker = packer(job_dir)
    packed = work(worker, grown(job_dir, DeltaSet(), FILES_PER_TIER))
    worker.taken([])
    assert worker.ready() == packed
    worker.taken(packed)
    assert worker.ready() == []


def test_discarding_deletes_what_was_made(job_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody refers to it, whether it is ready or half done."""
    deltas = grown(job_dir, DeltaSet(), FILES_PER_TIER)
    worker = packer(job_dir)
    assert work(worker, deltas)
    worker.discard()
    assert worker.ready() == []
    assert len(shared(job_dir)) == FILES_PER_TIER
    monkeypatch.setattr(packing, "MIN_BYTES_PER_STEP", 0)
    assert not work(worker, deltas, added=3)
    assert len(worker.working_files() & {f"shared/{name}" for name in shared(job_dir)}) == 1
    worker.discard()
    assert worker.working_files() == set()
    assert len(shared(job_dir)) == FILES_PER_TIER


def test_discarding_stops_the_copying(job_dir: Path) -> None:
    """The thread ends, nothing is left, and packing can begin again."""
    deltas = grown(job_dir, DeltaSet(), FILES_PER_TIER)
    worker = packer(job_dir)
    worker._cancelled.set()
    assert work(worker, deltas) == []
    worker.discard()
    assert len(shared(job_dir)) == FILES_PER_TIER
    assert work(worker, deltas)
