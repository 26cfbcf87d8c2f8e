"""Records that cannot be read: found exactly, however the file is cut."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import SerializationError
from millrace.formats import FileRange, JsonLinesFormat, StreamFormat, line_blocks
from millrace.formats.malformed_record import MalformedRecordError

BAD_JSON = [
    b'{"a": 1',
    b"[" * 10_000,
    b"[" * 10_000 + b"]" * 10_000,
    b"1" * 5_000,
    b"\xff\xfe{",
    b"{} {}",
    b"nul",
]


def read(file_format: Any, path: Path, step: int, pieces: int = 1) -> tuple[list[Any], list[Any]]:
    """Good records and errors; a new reader for each batch, as after failures."""
    size = path.stat().st_size
    good, errors = [], []
    for file_range in file_format.ranges(str(path), size, max(1, size // pieces)):
        position, finished = None, False
        while not finished:
            reader = file_format.open(str(path), file_range, position)
            reader.on_malformed = errors.append
            batch = reader.read(step).values
            assert len(batch) + reader.skipped <= step
            good += batch
            position, finished = reader.position(), reader.finished()
            reader.close()
    return good, errors


@pytest.mark.parametrize("step", [1, 3, 100])
@pytest.mark.parametrize("pieces", [1, 4])
def test_good_records_between_malformed_ones(tmp_path: Path, step: int, pieces: int) -> None:
    path = tmp_path / "data.jsonl"
    lines = [line for i, bad in enumerate(BAD_JSON) for line in (b'{"n": %d}' % i, bad, b"")]
    path.write_bytes(b"\n".join(lines))
    good, errors = read(JsonLinesFormat(), path, step, pieces)
    assert good == [{"n": i} for i in range(len(BAD_JSON))]
    assert [error.raw for error in errors] == [bad + b"\n" for bad in BAD_JSON]
    assert [error.line for error in errors] == [2 + 3 * i for i in range(len(BAD_JSON))]
    content = path.read_bytes()
    assert all(content[error.offset :].startswith(error.raw) for error in errors)


def test_an_error_says_where_and_what(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": }\n')
    reader = JsonLinesFormat().open(str(path), FileRange(0, 1 << 62), None)
    with pytest.raises(
        SerializationError, match=r"line 2, column 7, offset 9: broken JSON: .*a"
    ) as e:
        reader.read(10)
    assert str(pickle.loads(pickle.dumps(e.value))) == str(e.value)


def test_bytes_of_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(b"one\ncaf\xe9\ntwo\n")
    good, [error] = read(StreamFormat.text_line_format(), path, 10)
    assert good == ["one", "two"]
    assert (error.line, error.column, error.raw) == (2, 4, b"caf\xe9\n")


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_a_mark_of_utf_16_is_recognised(tmp_path: Path, mark: bytes) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(mark + "a\n".encode("utf-16-le"))
    with pytest.raises(SerializationError, match="mark of UTF-16"):
        read(StreamFormat.text_line_format(), path, 10)


@pytest.mark.parametrize("step", [1, 2, 100])
@pytest.mark.parametrize("pieces", [1, 3, 9])
@pytest.mark.parametrize("content", ["a\n{}\nb\n", "{}\nb\n", "a\n{}", "a\n\n{}\n{}\nb"])
def test_lines_that_are_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, pieces: int, content: str
) -> None:
    """They are passed over in pieces, so that a file without line feeds needs no memory."""
    monkeypatch.setattr(line_blocks, "MAX_RECORD_BYTES", 10)
    path = tmp_path / "data.txt"
    path.write_text(content.replace("{}", "x" * 35))
    good, errors = read(StreamFormat.text_line_format(), path, step, pieces)
    assert good == [line for line in content.splitlines() if line != "{}"]
    lines = [i + 1 for i, line in enumerate(content.splitlines()) if line == "{}"]
    assert [error.line for error in errors] == lines
    assert all(isinstance(e, MalformedRecordError) and e.raw == b"x" * 10 for e in errors)
