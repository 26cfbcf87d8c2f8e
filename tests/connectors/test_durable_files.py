"""Directories and deletions that may have happened before."""

from pathlib import Path

from millrace.connectors.durable_files import delete_if_there, make_durable_directory


def test_directories_are_made_with_their_parents_and_may_exist(tmp_path: Path) -> None:
    for _ in range(2):
        make_durable_directory(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()


def test_deleting_twice_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    for _ in range(2):
        delete_if_there(str(path))
    assert not path.exists()
