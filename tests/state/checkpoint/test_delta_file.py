"""Delta files and segments: what is written is read, and damage is found by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from millrace.common.errors import CheckpointCorruptError, CheckpointError
from millrace.state.checkpoint.delta_file import (
    MAX_INDEX,
    DeltaEntry,
    DeltaFileRef,
    DeltaLoader,
    read_index,
    write_delta_file,
)
from millrace.state.checkpoint.segment import write_segment
from millrace.state.state_delta import FileRef, StateDelta


@pytest.fixture
def job_dir(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return tmp_path


def inline(epoch: int, data: bytes) -> StateDelta:
    return StateDelta(epoch, f"v{epoch}", 0, data)


def write_two(job_dir: Path) -> DeltaFileRef:
    segment = write_segment(job_dir, "segment-1", b"big" * 10)
    entries: list[DeltaEntry] = [
        ("count", 0, inline(1, b"one")),
        ("count", 1, StateDelta(1, "w1", 1, segment)),
        ("window", 0, inline(2, b"")),
    ]
    return write_delta_file(job_dir, "a.deltas", entries).ref


def read_all(job_dir: Path, ref: DeltaFileRef) -> list[tuple[str, int, int, str, int, bytes]]:
    load = DeltaLoader(job_dir)
    return [
        (stage, subtask, delta.epoch, delta.version, delta.low_epoch, load(delta))
        for stage, subtask, delta in read_index(job_dir, ref)
    ]


def test_round_trip(job_dir: Path) -> None:
    """Deltas in the file and in segments."""
    ref = write_two(job_dir)
    assert read_all(job_dir, ref) == [
        ("count", 0, 1, "v1", 0, b"one"),
        ("count", 1, 1, "w1", 1, b"big" * 10),
        ("window", 0, 2, "v2", 0, b""),
    ]
    assert ref.deltas == 3


def test_the_writer_returns_what_the_index_says(job_dir: Path) -> None:
    """So that nobody needs to read it back."""
    file = write_delta_file(job_dir, "a.deltas", [("s", 0, inline(1, b"one"))])
    assert list(file.entries) == read_index(job_dir, file.ref)
    assert isinstance(file.entries[0][2].data, FileRef)


def test_absorbed_files_are_not_needed_any_more(job_dir: Path) -> None:
    """Their bytes are copied; segments stay what they are."""
    ref = write_two(job_dir)
    merged = write_delta_file(
        job_dir, "b.deltas", read_index(job_dir, ref), tier=1, absorb=[ref.path]
    )
    expected = read_all(job_dir, ref)
    (job_dir / ref.path).unlink()
    assert read_all(job_dir, merged.ref) == expected
    assert merged.ref.tier == 1


def test_absorbing_a_damaged_file_fails(job_dir: Path) -> None:
    """Damage is not copied under a fresh checksum."""
    ref = write_two(job_dir)
    index = read_index(job_dir, ref)
    flip(job_dir / ref.path, 10)
    with pytest.raises(CheckpointCorruptError, match=r"a\.deltas"):
        write_delta_file(job_dir, "b.deltas", index, absorb=[ref.path])
    assert not list((job_dir / "shared").glob("*b.deltas*"))


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)


def cut(path: Path, position: int) -> None:
    path.write_bytes(path.read_bytes()[:position])


@pytest.mark.parametrize("damage", [flip, cut])
@pytest.mark.parametrize("name", ["a.deltas", "segment-1"])
def test_damage_at_every_byte_is_found(
    job_dir: Path, name: str, damage: Callable[[Path, int], None]
) -> None:
    """Header, payloads, index, footer: always by the name of the damaged file."""
    ref = write_two(job_dir)
    path = job_dir / "shared" / name
    whole = path.read_bytes()
    for position in range(len(whole)):
        damage(path, position)
        with pytest.raises(CheckpointCorruptError) as caught:
            read_all(job_dir, ref)
        assert str(caught.value.path) == str(path)
        path.write_bytes(whole)
    assert read_all(job_dir, ref)


def test_another_file_under_the_name(job_dir: Path) -> None:
    """A whole file is refused if it is not the one that was meant."""
    ref = write_two(job_dir)
    write_delta_file(job_dir, "a.deltas", [("s", 0, inline(1, b"other"))])
    with pytest.raises(CheckpointCorruptError, match="bytes instead of"):
        read_index(job_dir, ref)


def test_an_index_of_impossible_length_is_not_read(job_dir: Path) -> None:
    """The file is sparse: its bytes would all be made."""
    ref = write_two(job_dir)
    length = ref.index_offset + MAX_INDEX + 1000
    os.truncate(job_dir / ref.path, length)
    with pytest.raises(CheckpointCorruptError, match="its index has"):
        read_index(job_dir, replace(ref, length=length))


def test_a_segment_that_cannot_be_written(tmp_path: Path) -> None:
    """The reason is given."""
    with pytest.raises(CheckpointError, match="segment-1: No such file"):
        write_segment(tmp_path, "segment-1", b"x", durable=False)
