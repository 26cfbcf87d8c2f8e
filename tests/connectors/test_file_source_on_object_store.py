"""A file source reads from whatever file system is registered for a scheme."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millrace.common.types.batch import ColumnBatch
from millrace.connectors.errors import SourceFileError
from millrace.connectors.file_source import FileSource
from millrace.filesystem import registry
from millrace.filesystem.file_system import FileStatus, FileSystem, PendingFile
from millrace.filesystem.registry import register_file_system
from millrace.formats.parquet import ParquetColumnarRowInputFormat
from millrace.formats.stream_format import StreamFormat

LINES = [f"line {n}" for n in range(1000)]
TEXT = "".join(f"{line}\n" for line in LINES).encode()


class Memory(FileSystem):
    """Objects by name, to be read."""

    def __init__(self, objects: dict[str, bytes]) -> None:
        self.objects = objects

    def open(self, location: str) -> Any:
        if location not in self.objects:
            raise FileNotFoundError(location)
        return io.BytesIO(self.objects[location])

    def status(self, location: str) -> FileStatus | None:
        data = self.objects.get(location)
        return None if data is None else FileStatus(location, len(data), 0.0)

    def list(self, directory: str, recursive: bool = False) -> Iterator[FileStatus]:
        prefix = directory.rstrip("/") + "/"
        for name, data in self.objects.items():
            if name.startswith(prefix) and (recursive or "/" not in name[len(prefix) :]):
                yield FileStatus(name, len(data), 0.0)

    def is_directory(self, directory: str) -> bool:
        return any(self.list(directory, recursive=True))

    def directories(self, directory: str) -> Iterator[str]:
        prefix = directory.rstrip("/") + "/"
        below = (name[len(prefix) :] for name in self.objects if name.startswith(prefix))
        yield from {rest.partition("/")[0] for rest in below if "/" in rest}

    def begin(self, location: str, durable: bool = True) -> PendingFile:
        raise NotImplementedError

    def create_exclusive(self, location: str, data: bytes) -> bool:
        raise NotImplementedError

    def delete(self, location: str) -> bool:
        raise NotImplementedError

    def make_directory(self, directory: str, durable: bool = True) -> None:
        raise NotImplementedError

    def delete_directory(self, directory: str) -> None:
        raise NotImplementedError


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """What is in the store."""
    monkeypatch.setattr(registry, "_factories", dict(registry._factories))
    monkeypatch.setattr(registry, "_made", {})
    found: dict[str, bytes] = {}
    register_file_system("memory", lambda: Memory(found))
    return found


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".txt", bytes),
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", lambda data: pa.compress(data, codec="zstd", asbytes=True)),
    ],
)
def test_text_compressed_or_not(
    objects: dict[str, bytes], source_harness: Any, suffix: str, compress: Callable[[bytes], bytes]
) -> None:
    objects[f"memory://b/in/d/a{suffix}"] = compress(TEXT)
    objects["memory://b/in/_SUCCESS"] = b""
    objects["memory://b/in/.tmp/x"] = b"hidden\n"
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), "memory://b/in"
    ).set_split_size(3000)
    read = source_harness(source.build()).read_all(step=70, restarts=[False, True] * 100)
    assert read == LINES


def test_parquet(objects: dict[str, bytes], source_harness: Any) -> None:
    file = io.BytesIO()
    pq.write_table(pa.table({"n": list(range(100))}), file, row_group_size=30)
    objects["memory://b/numbers.parquet"] = file.getvalue()
    source = FileSource.for_bulk_file_format(
        ParquetColumnarRowInputFormat(record_type=dict), "memory://b/numbers.parquet"
    ).build()
    harness = source_harness(source)
    [split] = harness.discover()
    batches = list(harness.batches(split, step=20))
    values = [
        record["n"]
        for batch in batches
        for record in (batch.to_rows() if isinstance(batch, ColumnBatch) else batch).values
    ]
    assert values == list(range(100))


def test_nothing_there(objects: dict[str, bytes], source_harness: Any) -> None:
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), "memory://b/none"
    ).build()
    with pytest.raises(SourceFileError, match="memory://b/none: there is no such file"):
        source_harness(source).discover()
