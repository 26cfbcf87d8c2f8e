"""The position of a query: what is kept of its directory, and what is made of that again."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.spark.query_position import QueryPosition


def directory_of(path: Path, **files: str) -> Path:
    for name, content in files.items():
        file = path / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return path


def test_two_offsets_and_the_notes(tmp_path: Path) -> None:
    found = QueryPosition.read(
        directory_of(
            tmp_path / "one",
            metadata="id",
            offsets__3="three",
            offsets__4="four",
            offsets__5="five",
            offsets__6="six",
            commits__4="done",
            sources__0__0="zero",
        ),
        5,
    )
    again = tmp_path / "two"
    found.write(again)
    files = {str(p.relative_to(again)): p.read_text() for p in again.rglob("*") if p.is_file()}
    assert files.pop("commits/5").startswith("v1\n")
    assert files == {
        "metadata": "id",
        "offsets/4": "four",
        "offsets/5": "five",
        "sources/0/0": "zero",
    }


def test_the_first(tmp_path: Path) -> None:
    found = QueryPosition.read(directory_of(tmp_path, offsets__0="zero"), 0)
    assert found.files == {"offsets/0": b"zero"}


def test_checksums_and_unfinished_files_stay_behind(tmp_path: Path) -> None:
    directory = directory_of(tmp_path, offsets__0="zero", metadata="id")
    (directory / ".metadata.crc").write_text("crc")
    assert sorted(QueryPosition.read(directory, 0).files) == ["metadata", "offsets/0"]


def test_state_of_its_own(tmp_path: Path) -> None:
    directory = directory_of(tmp_path, offsets__0="zero", state__0__0__1="delta")
    with pytest.raises(JobDefinitionError, match="keeps state in Spark"):
        QueryPosition.read(directory, 0)
