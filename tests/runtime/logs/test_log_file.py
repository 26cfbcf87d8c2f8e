from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from millrace.runtime.logs.log_file import LogFile


def record(message: str, *arguments: object) -> logging.LogRecord:
    return logging.makeLogRecord({"msg": message, "args": arguments})


def test_records_are_appended_also_after_others_have_emptied_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("before\n")
    handler = LogFile(path)
    handler.handle(record("one %s", "tea"))
    assert path.read_text() == "before\none tea\n"
    os.truncate(path, 0)
    handler.handle(record("tw\udce9"))
    assert path.read_bytes() == b"tw\\udce9\n"


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    LogFile(tmp_path / "log").close()
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_a_full_disk_is_no_failure_and_no_endless_complaint(capsys: pytest.CaptureFixture) -> None:
    LogFile("/dev/full").handle(record("lost"))
    assert capsys.readouterr().err == ""


def test_a_message_that_does_not_fit_its_arguments_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    LogFile(tmp_path / "log").handle(record("%d pieces", "many"))
    assert (tmp_path / "log").read_text() == ""
    assert "Logging error" in capsys.readouterr().err
