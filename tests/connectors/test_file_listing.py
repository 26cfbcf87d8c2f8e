"""Which files a path stands for."""

import os
from pathlib import Path

import pytest

from millrace.connectors import file_listing
from millrace.connectors.errors import SourceFileError


def list_files(root: str) -> list[str]:
    return [file.location for file in file_listing.list_files(root)]


def test_directories_are_listed_below_sorted_without_hidden(tmp_path: Path) -> None:
    for name in ("b/2", "b/1", "a", ".hidden", "_SUCCESS", "_tmp/x", "b/.part"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    expected = [str(tmp_path / name) for name in ("a", "b/1", "b/2")]
    assert list_files(str(tmp_path)) == expected


def test_what_is_in_hidden_directories_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".snapshot" / "deep").mkdir(parents=True)
    (tmp_path / "a").touch()
    looked: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: looked.append(path) or scandir(path))
    assert list_files(str(tmp_path)) == [str(tmp_path / "a")]
    assert not any(".snapshot" in path for path in looked)


def test_a_file_named_outright_is_read_even_if_hidden(tmp_path: Path) -> None:
    path = tmp_path / "_log"
    path.touch()
    assert list_files(str(path)) == [str(path)]


def test_a_link_to_a_file_counts_as_one(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    assert list_files(str(tmp_path)) == [str(tmp_path / "data"), str(tmp_path / "link")]


def test_links_that_lead_back_are_not_followed(tmp_path: Path) -> None:
    """And the others are, as often as they come."""
    for name in ("in/a", "in/b", "other"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "data").touch()
    (tmp_path / "in" / "a" / "up").symlink_to("..")
    (tmp_path / "in" / "b" / "other").symlink_to(tmp_path / "other")
    (tmp_path / "other" / "back").symlink_to(tmp_path / "in" / "b")
    found = [path.removeprefix(f"{tmp_path}/in/") for path in list_files(str(tmp_path / "in"))]
    assert found == ["a/data", "b/data", "b/other/data"]


def test_nothing_there_is_an_error_naming_the_path(tmp_path: Path) -> None:
    with pytest.raises(SourceFileError, match="missing: there is no such file"):
        list_files(str(tmp_path / "missing"))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*/data-?.csv", ["a/data-1.csv", "b/data-1.csv", "b/data-2.csv"]),
        ("b/data-[2-9].csv", ["b/data-2.csv"]),
        ("a*", ["a/data-1.csv", "a/deep/x"]),
        ("*/deep/*", ["a/deep/x"]),
        ("*.none", []),
    ],
)
def test_wildcards(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    for name in ("a/data-1.csv", "a/deep/x", "b/data-1.csv", "b/data-2.csv", "b/.data-3.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert list_files(f"{tmp_path}/{pattern}") == [f"{tmp_path}/{name}" for name in expected]


def test_a_file_that_is_called_like_a_pattern_is_itself(tmp_path: Path) -> None:
    for name in ("[1]", "1"):
        (tmp_path / name).touch()
    assert list_files(f"{tmp_path}/[1]") == [f"{tmp_path}/[1]"]
