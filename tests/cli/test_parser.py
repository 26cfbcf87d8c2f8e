"""Slips of the finger are answered with what was probably meant, and exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.cli.main import main


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["stauts", "job"], "there is no command 'stauts'; did you mean 'status'?"),
        (["frobnicate"], "there is no command 'frobnicate'; there are run, server, sql, statefun"),
        (["run"], "no job file is named: write 'millrace run job.py'"),
        (["run", "--reusme", "job.py"], "there is no option --reusme; did you mean '--resume'?"),
        (["run", "--claim-mode", "CLAM", "job.py"], "did you mean 'CLAIM'?"),
        (["list", "--jsn"], "there is no option --jsn; did you mean '--json'?"),
        (["savepoint", "show"], "is missing"),
        (
            ["sql", "own.sql"],
            "one argument too many; to run a file, write '-f own.sql'",
        ),
        (["list", "jobs"], "'jobs' is one argument too many"),
        ([], "COMMAND is missing"),
    ],
)
def test_words(words: list[str], answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert answer in err
    assert err.startswith("millrace: ")


def test_files_and_directories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "alarms.py").touch()
    for words, answer in (
        (["run", str(tmp_path / "alarm.py")], f"did you mean '{tmp_path / 'alarms.py'}'?"),
        (["run", str(tmp_path)], "is a directory"),
        (["run", str(tmp_path / "no" / "job.py")], f"there is no directory {tmp_path / 'no'}"),
        (["list", "--checkpoint-dir", str(tmp_path / "no")], "there is no directory"),
        (["status", "x", "--checkpoint-dir", str(tmp_path / "no")], "there is no directory"),
    ):
        assert main(words) == 2
        assert answer in capsys.readouterr().err
