"""A trial of a directory by several processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.filesystem.location import qualified
from millrace.filesystem.registry import file_system_of
from millrace.filesystem.trial import StorageTrial


def test_all_who_take_part_share_the_directory(store_root: str) -> None:
    """On the disk and on real stores; nothing is left behind."""
    trial = StorageTrial.begin(f"{store_root}/checkpoints")
    StorageTrial(trial.place).take_part("worker-a")
    StorageTrial(trial.place).take_part("worker-b")
    trial.verify("worker-a")
    trial.verify("worker-b")
    trial.verify_conditions()
    trial.end()
    assert list(file_system_of(trial.place).list(trial.place, recursive=True)) == []


def test_a_directory_that_only_looks_the_same(tmp_path: Path) -> None:
    """As on two machines, each with a disk of its own."""
    trial = StorageTrial.begin(tmp_path / "here")
    elsewhere = StorageTrial(trial.place.replace("/here/", "/there/"))
    with pytest.raises(FileNotFoundError, match="another process wrote is not there: first"):
        elsewhere.take_part("worker")
    with pytest.raises(FileNotFoundError, match="is not there: worker"):
        trial.verify("worker")


def test_a_store_whose_conditions_do_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = file_system_of(tmp_path)
    write_if = type(files).write_if

    def careless(self: object, location: str, data: bytes, version: str | None) -> str | None:
        current = files.read_version(location)
        return write_if(files, location, data, current[1] if current else None)

    trial = StorageTrial.begin(qualified(tmp_path))
    monkeypatch.setattr(type(files), "write_if", careless)
    with pytest.raises(OSError, match="conditional writes have no effect"):
        trial.take_part("worker")
    with pytest.raises(OSError, match="replaced by its old version"):
        trial.verify_conditions()


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        StorageTrial.begin(str(tmp_path / "file"))
