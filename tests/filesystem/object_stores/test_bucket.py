"""Buckets: conditional writes whose answer is lost, errors that tell no secrets."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest
from obstore.store import MemoryStore
from seaweedfs import SeaweedFS

from millrace.filesystem.file_system import FileSystem
from millrace.filesystem.object_stores.bucket import Bucket, ObjectClients
from millrace.filesystem.object_stores.refusals import Refused
from millrace.filesystem.registry import _s3, file_system_of

LOST = "Generic error: Error performing PUT http://host/key?sig=secret - status code: 503"
CONFLICT = (
    "Server returned non-2xx status code: 409 Conflict: "
    "<Error><Code>ConditionalRequestConflict</Code><Message>try again</Message></Error>"
)


class Answers:
    """obstore, whose answers get lost: the request is carried out, or is not."""

    def __init__(self, *losses: bool, text: str = LOST) -> None:
        import obstore

        self._obstore = obstore
        self._losses = list(losses)
        self._text = text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._obstore, name)

    def put(self, *arguments: Any, **options: Any) -> Any:
        if self._losses:
            if self._losses.pop(0):
                self._obstore.put(*arguments, **options)
            raise self._obstore.exceptions.GenericError(self._text)
        return self._obstore.put(*arguments, **options)


def bucket(*losses: bool, sleep: Callable[[float], None] = lambda seconds: None) -> Bucket:
    store: Any = MemoryStore()
    made = Bucket("s3://bucket/", ObjectClients(store, store, None), sleep)  # type: ignore[arg-type]
    made._obstore = Answers(*losses)
    return made


class TestConditionalWrites:
    def test_what_was_written_is_ours_though_the_answer_was_lost(self) -> None:
        pauses: list[float] = []
        one = bucket(True, True, sleep=pauses.append)
        version = one.put_if("key", b"ours", None)
        assert one.whole("key") == (b"ours", version)
        assert pauses == [0.1]

    def test_a_request_that_was_not_carried_out_is_repeated(self) -> None:
        one = bucket(False, False)
        assert one.put_if("key", b"ours", None) is not None
        assert one.whole("key")[0] == b"ours"

    def test_what_another_has_written_is_not_ours(self) -> None:
        one = bucket()
        one.put("key", b"theirs")
        one._obstore = Answers(False)
        assert one.put_if("key", b"ours", None) is None

    def test_the_same_content_of_another_is_not_ours(self) -> None:
        """Nobody's answer was lost: who comes second has not written."""
        one = bucket()
        assert one.put_if("key", b"same", None) is not None
        assert one.put_if("key", b"same", None) is None

    def test_a_conflict_with_a_write_that_is_under_way_is_none_with_its_outcome(self) -> None:
        """S3 asks to repeat the request."""
        one = bucket()
        one._obstore = Answers(False, text=CONFLICT)
        assert one.put_if("key", b"ours", None) is not None
        assert one.whole("key")[0] == b"ours"

    def test_a_store_that_never_answers(self) -> None:
        one = bucket(*[False] * 6)
        with pytest.raises(Refused, match="status code: 503") as told:
            one.put_if("key", b"ours", None)
        assert (told.value.errno, told.value.filename) == (errno.EIO, "s3://bucket/key")
        assert "secret" not in str(told.value)


class TestRefusals:
    @pytest.fixture
    def stranger(
        self, s3_server: SeaweedFS, s3_root: str, monkeypatch: pytest.MonkeyPatch
    ) -> FileSystem:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASTRANGER")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "the-secret-of-a-stranger")
        return _s3()

    def test_neither_keys_nor_urls_are_told(self, stranger: FileSystem, s3_root: str) -> None:
        def upload() -> None:
            stranger.begin(f"{s3_root}/a").persist()

        for attempt in (
            lambda: stranger.publish(f"{s3_root}/a", [b"x"]),
            lambda: stranger.write_if(f"{s3_root}/a", b"x", None),
            lambda: list(stranger.list(s3_root)),
            lambda: list(stranger.uploads(s3_root)),
            lambda: stranger.read(f"{s3_root}/a"),
            upload,
        ):
            with pytest.raises(PermissionError, match="InvalidAccessKeyId") as told:
                attempt()
            shown = f"{told.value!r} {told.value} {told.value.__cause__}"
            for secret in ("STRANGER", "stranger", "http", "Debug"):
                assert secret not in shown

    def test_what_has_credentials_does_not_show_them(self, s3_root: str) -> None:
        files = file_system_of(s3_root)
        files.status(f"{s3_root}/a")
        bucket, _ = files._bucket(s3_root)  # type: ignore[attr-defined]
        for shown in (files, bucket, bucket._store, bucket.uploads):
            assert "only-for-the-tests" not in repr(shown)
            assert "millrace-tests" not in repr(shown)

    def test_nothing_that_has_credentials_is_shipped(self, s3_root: str) -> None:
        with pytest.raises(TypeError, match="it is not pickled"):
            cloudpickle.dumps(file_system_of(s3_root))

    def test_a_profile_that_is_not_there(
        self, s3_root: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_PROFILE", "nobody")
        with pytest.raises(OSError, match="profile .nobody. could not be found"):
            _s3().status(f"{s3_root}/a")

    def test_a_key_that_cannot_be(self, s3_root: str) -> None:
        with pytest.raises(OSError, match="empty path segment"):
            file_system_of(s3_root).status(f"{s3_root}/a//b")

    def test_without_credentials_the_usual_ways_are_named(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/none")
        monkeypatch.setenv("AWS_CONFIG_FILE", "/none")
        with pytest.raises(PermissionError, match="set AWS_ACCESS_KEY_ID and"):
            _s3().status("s3://bucket/a")

    def test_a_bucket_that_is_not_there(self, s3_root: str) -> None:
        with pytest.raises(OSError, match="no name of a bucket"):
            file_system_of(s3_root).status("s3:")

    def test_nobody_listens(self, s3_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        pending = _s3().begin(f"{s3_root}/a")
        with pytest.raises(OSError, match="EndpointConnectionError: Could not connect"):
            pending.persist()


def test_what_stands_for_a_directory_is_no_file(s3_root: str) -> None:
    """Consoles and other programs make such objects; an empty file is one."""
    files = file_system_of(s3_root)
    client = files._bucket(s3_root)[0].uploads._client  # type: ignore[attr-defined]
    name = s3_root.rpartition("/")[2]
    for key in (f"{name}/", f"{name}/empty/", f"{name}/full/"):
        client.put_object(Bucket=SeaweedFS.bucket, Key=key, Body=b"")
    files.publish(f"{s3_root}/full/a", [b"x"])
    files.publish(f"{s3_root}/nothing", [])
    found = [file.location.removeprefix(s3_root) for file in files.list(s3_root, recursive=True)]
    assert sorted(found) == ["/full/a", "/nothing"]
    assert [file.location for file in files.list(s3_root)] == [f"{s3_root}/nothing"]
