"""Deletions that may have happened before."""

from pathlib import Path

from millrace.connectors.durable_files import delete_if_there


def test_deleting_twice_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    for _ in range(2):
        delete_if_there(str(path))
    assert not path.exists()
