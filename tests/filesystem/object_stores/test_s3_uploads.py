"""Multipart uploads on a real S3 server: big ones, damaged ones, committed by another process."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import millrace
from millrace.filesystem.file_system import FileSystem, PendingUpload, UploadDamagedError
from millrace.filesystem.object_stores.s3_uploads import S3Uploads
from millrace.filesystem.registry import file_system_of

COMMIT = """
import pickle, sys
from millrace.filesystem.registry import file_system_of
upload = pickle.load(sys.stdin.buffer)
file_system_of(upload.location).commit([upload])
"""


@pytest.fixture
def files(s3_root: str) -> FileSystem:
    return file_system_of(s3_root)


def test_a_big_file_is_uploaded_in_parts(files: FileSystem, s3_root: str) -> None:
    data = random.Random(1).randbytes(20 << 20)
    pending = files.begin(f"{s3_root}/big")
    for start in range(0, len(data), 3 << 20):
        pending.write(memoryview(data)[start : start + (3 << 20)])
    assert [found.token for found in files.uploads(s3_root)] == [pending.token]
    assert pending.complete(exclusive=True) == len(data)
    assert files.read(f"{s3_root}/big") == data
    assert list(files.uploads(s3_root)) == []
    with files.open(f"{s3_root}/big") as file:
        file.seek(9 << 20)
        assert file.read(100) == data[9 << 20 :][:100]


def test_a_big_file_may_be_the_first_only(files: FileSystem, s3_root: str) -> None:
    files.publish(f"{s3_root}/big", [b"other"])
    pending = files.begin(f"{s3_root}/big")
    pending.write(bytes(9 << 20))
    with pytest.raises(FileExistsError):
        pending.complete(exclusive=True)
    pending.discard()
    assert files.read(f"{s3_root}/big") == b"other"
    assert list(files.uploads(s3_root)) == []


def test_a_big_file_that_is_discarded(files: FileSystem, s3_root: str) -> None:
    pending = files.begin(f"{s3_root}/big")
    pending.write(bytes(9 << 20))
    pending.discard()
    assert list(files.uploads(s3_root)) == []


def test_really_another_process_commits(files: FileSystem, s3_root: str) -> None:
    pending = files.begin(f"{s3_root}/part")
    pending.write(bytes(9 << 20))
    upload = pending.persist()
    source = str(Path(millrace.__file__).parents[1])
    for _ in range(2):
        subprocess.run(
            [sys.executable, "-c", COMMIT],
            input=pickle.dumps(upload),
            env={**os.environ, "PYTHONPATH": source},
            check=True,
        )
    assert files.read(f"{s3_root}/part") == bytes(9 << 20)


def test_what_is_not_what_was_written_does_not_appear(files: FileSystem, s3_root: str) -> None:
    pending = files.begin(f"{s3_root}/part")
    pending.write(b"part")
    upload = replace(pending.persist(), length=5)
    with pytest.raises(UploadDamagedError, match="4 bytes, but 5 were written"):
        files.commit([upload])
    assert files.status(f"{s3_root}/part") is None
    files.publish(f"{s3_root}/part", [b"another"])
    files.abort(upload.token)
    with pytest.raises(UploadDamagedError, match="7 bytes, but 5 were written"):
        files.commit([upload])


class _Completing:
    """A server on which another process completes an upload: its parts are gone already, the upload
    is not."""

    class exceptions:
        class NoSuchUpload(Exception):
            pass

        class ClientError(Exception):
            pass

    def __init__(self) -> None:
        self.looks = 0

    def get_paginator(self, name: str) -> _Completing:
        assert name == "list_parts"
        return self

    def paginate(self, **_: str) -> list[dict[str, list[object]]]:
        self.looks += 1
        if self.looks > 2:
            raise self.exceptions.NoSuchUpload
        return [{}]

    def head_object(self, **_: str) -> dict[str, int]:
        return {"ContentLength": 4}


def test_parts_that_somebody_completes_at_this_moment() -> None:
    server = _Completing()
    S3Uploads(server, "b", sleep=lambda _: None).commit(
        PendingUpload("s3://b/a", "s3://b/a#1", 4), "a", "1"
    )
    assert server.looks == 3
