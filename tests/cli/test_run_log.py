"""What a program logs in the driver without setting up logging is in the log of its run."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from millrace.cli.run_log import LastResort


def warn(handler: logging.Handler, *said: object) -> None:
    logger = logging.Logger("app")
    logger.addHandler(handler)
    logger.warning(*said)


def test_warnings_go_to_the_log_and_to_where_python_shows_them(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    warn(LastResort(tmp_path / "log", False, logging.lastResort), "got %d", 3)
    assert (tmp_path / "log").read_text().endswith(" WARNING app: got 3\n")
    assert capsys.readouterr().err == "got 3\n"


@pytest.mark.parametrize("as_json", [False, True])
def test_a_message_that_does_not_fit_its_arguments_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture, as_json: bool
) -> None:
    warn(LastResort(tmp_path / "log", as_json, logging.lastResort), "got %d", "x")
    assert (tmp_path / "log").read_text() == ""
    assert capsys.readouterr().err.count("--- Logging error ---") == 1
