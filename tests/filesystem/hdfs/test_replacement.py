"""Replacing on a namenode in memory: whatever is broken and whoever is late, no count is lost."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest

from millrace.filesystem.hdfs.name_service import NameService
from millrace.filesystem.hdfs.replacement import ABANDONED_AGE, remove_abandoned, replace_if

FILE = "/d/count"
LOCK = "/d/.count.lock"


class Names:
    """Directories are names with None. Each call is one step, as on a namenode."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | None] = {"/d": None}
        self._lock = threading.RLock()

    def make_directory(self, path: str, permission: int) -> None:
        with self._lock:
            self.files.setdefault(path, None)

    def write(self, path: str, writer: Any, data: Any, permission: int, make_parents: bool) -> Any:
        with self._lock:
            assert path.rpartition("/")[0] in self.files
            self.files[path] = bytes(data)

    def close(self, path: str, writer: Any, flush: bool) -> None:
        """It was whole before."""

    def entries(self, path: str) -> Iterator[Any]:
        with self._lock:
            found = [name for name in self.files if name.startswith(f"{path}/")]
        return iter([SimpleNamespace(path=name) for name in found])

    def rename(self, source: str, target: str, overwrite: bool = False) -> None:
        with self._lock:
            if source not in self.files:
                raise FileNotFoundError(errno.ENOENT, "none", source)
            if target in self.files and not overwrite:
                raise FileExistsError(errno.EEXIST, "one", target)
            for name in [n for n in self.files if n == source or n.startswith(f"{source}/")]:
                self.files[target + name.removeprefix(source)] = self.files.pop(name)

    def delete(self, path: str, recursive: bool = False) -> bool:
        with self._lock:
            below = [name for name in self.files if name.startswith(f"{path}/")]
            if below and not recursive:
                raise OSError(errno.ENOTEMPTY, "not empty", path)
            for name in below:
                del self.files[name]
            return self.files.pop(path, b"") != b"" if path in self.files else False


def is_(names: Names, data: bytes) -> Callable[[], bool]:
    return lambda: names.files.get(FILE) == data


def replace(names: Names, data: bytes, unchanged: Callable[[], bool], patience: float = 10) -> bool:
    return replace_if(cast(NameService, names), FILE, data, unchanged, is_(names, data), patience)


class Forgetful(Names):
    """Whose answers to some renames are lost, so that the client sends them again."""

    def __init__(self, lost: set[int]) -> None:
        super().__init__()
        self.lost, self.renames = lost, 0

    def rename(self, source: str, target: str, overwrite: bool = False) -> None:
        super().rename(source, target, overwrite)
        self.renames += 1
        if self.renames in self.lost:
            super().rename(source, target, overwrite)


@pytest.mark.parametrize("lost", [{1}, {2}, {1, 2}], ids=["lock", "file", "both"])
def test_answers_to_renames_are_lost(lost: set[int]) -> None:
    """What was written is not told to be another's."""
    names = Forgetful(lost)
    names.files[FILE] = b"old"
    assert replace(names, b"new", is_(names, b"old"))
    assert names.files == {"/d": None, FILE: b"new"}


def test_what_another_has_written_since_is_not_taken_for_ones_own() -> None:
    names = Forgetful({2})
    names.files[FILE] = b"old"
    before = [True, False]

    def unchanged() -> bool:
        if not before[-1] and len(before) == 1:
            names.files[FILE] = b"another's"
        return before.pop(0)

    assert not replace(names, b"new", unchanged)
    assert names.files == {"/d": None, FILE: b"another's"}


def test_only_what_is_unchanged_is_replaced() -> None:
    names = Names()
    names.files[FILE] = b"old"
    assert not replace(names, b"new", is_(names, b"older"))
    assert names.files == {"/d": None, FILE: b"old"}
    assert replace(names, b"new", is_(names, b"old"))
    assert names.files == {"/d": None, FILE: b"new"}


def test_the_lock_of_a_dead_holder_is_broken() -> None:
    names = Names()
    names.files |= {FILE: b"old", LOCK: None, f"{LOCK}/dead": b"never"}
    assert replace(names, b"new", is_(names, b"old"), patience=0.05)
    assert names.files == {"/d": None, FILE: b"new"}


def test_a_lock_whose_holder_died_after_it_had_replaced() -> None:
    names = Names()
    names.files |= {FILE: b"old", LOCK: None}
    assert replace(names, b"new", is_(names, b"old"))
    assert names.files == {"/d": None, FILE: b"new"}


def test_what_killed_writers_left_is_removed_after_an_hour() -> None:
    """Not what is of others, nor what somebody may be writing now."""
    names, old, new = Names(), 1_000_000, 1_000_001
    left = f"/d/.count.{'0a' * 16}.lock"
    kept = {
        FILE: old,
        f"/d/.count.{'1b' * 16}.lock": new,
        f"/d/.other.{'0a' * 16}.lock": old,
        "/d/.count.more.lock": old,
    }
    names.files |= dict.fromkeys((left, LOCK, *kept))
    names.files |= {f"{left}/x": b"new", f"{LOCK}/x": b"new"}

    def entries(path: str) -> Iterator[Any]:
        for location in (left, LOCK, *kept):
            if path == "/d" and location in names.files:
                written = kept.get(location, old)
                isdir = location != FILE
                yield SimpleNamespace(path=location, isdir=isdir, modification_time=written)

    names.entries = entries  # type: ignore[method-assign]
    remove_abandoned(cast(NameService, names), FILE, lambda: old / 1000 + ABANDONED_AGE)
    assert set(names.files) == {"/d", *kept}


def test_a_holder_that_wakes_up_late_replaces_nothing() -> None:
    names = Names()
    names.files[FILE] = b"old"
    looks: list[bool] = []

    def slow() -> bool:
        looks.append(names.files[FILE] == b"old")
        if len(looks) == 1:  # from here on it is taken for dead
            assert replace(names, b"other", is_(names, b"old"), patience=0.05)
        return looks[-1]

    assert not replace(names, b"late", slow)
    assert looks == [True, False]
    assert names.files == {"/d": None, FILE: b"other"}


def test_counting_up_together_while_every_lock_is_broken_at_once() -> None:
    names = Names()
    names.files[FILE] = b"0"

    def count_up(_: int) -> None:
        while True:
            found = names.files[FILE]
            assert found is not None
            if replace(names, b"%d" % (int(found) + 1), is_(names, found), patience=0):
                return

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count_up, range(40)))
    assert names.files == {"/d": None, FILE: b"40"}
