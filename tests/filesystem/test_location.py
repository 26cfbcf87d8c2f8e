"""Locations: one form for paths and file URIs, a refusal for every other scheme."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from millrace.common.errors import UnsupportedFileSystemSchemeError
from millrace.filesystem.location import local_location, qualified, scheme_of

FOREIGN = ["s3://b/k", "S3A://b/k", "hdfs://host:8020/x", "gs://b", "abfss://c@a/x", "dbfs:/mnt/x"]


@pytest.mark.parametrize(
    "uri", ["/data/a b", "file:///data/a%20b", "file:/data/a%20b", "file://localhost/data/a b"]
)
def test_paths_and_file_uris_are_one_path(uri: str) -> None:
    assert qualified(uri) == "/data/a b"
    assert local_location(uri) == Path("/data/a b")
    assert scheme_of(uri) == "file"


def test_a_relative_path_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert qualified("out/x") == str(tmp_path / "out" / "x")
    assert qualified(Path("out")) == str(tmp_path / "out")
    assert local_location("out") == Path("out")


def test_a_directory_with_a_colon_is_a_path_when_written_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert qualified("./s3:/x") == str(tmp_path / "s3:" / "x")
    assert qualified("12:30") == str(tmp_path / "12:30")


@pytest.mark.parametrize("uri", FOREIGN)
def test_other_schemes_are_refused_by_name(uri: str) -> None:
    with pytest.raises(UnsupportedFileSystemSchemeError) as caught:
        qualified(uri)
    assert uri in str(caught.value)
    assert f"'{uri.partition(':')[0]}' is not supported" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("uri", FOREIGN)
def test_a_uri_that_pathlib_has_shortened_is_still_refused(uri: str) -> None:
    with pytest.raises(UnsupportedFileSystemSchemeError):
        qualified(Path(uri))


def test_a_file_uri_of_another_host_is_refused() -> None:
    with pytest.raises(UnsupportedFileSystemSchemeError, match="three slashes.*'data'"):
        qualified("file://data/x")
