"""What a worker's standard error leaves out."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr

import pytest

from millrace.spark.hangup_filter import filter_hangups

# as PySpark's daemon does with a worker whose connection is closed
DAEMON = """
def manager(flush):
    try:
        flush()
    except BaseException:
        traceback.print_exc()
"""


@contextmanager
def a_workers_stderr() -> Iterator[io.StringIO]:
    written = io.StringIO()
    with redirect_stderr(written):
        filter_hangups()
        filter_hangups()
        yield written


def handled(error: BaseException, file: str) -> None:
    def flush() -> None:
        raise error

    names = {"traceback": traceback}
    exec(compile(DAEMON, file, "exec"), names)
    names["manager"](flush)  # type: ignore[operator]


@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), ConnectionResetError()])
def test_a_closed_connection_is_no_error(error: OSError) -> None:
    with a_workers_stderr() as written:
        handled(error, "/lib/pyspark.zip/pyspark/daemon.py")
    assert written.getvalue() == ""


def test_other_errors_are_shown() -> None:
    with a_workers_stderr() as written:
        handled(MemoryError("too much"), "/lib/pyspark.zip/pyspark/daemon.py")
    assert "MemoryError: too much" in written.getvalue()


def test_a_users_closed_connection_is_shown() -> None:
    with a_workers_stderr() as written:
        handled(BrokenPipeError(32, "Broken pipe"), "/home/someone/job.py")
    assert "BrokenPipeError" in written.getvalue()


def test_what_functions_print_is_shown() -> None:
    with a_workers_stderr() as written:
        print("a word", file=sys.stderr, flush=True)
        assert not sys.stderr.isatty()
    assert written.getvalue() == "a word\n"
