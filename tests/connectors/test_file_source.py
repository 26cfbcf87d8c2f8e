"""FileSource with each format, compressed and split, restarted anywhere."""

import bz2
import gzip
import json
import lzma
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError
from millrace.common.source import Boundedness
from millrace.common.time import Duration
from millrace.connectors.errors import SourceFileError
from millrace.connectors.file_source import FileSource
from millrace.formats import (
    CsvReaderFormat,
    CsvSchema,
    JsonLinesFormat,
    ParquetColumnarRowInputFormat,
    StreamFormat,
)

reuse = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)

TEXT = StreamFormat.text_line_format()
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}
texts = st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), max_size=12)


def text_source(*paths: object, split_size: int = 64 << 20) -> FileSource[str]:
    builder = FileSource.for_record_stream_format(TEXT, *map(str, paths))
    return builder.set_split_size(split_size).build()


@reuse
@given(
    lines=st.lists(texts, max_size=40),
    suffix=st.sampled_from(list(COMPRESSORS)),
    split_size=st.integers(1, 60),
    step=st.integers(1, 9),
    restarts=st.lists(st.booleans(), max_size=50),
    newline_at_end=st.booleans(),
)
def test_lines_are_read_once_however_files_are_cut_and_readers_restarted(
    source_harness,
    *,
    lines: list[str],
    suffix: str,
    split_size: int,
    step: int,
    restarts: list[bool],
    newline_at_end: bool,
) -> None:
    content = "\n".join(lines) + ("\n" if newline_at_end and lines else "")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "data" + suffix)
        path.write_bytes(COMPRESSORS[suffix](content.encode()))
        source = text_source(path, split_size=split_size)
        expected = content.split("\n")
        if expected[-1] == "":
            expected.pop()
        assert source_harness(source).read_all(step, restarts) == expected


@reuse
@given(
    st.lists(
        st.tuples(st.text(max_size=8), st.integers(-(2**63), 2**63 - 1) | st.none()), max_size=30
    ),
    st.sampled_from(["", ".gz"]),
    st.integers(1, 9),
    st.lists(st.booleans(), max_size=40),
)
def test_csv_with_quotes_header_and_restarts(
    source_harness, rows: list[tuple[str, Any]], suffix: str, step: int, restarts: list[bool]
) -> None:
    def field(value: Any) -> str:
        text = "" if value is None else str(value).replace('"', '""')
        return f'"{text}"'

    rows = [(word.replace("\x00", ""), n) for word, n in rows]
    content = "".join(f"{field(n)},{field(word)}\n" for word, n in [("word", "n"), *rows])
    schema = (
        (CsvSchema.builder().add_string_column("word").add_number_column("n").set_use_header())
        .set_reorder_columns()
        .build()
    )
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "data.csv" + suffix)
        path.write_bytes(COMPRESSORS[suffix](content.encode()))
        csv_format = CsvReaderFormat.for_schema(schema, record_type=dict)
        source = FileSource.for_record_stream_format(csv_format, path).set_split_size(10).build()
        expected = [{"word": word, "n": n} for word, n in rows]
        assert source_harness(source).read_all(step, restarts) == expected


@reuse
@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5), max_size=3)),
    st.integers(1, 50),
    st.integers(1, 5),
    st.lists(st.booleans(), max_size=30),
)
def test_json_lines(
    source_harness, values: list[dict], split_size: int, step: int, restarts: list[bool]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "data.jsonl")
        path.write_text("".join(json.dumps(value) + "\n\n" for value in values))
        builder = FileSource.for_record_stream_format(JsonLinesFormat(), path)
        source = builder.set_split_size(split_size).build()
        assert source_harness(source).read_all(step, restarts) == values


@reuse
@given(
    count=st.integers(0, 60),
    group=st.integers(1, 25),
    split_size=st.integers(1, 400),
    step=st.integers(1, 20),
    restarts=st.lists(st.booleans(), max_size=40),
)
def test_parquet_by_row_groups(
    source_harness, *, count: int, group: int, split_size: int, step: int, restarts: list[bool]
) -> None:
    rows = [{"i": i, "text": None if i % 3 else f"t{i}"} for i in range(count)]
    schema = pa.schema([("i", pa.int64()), ("text", pa.string())])
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "data.parquet")
        pq.write_table(pa.Table.from_pylist(rows, schema), path, row_group_size=group)
        parquet = ParquetColumnarRowInputFormat(batch_size=7, record_type=dict)
        builder = FileSource.for_bulk_file_format(parquet, path)
        harness = source_harness(builder.set_split_size(split_size).build())
        assert harness.read_all(step, restarts) == rows


def test_large_plain_files_are_cut_and_compressed_ones_are_not(source_harness, tmp_path) -> None:
    (tmp_path / "a.txt").write_text("0123456789\n" * 100)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(os.urandom(2000)))
    splits = source_harness(text_source(tmp_path, split_size=300)).discover()
    assert [os.path.basename(split.path) for split in splits] == ["a.txt"] * 4 + ["b.txt.gz"]


def test_a_split_id_is_the_same_after_a_restart(source_harness, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n" * 1000)
    first, second = (source_harness(text_source(tmp_path, split_size=100)) for _ in range(2))
    assert first.discover() == second.discover()


def test_a_watched_directory_gives_each_file_once(source_harness, clock, tmp_path: Path) -> None:
    source = (
        FileSource.for_record_stream_format(TEXT, tmp_path)
        .monitor_continuously(Duration.of_seconds(5))
        .build()
    )
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    harness = source_harness(source, clock)
    (tmp_path / "1").write_text("one\n")
    assert harness.enumerator.next_discovery(clock.now) == clock.now
    assert harness.read_all() == ["one"]
    assert harness.enumerator.next_discovery(clock.now) == clock.now + 5000
    harness.restart_enumerator()
    (tmp_path / ".2").write_text("two\n")
    assert harness.read_all() == []
    (tmp_path / ".2").rename(tmp_path / "2")
    assert harness.read_all() == ["two"]
    assert not harness.enumerator.no_more_splits()


def test_a_static_file_set_is_listed_once(source_harness, tmp_path: Path) -> None:
    (tmp_path / "1").write_text("one\n")
    harness = source_harness(text_source(tmp_path))
    assert harness.read_all() == ["one"]
    (tmp_path / "2").write_text("two\n")
    harness.restart_enumerator()
    assert harness.discover() == []
    assert harness.enumerator.no_more_splits()


def test_a_file_named_twice_is_read_once(source_harness, tmp_path: Path) -> None:
    (tmp_path / "1").write_text("one\n")
    assert source_harness(text_source(tmp_path, tmp_path / "1")).read_all() == ["one"]


def test_a_vanished_file_is_named(source_harness, tmp_path: Path) -> None:
    path = tmp_path / "gone.txt"
    path.write_text("x\n")
    harness = source_harness(text_source(path))
    [split] = harness.discover()
    path.unlink()
    with pytest.raises(SourceFileError, match=r"gone\.txt: it vanished"):
        harness.reader(split).read(1)


def test_a_shrunk_file_is_named(source_harness, tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_text("x\n" * 10)
    harness = source_harness(text_source(path))
    [split] = harness.discover()
    path.write_text("x\n")
    with pytest.raises(SourceFileError, match=r"short\.txt: it shrank from 20 to 2 bytes"):
        harness.reader(split).read(1)


def test_a_file_that_shrinks_while_it_is_read_is_named(source_harness, tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_text("x\n" * 1_000_000)
    harness = source_harness(text_source(path))
    [split] = harness.discover()
    reader = harness.reader(split)
    reader.read(10)
    os.truncate(path, 1000)
    with pytest.raises(SourceFileError, match="it shrank"):
        reader.read(2_000_000)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_truncated_compressed_file_is_named(source_harness, tmp_path: Path, suffix: str) -> None:
    content = COMPRESSORS[suffix](os.urandom(5000).hex().encode())
    path = tmp_path / f"broken{suffix}"
    path.write_bytes(content[:-100])
    with pytest.raises(SourceFileError, match="broken"):
        source_harness(text_source(path)).read_all()


def test_broken_records_are_named_with_file_and_position(source_harness, tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text('{"a": 1}\n{"a": \n')
    source = FileSource.for_record_stream_format(JsonLinesFormat(), path).build()
    harness = source_harness(source)
    [split] = harness.discover()
    reader = harness.reader(split)
    assert reader.read(1).values == [{"a": 1}]
    with pytest.raises(SourceFileError, match=r"broken\.jsonl: .*line 2, column 6, offset 9: bro"):
        reader.read(1)


def test_a_parquet_file_that_is_none_is_named(source_harness, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 not")
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(), tmp_path).build()
    with pytest.raises(SourceFileError, match=r"x\.parquet.*not a complete Parquet file"):
        source_harness(source).discover()


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(JobDefinitionError, match="at least one path"):
        FileSource.for_record_stream_format(TEXT)
    with pytest.raises(JobDefinitionError, match="takes a format"):
        FileSource.for_record_stream_format("a", "b")  # type: ignore[arg-type]
    builder = FileSource.for_record_stream_format(TEXT, tmp_path)
    with pytest.raises(JobDefinitionError, match="must be positive"):
        builder.monitor_continuously(Duration.of_seconds(0))
    with pytest.raises(JobDefinitionError, match="split_size"):
        builder.set_split_size(0)


def is_csv(path: str) -> bool:
    return path.endswith(".csv")


def test_a_path_filter_and_wildcards(source_harness, tmp_path: Path) -> None:
    for name in ("1/a.csv", "1/b.txt", "2/c.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    builder = FileSource.for_record_stream_format(TEXT, tmp_path / "[12]").set_path_filter(is_csv)
    assert source_harness(builder.build()).read_all() == ["1/a.csv", "2/c.csv"]
    with pytest.raises(JobDefinitionError, match="takes a function"):
        builder.set_path_filter("*.csv")  # type: ignore[arg-type]


def test_start_from_now(source_harness, clock, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    builder = FileSource.for_record_stream_format(TEXT, tmp_path).start_from_now()
    source = builder.monitor_continuously(Duration.of_seconds(1)).build()
    harness = source_harness(source, clock)
    assert harness.read_all() == []
    harness.restart_enumerator()
    (tmp_path / "new").write_text("new")
    assert harness.read_all() == ["new"]


def test_a_file_that_changes_after_it_was_found_is_warned_of_once(
    source_harness, clock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What is appended or replaced was left out without a word."""
    path = tmp_path / "a"
    path.write_text("one")
    builder = FileSource.for_record_stream_format(TEXT, tmp_path)
    harness = source_harness(builder.monitor_continuously(Duration.of_seconds(1)).build(), clock)
    assert harness.read_all() == ["one"]
    path.write_text("one and more")
    harness.restart_enumerator()
    assert harness.read_all() == []
    assert harness.read_all() == []
    assert caplog.text.count("changed since it was found (from 3 to 12 bytes)") == 1
    os.utime(path, (1, 1))
    assert harness.read_all() == []
    assert caplog.text.count("changed since it was found (from 12 to 12 bytes)") == 1
