"""Where checkpoints and logs go when nobody says where."""

from __future__ import annotations

from pathlib import Path

from millrace.cli.state_directory import state_directory


def test_the_xdg_directory_comes_first(tmp_path: Path) -> None:
    environment = {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    assert state_directory(environment) == tmp_path / "state" / "millrace"
    assert (tmp_path / "state" / "millrace").is_dir()


def test_else_it_is_in_the_home_directory(tmp_path: Path) -> None:
    expected = tmp_path / ".local" / "state" / "millrace"
    assert state_directory({"HOME": str(tmp_path)}) == expected
    relative = {"XDG_STATE_HOME": "state", "HOME": str(tmp_path)}
    assert state_directory(relative) == expected


def test_a_home_that_cannot_be_written_to_is_no_obstacle(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    directory = state_directory({"HOME": str(blocked)})
    assert directory.is_dir()
    directory.rmdir()
