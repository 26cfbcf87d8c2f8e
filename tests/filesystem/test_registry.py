from __future__ import annotations

from pathlib import Path

import pytest

from millrace.common.errors import UnsupportedFileSystemSchemeError
from millrace.filesystem import registry
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.filesystem.registry import file_system_of, register_file_system


def test_paths_and_file_uris_are_local(tmp_path: Path) -> None:
    for location in (tmp_path, str(tmp_path), tmp_path.as_uri(), "relative"):
        assert isinstance(file_system_of(location), LocalFileSystem)


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(UnsupportedFileSystemSchemeError, match="'s3' is not supported"):
        file_system_of("s3://bucket/x")


def test_a_registered_one_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_factories", dict(registry._factories))
    monkeypatch.setattr(registry, "_made", {})
    register_file_system("memory", LocalFileSystem)
    assert file_system_of("memory://a") is file_system_of("MEMORY://b")
