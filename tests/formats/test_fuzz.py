"""Files with damaged lines: never a crash, a hang, or a good record that is lost."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millrace.common.errors import SerializationError
from millrace.formats import (
    CsvReaderFormat,
    CsvSchema,
    JsonLinesFormat,
    ParquetColumnarRowInputFormat,
    StreamFormat,
)

ODD = [
    b"",
    b'"',
    b"\xff",
    b"\x00",
    b",,,",
    b"{" * 3_000,
    b"9" * 5_000,
    b"\r",
    b"\xfe\xff",
    b"NaN",
    b"\\",
    b"#",
    b"'",
]
SCHEMA = CsvSchema.builder().add_string_column("word").add_number_column("n").build()


def mutated(line: bytes, random: random.Random) -> bytes:
    """The line with something odd in place of a piece; still one line."""
    start = random.randrange(len(line) + 1)
    end = min(len(line), start + random.choice((0, 0, 1, 5)))
    return (line[:start] + random.choice(ODD) + line[end:]).replace(b"\n", b"")


def read(
    file_format: Any, path: Path, random: random.Random
) -> tuple[list[Any], list[SerializationError]]:
    """All that can be read, in pieces, with readers that are replaced at any time."""
    size = path.stat().st_size
    values: list[Any] = []
    errors: list[SerializationError] = []
    for piece in file_format.ranges(str(path), size, random.choice((100, 1 << 20))):
        position, finished = None, False
        while not finished:
            reader = file_format.open(str(path), piece, position)
            reader.on_malformed = errors.append
            for _ in range(random.choice((1, 3))):
                values += reader.read(random.choice((1, 7, 5_000))).to_rows().values
            position, finished = reader.position(), reader.finished()
            reader.close()
    return values, errors


def text_line(i: int) -> bytes:
    return f"line {i}".encode()


def json_line(i: int) -> bytes:
    return json.dumps({"id": i, "text": "é" * (i % 3)}).encode()


def csv_line(i: int) -> bytes:
    return f"w{i},{i}".encode() if i % 5 else f'"w{i}, ""q""",{i}'.encode()


LINES: dict[str, tuple[Any, Callable[[int], bytes], Callable[[int], Any]]] = {
    "text": (StreamFormat.text_line_format(), text_line, lambda i: f"line {i}"),
    "json": (JsonLinesFormat(), json_line, lambda i: {"id": i, "text": "é" * (i % 3)}),
    "csv": (
        CsvReaderFormat.for_schema(SCHEMA, record_type=dict),
        csv_line,
        lambda i: {"word": f"w{i}" if i % 5 else f'w{i}, "q"', "n": i},
    ),
}


def fuzz_lines(name: str, path: Path, seed: int) -> None:
    """One damaged line among good ones: these are all there, and in order."""
    file_format, line, record = LINES[name]
    chosen = random.Random(seed)
    count = chosen.choice((3, 50, 300))
    bad = chosen.randrange(1, count)
    lines = [line(i) for i in range(count)]
    lines[bad] = mutated(lines[bad], chosen)
    path.write_bytes(b"\n".join(lines) + b"\n")
    values, errors = read(file_format, path, chosen)
    good = [record(i) for i in range(count) if i != bad]
    left = iter(values)
    assert all(value in left for value in good), (seed, lines[bad])
    assert len(values) - len(good) <= 1, (seed, lines[bad])
    assert len(errors) <= 1, (seed, lines[bad])


def fuzz_parquet(path: Path, seed: int) -> None:
    """Damaged bytes in a row group: the rows of all others are there."""
    chosen = random.Random(seed)
    rows = [{"i": i, "s": f"text {i % 7}"} for i in range(200)]
    pq.write_table(
        pa.Table.from_pylist(rows),
        path,
        row_group_size=50,
        use_dictionary=bool(seed % 2),
        write_page_checksum=True,
    )
    bad = chosen.randrange(4)
    group = pq.ParquetFile(path).metadata.row_group(bad)
    column = group.column(chosen.randrange(2))
    start = min(filter(None, (column.data_page_offset, column.dictionary_page_offset)))
    content = bytearray(path.read_bytes())
    for _ in range(chosen.choice((1, 4, 50))):
        content[start + chosen.randrange(column.total_compressed_size)] = chosen.randrange(256)
    path.write_bytes(content)
    values, _ = read(ParquetColumnarRowInputFormat(record_type=dict), path, chosen)
    others = rows[: 50 * bad] + rows[50 * bad + 50 :]
    left = iter(values)
    assert all(value in left for value in others), seed
    assert len(values) <= 200, seed


def fuzz_parquet_footer(path: Path, seed: int) -> None:
    """A damaged or cut end: an error, or some rows."""
    chosen = random.Random(seed)
    pq.write_table(pa.table({"i": list(range(20))}), path, row_group_size=5)
    content = bytearray(path.read_bytes())
    for _ in range(chosen.choice((1, 4, 50))):
        content[-1 - chosen.randrange(200)] = chosen.randrange(256)
    path.write_bytes(content[: chosen.choice((len(content), chosen.randrange(len(content))))])
    with suppress(SerializationError):
        read(ParquetColumnarRowInputFormat(record_type=dict), path, chosen)


FUZZERS: dict[str, Callable[[Path, int], None]] = {
    "text": lambda path, seed: fuzz_lines("text", path, seed),
    "json": lambda path, seed: fuzz_lines("json", path, seed),
    "csv": lambda path, seed: fuzz_lines("csv", path, seed),
    "parquet": fuzz_parquet,
    "footer": fuzz_parquet_footer,
}


def seeds(seconds: float, first: int) -> Iterator[int]:
    """As many as there is time for, thirty at least."""
    end = time.monotonic() + seconds
    seed = first
    while seed < first + 30 or time.monotonic() < end:
        yield seed
        seed += 1


@pytest.mark.parametrize("name", FUZZERS)
def test_fuzz(name: str, tmp_path: Path) -> None:
    for seed in seeds(1, 0):
        FUZZERS[name](tmp_path / "data", seed)


@pytest.mark.torture
@pytest.mark.parametrize("name", FUZZERS)
def test_fuzz_for_a_minute(name: str, tmp_path: Path) -> None:
    for seed in seeds(60, 1_000_000):
        FUZZERS[name](tmp_path / "data", seed)
