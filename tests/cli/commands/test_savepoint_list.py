"""``millrace savepoint list`` and ``tree``: the savepoints that there are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

A, B, C, D = (digit * 12 for digit in "abcd")


def fill(place: Any) -> None:
    """a -> b -> c, and d whose parent is not here."""
    place.savepoint("x", id=A, time=1_000)
    place.savepoint("xy", id=B, parent=A, time=2_000)
    place.savepoint("xyz", id=C, parent=A, time=3_000, parallelism=2)
    place.savepoint("x", id=D, parent="0" * 12, time=2_500, name="other")


def test_the_newest_comes_first(place: Any, millrace: Any) -> None:
    fill(place)
    listed = millrace("savepoint", "list")
    lines = listed.out.splitlines()
    assert [line.split()[0] for line in lines] == ["ID", *(id[:8] for id in (C, D, B, A))]
    assert str(place.savepoints) in lines[1]
    assert listed.code == 0


def test_a_list_for_machines(place: Any, millrace: Any) -> None:
    fill(place)
    told = json.loads(millrace("savepoint", "list", place.directory, "--json").out)
    assert [(s["id"], s["parent"], s["time"], s["parallelism"]) for s in told] == [
        (C, A, 3_000, 2), (D, "0" * 12, 2_500, 1), (B, A, 2_000, 1), (A, None, 1_000, 1),
    ]  # fmt: skip


def test_a_tree(place: Any, millrace: Any) -> None:
    fill(place)
    drawn = millrace("savepoint", "tree").out.splitlines()
    heads = [line.partition("  ")[0] for line in drawn]
    assert heads == [
        f"* {C[:8]}",
        f"| * {D[:8]}",
        "| o 00000000",
        "|",
        f"| * {B[:8]}",
        "|/",
        f"* {A[:8]}",
    ]
    assert "not here" in drawn[2]
    assert "  other  chk-1  " in drawn[1]
    assert "  x 2" in drawn[0]


def test_checkpoints_are_no_savepoints(place: Any, millrace: Any) -> None:
    place.run("ab")
    listed = millrace("savepoint", "list", place.directory)
    assert (listed.code, listed.out) == (0, "")
    assert "there are no savepoints below" in listed.err


def test_a_damaged_savepoint_does_not_hide_the_others(place: Any, millrace: Any) -> None:
    path = place.savepoint(id=A)
    other = place.savepoint(id=B)
    (path / "_metadata").write_bytes(b"nothing")
    listed = millrace("savepoint", "list")
    assert str(path / "_metadata") in listed.err
    assert str(other) in listed.out


def test_a_directory_that_is_not_there(place: Any, millrace: Any) -> None:
    listed = millrace("savepoint", "tree", place.directory / "none")
    assert listed.code == 1
    assert "there is no directory" in listed.err


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A directory that is nested deeper than Python recurses; removed without recursion, too."""
    paths = [f"{tmp_path}{'/d' * depth}" for depth in range(1, 1200)]
    for path in paths:
        os.mkdir(path)
    yield Path(paths[-1])
    for path in reversed(paths):
        os.rmdir(path)


def test_a_directory_that_cannot_be_looked_into_does_not_hide_the_others(
    place: Any, millrace: Any, deep: Path
) -> None:
    """Links in a circle, and directories nested deeper than Python recurses."""
    path = place.savepoint("x", id=A)
    circle = place.savepoints / "circle"
    circle.mkdir()
    (circle / "_metadata").symlink_to(circle / "_metadata")
    (path / "loop").symlink_to(path / "loop")
    for command in (("list",), ("list", "--json"), ("tree",)):
        listed = millrace("savepoint", *command, place.directory)
        assert (listed.code, A[:8] in listed.out) == (0, True), listed.err
    shown = millrace("savepoint", "show", circle / "_metadata")
    assert (shown.code, shown.err.count("millrace: ")) == (1, 1)


def test_a_name_that_is_too_long(millrace: Any) -> None:
    for word in ("x" * 5000, "x/" * 3000):
        told = millrace("savepoint", "show", word)
        assert (told.code, told.err.count("millrace: ")) == (1, 1)
