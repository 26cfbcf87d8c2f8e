"""Input that cannot be read: the job fails and says where, or goes on and loses no good record."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millrace.common import DeadLetter, ErrorPolicy, OutputTag, WatermarkStrategy
from millrace.common.errors import JobDefinitionError
from millrace.connectors import FileSource
from millrace.connectors.errors import SourceFileError
from millrace.datastream import StreamExecutionEnvironment
from millrace.formats import (
    CsvReaderFormat,
    CsvSchema,
    JsonLinesFormat,
    ParquetColumnarRowInputFormat,
    StreamFormat,
)
from millrace.testing import run_local

DEAD = OutputTag("dead")
JSON = JsonLinesFormat()
PARQUET = ParquetColumnarRowInputFormat(record_type=dict)


def source(file_format: Any, path: Path, policy: ErrorPolicy, split_size: int = 64 << 20) -> Any:
    builder = FileSource.for_record_stream_format(file_format, path).set_split_size(split_size)
    return builder.set_error_policy(policy).build()


def read(harness: Any, step: int = 1000) -> tuple[list[Any], list[DeadLetter]]:
    """Values and dead letters of all splits; a new reader after each batch."""
    values: list[Any] = []
    for split in harness.discover():
        position, finished = None, False
        while not finished:
            reader = harness.reader(split, position)
            values += reader.read(step).to_rows().values
            position, finished = reader.position(), reader.finished()
            reader.close()
    return values, harness.context.outputs.get(DEAD, [])


@pytest.mark.parametrize("step", [1, 1000])
def test_dead_letters_have_file_position_and_bytes(
    source_harness: Any, tmp_path: Path, step: int
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": \n{"a": 2}\n\xff\n')
    harness = source_harness(source(JSON, path, ErrorPolicy.side_output(DEAD)))
    values, letters = read(harness, step)
    assert values == [{"a": 1}, {"a": 2}]
    assert [(x.raw, x.source, x.offset, x.line, x.column) for x in letters] == [
        (b'{"a": \n', str(path), 9, 2, 6),
        (b"\xff\n", str(path), 25, 4, 1),
    ]
    assert letters[0].error.startswith("broken JSON")


def test_skipped_records_are_counted_and_logged_now_and_then(
    source_harness: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("no\n" * 50)
    harness = source_harness(source(JSON, path, ErrorPolicy.skip()))
    [split] = harness.discover()
    reader = harness.reader(split)
    with caplog.at_level(logging.WARNING):
        assert reader.read(20).values == []
        assert reader.skipped == 20
        assert len(caplog.records) == 1
        harness.clock.now += 10_000
        reader.read(100)
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: a malformed record was skipped: line 1, column 1, offset 0: broken JSON: "
        "Expecting value: b'no\\n'",
        f"{path}: a malformed record (and 19 before it) was skipped: line 21, column 1, offset 60: "
        "broken JSON: Expecting value: b'no\\n'",
    ]


def test_the_job_fails_by_default_and_says_how_not_to(source_harness: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,1\ny,two\n")
    schema = CsvSchema.builder().add_string_column("s").add_number_column("n").build()
    harness = source_harness(source(CsvReaderFormat.for_schema(schema), path, ErrorPolicy.fail()))
    with pytest.raises(SourceFileError) as error:
        read(harness)
    message = str(error.value)
    for part in (str(path), "line 2", "offset 4", "column 'n'", "'two'", "ErrorPolicy.skip()"):
        assert part in message


def parquet_file(path: Path, groups: int = 4, rows: int = 50) -> None:
    table = pa.table({"i": list(range(groups * rows)), "s": [f"text {i}" for i in range(200)]})
    pq.write_table(table, path, row_group_size=rows, compression="none", use_dictionary=False)


def broken(path: Path, how: str) -> None:
    if how == "empty":
        path.write_bytes(b"")
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    elif how == "vanished":
        path.unlink()
    else:
        path.write_bytes(b"PAR1" + b"x" * 200 + b"PAR1")


@pytest.mark.parametrize("how", ["empty", "cut", "none", "vanished"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_files_that_cannot_be_read(
    source_harness: Any, tmp_path: Path, how: str, when: str
) -> None:
    """Found so, or since: one dead letter per file, and the others are read."""
    bad, good = tmp_path / "a.parquet", tmp_path / "b.parquet"
    for path in (bad, good):
        parquet_file(path)
    harness = source_harness(source(PARQUET, tmp_path, ErrorPolicy.side_output(DEAD)))
    if when == "before" and how != "vanished":
        broken(bad, how)
    discover = harness.discover()
    if when == "after" or how == "vanished":
        broken(bad, how)
    harness.discover = lambda: discover
    values, letters = read(harness)
    assert [value["i"] for value in values] == list(range(200))
    assert [letter.source for letter in letters] == [str(bad)]


@pytest.mark.parametrize("columnar", [False, True])
@pytest.mark.parametrize("step", [7, 30, 1000])
def test_a_damaged_row_group_is_lost_and_no_other(
    source_harness: Any, tmp_path: Path, columnar: bool, step: int
) -> None:
    path = tmp_path / "a.parquet"
    parquet_file(path)
    column = pq.ParquetFile(path).metadata.row_group(1).column(1)
    content = bytearray(path.read_bytes())
    start = column.data_page_offset
    content[start : start + 30] = b"\xff" * 30
    path.write_bytes(content)
    file_format = ParquetColumnarRowInputFormat(record_type=dict, columnar=columnar)
    harness = source_harness(source(file_format, path, ErrorPolicy.side_output(DEAD)))
    values, letters = read(harness, step)
    assert [value["i"] for value in values] == [*range(50), *range(100, 200)]
    assert [letter.offset for letter in letters] == [50]
    with pytest.raises(SourceFileError, match="damaged Parquet"):
        read(source_harness(source(file_format, path, ErrorPolicy.fail())))


def test_a_value_that_python_has_not(source_harness: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    days = pa.array([0, 2**31 - 1, 1], pa.int32()).cast(pa.date32())
    pq.write_table(pa.table({"day": days}), path)
    harness = source_harness(source(PARQUET, path, ErrorPolicy.side_output(DEAD)))
    values, letters = read(harness, 2)
    assert [value["day"].day for value in values] == [1, 2]
    assert [letter.offset for letter in letters] == [1]


@pytest.mark.parametrize("file_format", [StreamFormat.text_line_format(), JSON])
def test_what_is_before_the_cut_of_a_compressed_file(
    source_harness: Any, tmp_path: Path, file_format: Any
) -> None:
    path = tmp_path / "a.gz"
    lines = [str(i) for i in range(100_000)]
    content = gzip.compress("\n".join(lines).encode(), 1)
    path.write_bytes(content[: len(content) // 2])
    harness = source_harness(source(file_format, path, ErrorPolicy.side_output(DEAD)))
    values, [letter] = read(harness, 5000)
    assert len(values) > 45_000
    assert list(map(str, values)) == lines[: len(values)]
    assert "ended before the end-of-stream marker" in letter.error


@pytest.fixture
def env() -> Iterator[Any]:
    with run_local():
        yield StreamExecutionEnvironment.get_execution_environment()


def test_dead_letters_are_a_stream(env: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("1\nx\n2\n")
    built = source(JSON, path, ErrorPolicy.side_output(DEAD))
    stream = env.from_source(built, WatermarkStrategy.for_monotonous_timestamps(), "numbers")
    dead = stream.get_side_output(DEAD).map(lambda letter: letter.raw.decode().strip())
    together = stream.map(str).union(dead)
    assert sorted(together.execute_and_collect("dead", 10)) == ["1", "2", "x"]


def test_many_malformed_records_end(env: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x\n" * 30_000 + "1\n")
    stream = env.from_source(
        source(JSON, path, ErrorPolicy.skip()), WatermarkStrategy.no_watermarks(), "numbers"
    )
    with stream.execute_and_collect("many") as found:
        assert list(found) == [1]


def test_wrong_policies_are_refused(tmp_path: Path) -> None:
    builder = FileSource.for_record_stream_format(JSON, tmp_path)
    with pytest.raises(JobDefinitionError, match=r"ErrorPolicy.fail\(\), .skip\(\) or"):
        builder.set_error_policy("skip")  # type: ignore[arg-type]
    with pytest.raises(JobDefinitionError, match="takes an OutputTag"):
        ErrorPolicy.side_output("dead")  # type: ignore[arg-type]


def test_a_file_that_changes_while_it_is_read_is_warned_of(
    source_harness: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    harness = source_harness(source(StreamFormat.text_line_format(), path, ErrorPolicy.fail()))
    [split] = harness.discover()
    reader = harness.reader(split)
    assert reader.read(1).values == ["one"]
    with path.open("a") as file:
        file.write("three\n")
    reader.read(10)
    assert "changed since it was found (from 8 to 14 bytes)" in caplog.text


def test_a_file_that_shrinks_while_it_is_read_gives_what_was_read(
    source_harness: Any, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    text = StreamFormat.text_line_format()
    harness = source_harness(source(text, path, ErrorPolicy.side_output(DEAD)))
    [split] = harness.discover()
    reader = harness.reader(split)
    assert reader.read(1).values == ["one"]
    path.write_text("one\n")
    reader.read(10)
    assert reader.finished()
    [letter] = harness.context.outputs[DEAD]
    assert "shrank from 8 to 4 bytes" in letter.error


@pytest.mark.turns(7)
@pytest.mark.spark
def test_dead_letters_in_workers_of_spark(spark: Any, tmp_path: Path) -> None:
    """Pieces of one file, in several subtasks: each bad line once, with its line number."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join("x\n" if i % 100 == 7 else f"{i}\n" for i in range(1000)))
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    built = source(JSON, path, ErrorPolicy.side_output(DEAD), split_size=1000)
    stream = env.from_source(built, WatermarkStrategy.no_watermarks(), "numbers")
    dead = stream.get_side_output(DEAD).map(lambda letter: f"line {letter.line}")
    with stream.map(str).union(dead).execute_and_collect("dead on Spark") as found:
        records = list(found)
    assert sorted(record for record in records if record.startswith("line")) == sorted(
        f"line {i + 1}" for i in range(7, 1000, 100)
    )
    assert len(records) == 1000
