from __future__ import annotations

import pickle
import subprocess
import sys
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
    with pytest.raises(UnsupportedFileSystemSchemeError, match="'ftp' is not supported"):
        file_system_of("ftp://host/x")


def test_what_a_scheme_needs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, which survives pickling."""
    monkeypatch.setattr(registry, "_made", {})
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(UnsupportedFileSystemSchemeError, match="needs the package obstore") as told:
        file_system_of("s3://bucket/x")
    assert "pip install 'millrace[object-stores]'" in str(told.value)
    assert str(pickle.loads(pickle.dumps(told.value))) == str(told.value)
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    with pytest.raises(UnsupportedFileSystemSchemeError, match="'millrace.hdfs.'"):
        file_system_of("hdfs://namenode/x")


def test_object_stores_cost_nothing_until_they_are_used() -> None:
    """Neither when Millrace is imported, nor when a local file is opened."""
    program = (
        "import sys; from millrace.filesystem.registry import file_system_of; file_system_of('/x');"
        "import millrace.datastream;"
        "print({'obstore', 'botocore', 'hdfs_native'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "set()\n"


def test_a_registered_one_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_factories", dict(registry._factories))
    monkeypatch.setattr(registry, "_made", {})
    register_file_system("memory", LocalFileSystem)
    assert file_system_of("memory://a") is file_system_of("MEMORY://b")
