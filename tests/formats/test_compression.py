"""Opening compressed files at offsets."""

import bz2
import gzip
import lzma
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from millrace.formats.compression import is_compressed, open_binary

CONTENT = random.Random(1).randbytes(1_200_000)


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".txt", bytes),
        (".gz", gzip.compress),
        (".GZ", lambda data: gzip.compress(data[:1000]) + gzip.compress(data[1000:])),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", lambda data: pa.compress(data, codec="zstd", asbytes=True)),
    ],
)
@pytest.mark.parametrize("offset", [0, 1, 1_100_001, len(CONTENT)])
def test_reading_begins_at_the_offset_of_the_content(
    tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes], offset: int
) -> None:
    path = tmp_path / f"data{suffix}"
    path.write_bytes(compress(CONTENT))
    with open_binary(str(path), offset) as stream:
        assert stream.tell() == offset
        assert stream.read(10) == CONTENT[offset : offset + 10]
        assert stream.tell() == min(offset + 10, len(CONTENT))
        assert stream.read() == CONTENT[offset + 10 :]


def test_names_tell_compressed_files() -> None:
    assert is_compressed("a.csv.GZ")
    assert not is_compressed("a.gz.csv")
