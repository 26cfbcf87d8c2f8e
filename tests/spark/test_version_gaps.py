"""What an older PySpark lacks is told in one line of the log."""

from __future__ import annotations

import logging

import pytest

from millrace.spark.version_gaps import log_gaps


@pytest.mark.parametrize(
    ("version", "told"),
    [("4.0.5", ["PySpark 4.0.5, without what came with 4.1: data reaches"]), ("4.1.0", [])],
)
def test_a_line_for_each_gap(
    version: str, told: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "millrace"):
        log_gaps(version)
    assert [line.partition(" Python")[0] for line in caplog.messages] == told
    assert not any("\n" in line for line in caplog.messages)
