"""Settings of file systems: in force for what is opened from then on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from seaweedfs import SeaweedFS

from millrace.filesystem.object_stores.s3 import _address
from millrace.filesystem.registry import file_system_of
from millrace.filesystem.settings import FileSystemSettings, use_settings


@pytest.fixture(autouse=True)
def _default() -> Iterator[None]:
    yield
    use_settings(FileSystemSettings())


def test_the_server_of_a_job(
    s3_server: SeaweedFS, s3_root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instead of the one that the environment names."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    use_settings(FileSystemSettings(s3_server.endpoint, "eu-west-1", True))
    files = file_system_of(s3_root)
    files.publish(f"{s3_root}/a", [b"x"])
    upload = files.begin(f"{s3_root}/b").persist()
    files.commit([upload])
    assert files.read(f"{s3_root}/a") == b"x"


@pytest.mark.parametrize(
    ("endpoint", "style", "address"),
    [
        ("http://127.0.0.1:9", None, ("http://127.0.0.1:9", False)),
        ("https://store.example", False, ("https://b.store.example", True)),
        (
            "https://s3.cn-north-1.amazonaws.com.cn",
            None,
            ("https://b.s3.cn-north-1.amazonaws.com.cn", True),
        ),
        ("https://s3.amazonaws.com", True, ("https://s3.amazonaws.com", False)),
    ],
)
def test_buckets_are_in_the_path_or_the_name_of_the_host(
    endpoint: str, style: bool | None, address: tuple[str, bool]
) -> None:
    assert _address(endpoint, "b", style) == address
