"""Reads directories with a damaged Parquet file in them, one after the other.

Usage: fuzz_parquet.py DIRECTORY SEED CASES

A file with one of many layouts is damaged in its pages, its dictionaries or its footer, or cut. The
process must come to its end: not crash, not hang, not use up its memory. Every row of the files
beside it, and of the row groups that were not touched, must be there once and in order; whatever
cannot be read is an error of ours. It ends with 1 and says which seed it was when it is otherwise.
"""

from __future__ import annotations

import faulthandler
import random
import resource
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from millrace.common import ErrorPolicy
from millrace.common.source import ReaderContext
from millrace.connectors import FileSource
from millrace.connectors.errors import SourceFileError
from millrace.formats import ParquetColumnarRowInputFormat

CASE_SECONDS = 120
MEMORY = 4 << 30
ROWS = 240
GROUP = 40


def rows(name: str) -> list[dict[str, Any]]:
    return [
        {
            "id": i,
            "file": name,
            "word": f"word {i % 5}",
            "price": None if i % 7 == 0 else i / 4,
            "tags": [f"t{i % 3}"] * (i % 4),
            "place": {"x": i % 11, "on": i % 2 == 0},
            "long": "x" * (i % 50),
        }
        for i in range(ROWS)
    ]


GOOD = {name: rows(name) for name in "abc"}


def write(path: Path, name: str, chosen: random.Random) -> None:
    pq.write_table(
        pa.Table.from_pylist(GOOD[name]),
        path,
        row_group_size=GROUP,
        compression=chosen.choice(["none", "snappy", "zstd", "gzip"]),
        use_dictionary=chosen.random() < 0.6,
        data_page_version=chosen.choice(["1.0", "2.0"]),
        data_page_size=chosen.choice([64, 1 << 20]),
        write_page_checksum=chosen.random() < 0.5,
        version=chosen.choice(["1.0", "2.6"]),
    )


def overwrite(content: bytearray, start: int, end: int, chosen: random.Random) -> None:
    for _ in range(chosen.choice((1, 3, 20))):
        at = chosen.randrange(start, end)
        size = min(chosen.choice((1, 1, 4)), end - at)
        content[at : at + size] = chosen.choice((b"\xff" * size, chosen.randbytes(size)))


def damage(path: Path, chosen: random.Random) -> set[int] | None:
    """Damage the file; the row groups that are touched, None: any of them may be."""
    content = bytearray(path.read_bytes())
    what = chosen.choice(("page", "page", "dictionary", "footer", "cut"))
    touched: set[int] | None = None
    if what in ("page", "dictionary"):
        metadata = pq.ParquetFile(path).metadata
        group = chosen.randrange(metadata.num_row_groups)
        column = metadata.row_group(group).column(chosen.randrange(metadata.num_columns))
        first = column.dictionary_page_offset or column.data_page_offset
        end = first + column.total_compressed_size
        if what == "dictionary" and column.dictionary_page_offset:
            end = column.data_page_offset
        overwrite(content, first, end, chosen)
        touched = {group}
    elif what == "footer":
        length = int.from_bytes(content[-8:-4], "little")
        overwrite(content, len(content) - 8 - length, len(content), chosen)
    else:
        del content[chosen.randrange(len(content)) :]
    path.write_bytes(content)
    return touched


def read(directory: Path, policy: ErrorPolicy, columnar: bool, chosen: random.Random) -> list[Any]:
    """All records, as readers give them that are replaced now and then."""
    file_format = ParquetColumnarRowInputFormat(
        record_type=dict, columnar=columnar, batch_size=chosen.choice((7, 8192))
    )
    builder = FileSource.for_bulk_file_format(file_format, directory).set_error_policy(policy)
    source = builder.set_split_size(chosen.choice((500, 1 << 20))).build()
    context = ReaderContext(0, 1, lambda: 0)
    values: list[Any] = []
    for split in source.create_enumerator().discover(0):
        values += read_split(source, split, context, chosen)
    return values


def read_split(source: Any, split: Any, context: ReaderContext, chosen: random.Random) -> list[Any]:
    values: list[Any] = []
    reader = source.create_split_reader(split, None, context)
    for _ in range(ROWS * 20):
        values += reader.read(chosen.choice((1, 50, 10_000))).to_rows().values
        if reader.finished():
            reader.close()
            return values
        if chosen.random() < 0.1:
            reader.close()
            reader = source.create_split_reader(split, reader.position(), context)
    raise AssertionError("the split never ends")


def case(directory: Path, seed: int) -> None:
    chosen = random.Random(seed)
    for name in "abc":
        write(directory / f"{name}.parquet", name, chosen)
    touched = damage(directory / "b.parquet", chosen)
    values = read(directory, ErrorPolicy.skip(), chosen.random() < 0.5, chosen)
    found: dict[str, list[Any]] = {"a": [], "b": [], "c": []}
    for value in values:
        name = value.get("file") if value.get("file") in ("a", "c") else "b"
        found[name].append(value)
    for name in "ac":
        assert [v for v in found[name] if v in GOOD[name]] == GOOD[name], f"file {name}"
    if touched is not None:
        kept = [row for i, row in enumerate(GOOD["b"]) if i // GROUP not in touched]
        left: Iterator[Any] = iter(values)
        assert all(row in left for row in kept), "rows of other row groups are missing"
        assert len(values) <= 3 * ROWS, "more rows than there were"
    try:
        read(directory, ErrorPolicy.fail(), False, chosen)
    except SourceFileError as error:
        if "b.parquet" not in str(error):
            raise


def main() -> int:
    directory, seed, cases = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in range(seed, seed + cases):
        print(f"seed {number}", file=sys.stderr)
        faulthandler.dump_traceback_later(CASE_SECONDS, exit=True)
        try:
            case(directory, number)
        except BaseException:
            traceback.print_exc()
            return 1
        faulthandler.cancel_dump_traceback_later()
    print(cases, "cases")
    return 0


if __name__ == "__main__":
    faulthandler.enable()
    sys.exit(main())
