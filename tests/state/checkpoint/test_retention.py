"""What is deleted, when, and what must not be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millrace.state.checkpoint.retention import SWEEP_EVERY, Retention

HOUR = 3600.0
NOW = 1_000_000.0


class Directory:
    """A job directory whose files have any age."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "shared").mkdir()

    def checkpoint(self, number: int, complete: bool = True) -> None:
        directory = self.root / f"chk-{number}"
        directory.mkdir()
        if complete:
            (directory / "_metadata").write_bytes(b"")

    def shared(self, name: str, age: float = 0.0) -> str:
        path = self.root / "shared" / name
        path.write_bytes(b"")
        os.utime(path, (NOW - age, NOW - age))
        return f"shared/{name}"

    def names(self) -> set[str]:
        return {str(path.relative_to(self.root)) for path in self.root.glob("*/*")}

    def retention(self, retained: int = 2) -> Retention:
        return Retention(self.root, retained, orphan_age=HOUR, clock=lambda: NOW)


def test_the_newest_stay(tmp_path: Path) -> None:
    """As many as asked for; half-written ones go with their elders."""
    directory = Directory(tmp_path)
    retention = directory.retention()
    for number in (1, 2, 3, 5):
        directory.checkpoint(number, complete=number != 2)
        if number != 2:
            retention.published(number, set)
    assert {path.name for path in tmp_path.glob("chk-*")} == {"chk-3", "chk-5"}


def test_damaged_checkpoints_do_not_count(tmp_path: Path) -> None:
    """They must not push out the last good ones."""
    directory = Directory(tmp_path)
    retention = directory.retention()
    for number in (1, 2, 3):
        directory.checkpoint(number)
    retention.begin(usable=[1], damaged=[2])
    retention.published(3, set)
    assert {path.name for path in tmp_path.glob("chk-*")} == {"chk-1", "chk-2", "chk-3"}


def test_condemned_files_go_with_the_last_that_names_them(tmp_path: Path) -> None:
    """And one checkpoint late even if only one is retained."""
    for retained in (1, 2):
        root = tmp_path / str(retained)
        root.mkdir()
        directory = Directory(root)
        retention = directory.retention(retained)
        path = directory.shared("a.deltas")
        retention.published(1, set)
        retention.condemn([path], 2)
        retention.published(2, set)
        assert (root / path).exists()
        retention.published(3, set)
        assert not (root / path).exists()


def test_orphans_go_when_they_are_old(tmp_path: Path) -> None:
    """What is in use or condemned is no orphan, what is young may be wanted soon."""
    directory = Directory(tmp_path)
    retention = directory.retention()
    used = directory.shared("used", 2 * HOUR)
    condemned = directory.shared("condemned", 2 * HOUR)
    directory.shared("young", HOUR / 2)
    directory.shared("old", 2 * HOUR)
    retention.condemn([condemned], 1)
    retention.published(1, lambda: {used})
    assert directory.names() == {"shared/used", "shared/condemned", "shared/young"}


def test_temporary_files_beside_the_checkpoints_go_too(tmp_path: Path) -> None:
    """Whoever died while writing ``lease.json``; other files there are not ours to judge."""
    directory = Directory(tmp_path)
    retention = directory.retention()
    for name in (".lease.json.r1.0a.tmp", "lease.json", "notes.tmp"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (NOW - 2 * HOUR, NOW - 2 * HOUR))
    (tmp_path / ".lease.json.r2.0b.tmp").touch()
    os.utime(tmp_path / ".lease.json.r2.0b.tmp", (NOW, NOW))
    retention.published(1, set)
    names = {path.name for path in tmp_path.iterdir() if path.is_file()}
    assert names == {".lease.json.r2.0b.tmp", "lease.json", "notes.tmp"}


def test_orphans_are_looked_for_now_and_then(tmp_path: Path) -> None:
    """Not at every checkpoint."""
    directory = Directory(tmp_path)
    retention = directory.retention()
    asked: list[int] = []

    def in_use(number: int) -> set[str]:
        asked.append(number)
        return set()

    for number in range(1, SWEEP_EVERY + 2):
        retention.published(number, lambda number=number: in_use(number))
    assert asked == [1, SWEEP_EVERY + 1]


def test_no_orphans_while_a_checkpoint_is_unreadable(tmp_path: Path) -> None:
    """Nobody knows what it refers to."""
    directory = Directory(tmp_path)
    directory.shared("old", 2 * HOUR)
    retention = directory.retention()
    retention.begin(usable=[1], damaged=[2])
    retention.published(3, set)
    assert directory.names() == {"shared/old"}


def test_beginning_again_forgets_what_was_condemned(tmp_path: Path) -> None:
    """An earlier checkpoint that is gone back to may still need it."""
    directory = Directory(tmp_path)
    retention = directory.retention(1)
    path = directory.shared("a.deltas")
    retention.published(1, set)
    retention.condemn([path], 2)
    retention.begin(usable=[1], damaged=[])
    for number in (2, 3, 4):
        retention.published(number, lambda: {path})
    assert (tmp_path / path).exists()


def refuse(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> None:
    """The manifests of these checkpoints cannot be deleted."""
    real = os.unlink

    def unlink(path: str | Path, **options: int) -> None:
        if Path(path).name == "_metadata" and int(Path(path).parent.name[4:]) in numbers:
            raise PermissionError(path)
        real(path, **options)

    monkeypatch.setattr(os, "unlink", unlink)


def test_a_manifest_that_cannot_be_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes a whole checkpoint as long as it is there: all that it names stays with it."""
    directory = Directory(tmp_path)
    retention = directory.retention(1)
    refuse(monkeypatch, 2)
    paths = {number: directory.shared(str(number)) for number in (1, 2, 3)}
    for number in range(1, 6):
        directory.checkpoint(number)
        (tmp_path / f"chk-{number}" / "_committed").touch()
        retention.condemn([paths[number - 1]] if number - 1 in paths else [], number)
        retention.published(number, set)
    assert {path.name for path in tmp_path.glob("chk-*")} == {"chk-2", "chk-5"}
    assert directory.names() == {
        *(f"chk-{number}/{name}" for number in (2, 5) for name in ("_metadata", "_committed")),
        "shared/2",
        "shared/3",
    }
    retention.discard()
    assert directory.names() == {
        "chk-2/_metadata", "chk-2/_committed", "shared/2", "shared/3"
    }  # fmt: skip
    monkeypatch.undo()
    retention.discard()
    assert directory.names() == set()


def test_deleting_all_changes_no_age(tmp_path: Path) -> None:
    """What a task of the next history has just written is not yet an orphan."""
    directory = Directory(tmp_path)
    retention = directory.retention()
    retention.discard()
    young = directory.shared("young", HOUR / 2)
    directory.checkpoint(1)
    retention.published(1, set)
    assert (tmp_path / young).exists()
