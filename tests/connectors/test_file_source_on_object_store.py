"""A file source reads from whatever file system is registered for a scheme."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from object_store import ObjectStore

from millrace.common.types.batch import ColumnBatch
from millrace.connectors.errors import SourceFileError
from millrace.connectors.file_source import FileSource
from millrace.formats.parquet import ParquetColumnarRowInputFormat
from millrace.formats.stream_format import StreamFormat

LINES = [f"line {n}" for n in range(1000)]
TEXT = "".join(f"{line}\n" for line in LINES).encode()


class Objects:
    """What is in the store, by key."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def __setitem__(self, key: str, data: bytes) -> None:
        self._store.put(key, data)


@pytest.fixture
def objects(object_store: ObjectStore) -> Objects:
    return Objects(object_store)


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
    objects: Objects, source_harness: Any, suffix: str, compress: Callable[[bytes], bytes]
) -> None:
    objects[f"memory://b/in/d/a{suffix}"] = compress(TEXT)
    objects["memory://b/in/_SUCCESS"] = b""
    objects["memory://b/in/.tmp/x"] = b"hidden\n"
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), "memory://b/in"
    ).set_split_size(3000)
    read = source_harness(source.build()).read_all(step=70, restarts=[False, True] * 100)
    assert read == LINES


def test_parquet(objects: Objects, source_harness: Any) -> None:
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


def test_nothing_there(objects: Objects, source_harness: Any) -> None:
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), "memory://b/none"
    ).build()
    with pytest.raises(SourceFileError, match="memory://b/none: there is no such file"):
        source_harness(source).discover()
