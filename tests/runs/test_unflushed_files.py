"""A flush in a test returns at once, and still refuses what is no file."""

from __future__ import annotations

import os

import pytest
from unflushed_files import checked_only


def test_tests_do_not_wait_for_the_disk() -> None:
    assert os.fsync is checked_only
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fsync(987_654)
