"""The file systems that all do the same."""

from __future__ import annotations

import pytest

from millrace.filesystem.file_system import FileSystem
from millrace.filesystem.registry import file_system_of


@pytest.fixture
def root(store_root: str) -> str:
    """Where a file system may be written to."""
    return store_root


@pytest.fixture
def files(root: str) -> FileSystem:
    return file_system_of(root)
