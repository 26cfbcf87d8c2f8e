"""Reading objects in ranges: what is read, and how many requests it takes."""

from __future__ import annotations

import io
import os
import random
from typing import Any

import pytest

from millrace.filesystem.object_stores.bucket import Block
from millrace.filesystem.object_stores.file_system import ObjectReader


class Ranges:
    """A bucket with one object; counts requests."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.version = "1"
        self.requests: list[tuple[int, int]] = []

    def block(self, key: str, start: int, end: int, of: str | None = None) -> Block:
        self.requests.append((start, end))
        if of not in (None, self.version):
            raise FileExistsError(17, "replaced", key)
        return Block(self.data[start:end], len(self.data), self.version)


def reader(bucket: Any) -> ObjectReader:
    return ObjectReader(bucket, "key")


def test_a_small_object_is_one_request() -> None:
    bucket = Ranges(b"line\n" * 1000)
    with io.BufferedReader(reader(bucket)) as file:
        assert len(list(file)) == 1000
        file.seek(-5, os.SEEK_END)
        assert file.read() == b"line\n"
    assert len(bucket.requests) == 1


def test_an_empty_object() -> None:
    assert reader(Ranges(b"")).read() == b""


def test_who_reads_on_gets_bigger_ranges() -> None:
    bucket = Ranges(random.Random(7).randbytes(20 << 20))
    with io.BufferedReader(reader(bucket)) as file:
        assert file.read() == bucket.data
    sizes = [end - start for start, end in bucket.requests]
    assert sizes[:4] == [1 << 18, 1 << 19, 1 << 20, 1 << 21]
    assert len(sizes) < 10


def test_any_position() -> None:
    data = random.Random(8).randbytes(3 << 20)
    file, model = reader(Ranges(data)), io.BytesIO(data)
    chance = random.Random(9)
    for _ in range(300):
        position, length = chance.randrange(4 << 20), chance.randrange(1 << 19)
        assert file.seek(position) == model.seek(position)
        read = file.read(length) or b""
        assert model.read(len(read)) == read
        assert read or not length or position >= len(data)
    with pytest.raises(ValueError, match="negative position"):
        file.seek(-1)


def test_an_object_that_is_replaced_is_not_mixed() -> None:
    bucket = Ranges(bytes(1 << 20))
    file = reader(bucket)
    bucket.version = "2"
    assert len(file.read(10) or b"") == 10
    file.seek(1 << 19)
    with pytest.raises(FileExistsError):
        file.read(10)
