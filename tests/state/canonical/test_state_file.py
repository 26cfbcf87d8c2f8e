"""Files of states: read back in part or whole; what is tampered with is refused by name."""

from __future__ import annotations

import dataclasses
import hashlib
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millrace.common.errors import CheckpointCorruptError, CheckpointError, SerializationError
from millrace.common.types.typeinfo import Types
from millrace.state.canonical import page_check
from millrace.state.canonical.page_check import BombError, checked_footer, within_limits
from millrace.state.canonical.state_file import (
    ROWS_PER_GROUP,
    arrow_schema,
    file_names,
    read_rows,
    write_rows,
)
from millrace.state.canonical.stored_state import StateFile

COLUMNS: dict[str, Any] = {"key": "BIGINT", "value": "STRING"}


def written(directory: Path, rows: dict[str, list[Any]], columns=COLUMNS, groups=None) -> StateFile:
    path = directory / "part.parquet"
    _, _, pickled = write_rows(str(path), rows, columns, groups)
    return described(path, len(rows["key"]), pickled)


def described(path: Path, rows: int, pickled: int = 0) -> StateFile:
    """What the manifest of somebody would say of a file."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return StateFile(path.name, 0, rows, path.stat().st_size, digest, pickled)


def read(directory: Path, file: StateFile, columns=COLUMNS, **options: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {name: [] for name in columns}
    options = {"groups": None, "pickle_allowed": False} | options
    for batch in read_rows(str(directory), file, columns, **options):
        for name in columns:
            found[name] += batch[name]
    return found


ROWS: dict[str, list[Any]] = {"key": list(range(200)), "value": [f"v{n}" for n in range(200)]}


def test_round_trip(tmp_path: Path) -> None:
    """Also what does not fit the columns' types."""
    assert read(tmp_path, written(tmp_path, ROWS)) == ROWS
    odd = {"key": [1, "two", None, 2**80], "value": ["x", None, 3, (4,)]}
    assert read(tmp_path, written(tmp_path, odd)) == odd
    empty: dict[str, list[Any]] = {"key": [], "value": []}
    assert read(tmp_path, written(tmp_path, empty)) == empty


def test_only_row_groups_that_are_wanted_are_read(tmp_path: Path) -> None:
    """Rows are in the order of their key groups."""
    count = 3 * ROWS_PER_GROUP
    groups = np.arange(count, dtype=np.int32)[::-1] % 128
    rows = {"key": list(range(count)), "value": [None] * count}
    file = written(tmp_path, rows, groups=groups)
    some = read(tmp_path, file, groups=range(3))["key"]
    assert {key for key in rows["key"] if groups[key] < 3} <= set(some)
    assert len(some) == ROWS_PER_GROUP
    assert len(read(tmp_path, file, groups=range(128))["key"]) == count


class Odd:
    """Cannot be written otherwise than as a pickle."""


def test_pickles_need_leave(tmp_path: Path) -> None:
    """The manifest tells how many there are."""
    file = written(tmp_path, {"key": [1, 2], "value": ["plain", Odd()]})
    assert file.pickled == 1
    with pytest.raises(SerializationError, match="part.parquet: .*--allow-pickle"):
        read(tmp_path, file)
    assert type(read(tmp_path, file, pickle_allowed=True)["value"][1]) is Odd


def test_every_flipped_byte_is_found(tmp_path: Path) -> None:
    """By the checksum."""
    file = written(tmp_path, ROWS)
    path = tmp_path / file.path
    data = path.read_bytes()
    for position in range(0, len(data), 31):
        path.write_bytes(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
        with pytest.raises(CheckpointCorruptError, match=r"part\.parquet is corrupt"):
            read(tmp_path, file)
    path.write_bytes(data[:-1])
    with pytest.raises(CheckpointCorruptError, match="bytes instead of"):
        read(tmp_path, file)
    path.unlink()
    with pytest.raises(CheckpointCorruptError, match="missing"):
        read(tmp_path, file)


@pytest.mark.parametrize("times", [300, pytest.param(5_000, marks=pytest.mark.torture)])
def test_tampering_with_a_right_checksum(times: int, tmp_path: Path) -> None:
    """Gives rows or our error, nothing else."""
    generator = random.Random(20261122)
    columns: dict[str, Any] = {
        "key": Types.TUPLE([Types.LONG(), Types.STRING()]).schema(),
        "value": "ARRAY<MAP<STRING, RAW('object', 'pickle')>>",
    }  # fmt: skip
    rows = {"key": [(n, "k") for n in range(50)], "value": [[{"a": n}] for n in range(50)]}
    file = written(tmp_path, rows, columns, np.arange(50, dtype=np.int32))
    path = tmp_path / file.path
    data = path.read_bytes()
    for _ in range(times):
        changed = bytearray(data)
        for _ in range(generator.choice((1, 1, 2, 8))):
            changed[generator.randrange(len(data))] = generator.choice((0, 1, 0x7F, 0x80, 0xFF))
        path.write_bytes(changed)
        with suppress(CheckpointError, SerializationError):
            read(tmp_path, described(path, 50), columns)


BOMB = 3 << 20


@pytest.mark.parametrize(
    "bomb",
    [
        {"use_dictionary": True},
        {"compression": "zstd"},
        {"compression": "gzip"},
        {"column_encoding": {"value": "DELTA_BYTE_ARRAY"}, "use_dictionary": False},
    ],
    ids=str,
)
def test_files_that_stand_for_far_more_than_they_hold(tmp_path: Path, bomb: Any) -> None:
    """Before anything in them is decoded."""
    column = pa.array(["a" * (BOMB // 1000)] * 10_000, pa.large_string())
    names = arrow_schema(COLUMNS, False)
    keys = pa.array(range(10_000), pa.int64())
    nothing = pa.nulls(10_000, pa.large_binary())
    table = pa.table([keys, nothing, column, nothing], schema=names)
    path = tmp_path / "part.parquet"
    pq.write_table(table, path, **({"use_dictionary": False} | bomb))
    with pytest.raises(CheckpointCorruptError, match=r"part\.parquet is corrupt"):
        read(tmp_path, described(path, 10_000))


def test_millions_of_rows_of_nothing(tmp_path: Path) -> None:
    """Nulls are counted, not written."""
    count = 5_000_000
    arrays = [pa.nulls(count, field.type) for field in arrow_schema(COLUMNS, False)]
    path = tmp_path / "part.parquet"
    table = pa.table(arrays, schema=arrow_schema(COLUMNS, False))
    pq.write_table(table, path, use_dictionary=False, compression="zstd")
    assert path.stat().st_size < 100_000
    with pytest.raises(CheckpointCorruptError, match="far more data than they can hold"):
        read(tmp_path, described(path, count))


def test_our_own_files_are_never_taken_for_bombs(tmp_path: Path) -> None:
    """However much they could be compressed."""
    rows: dict[str, list[Any]] = {"key": list(range(100)), "value": ["x" * 400_000] * 100}
    assert read(tmp_path, written(tmp_path, rows)) == rows


@pytest.fixture
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file needs fewer lists to be taken for a bomb, by the factor 32."""
    monkeypatch.setattr(page_check, "_FREE_PARTS", page_check._FREE_PARTS // 32)


@pytest.mark.usefixtures("low_limit")
def test_runs_of_empty_lists_are_written_untyped(tmp_path: Path) -> None:
    """Typed, thousands of them are a few bytes, as a bomb is."""
    columns: dict[str, Any] = {"key": "BIGINT", "value": "ARRAY<ARRAY<BIGINT>>"}
    rows: dict[str, list[Any]] = {"key": [1, 2], "value": [[[]] * 62_500, [[1], [None]]]}
    assert read(tmp_path, written(tmp_path, rows, columns), columns) == rows


@pytest.mark.usefixtures("low_limit")
def test_bytes_that_look_like_lists_are_no_bomb(tmp_path: Path) -> None:
    """Compressed they would be one, so they are not compressed."""
    columns: dict[str, Any] = {"key": "BIGINT", "value": "RAW('object', 'pickle')"}
    rows: dict[str, list[Any]] = {"key": [1, 2], "value": [b"\x90" * 93_750, [()] * 21_875]}
    assert read(tmp_path, written(tmp_path, rows, columns), columns) == rows


def test_values_of_more_lists_than_bytes(tmp_path: Path) -> None:
    """A compressed file of a stranger's."""
    columns: dict[str, Any] = {"key": "BIGINT", "value": "RAW('object', 'pickle')"}
    count = 3 << 20
    data = b"\xdd" + count.to_bytes(4, "big") + b"\x90" * count
    schema = arrow_schema(columns, False)
    arrays = [pa.array([1]), pa.nulls(1, pa.large_binary()), pa.array([data], pa.large_binary())]
    path = tmp_path / "part.parquet"
    pq.write_table(pa.table(arrays, schema=schema), path, use_dictionary=False, compression="zstd")
    with pytest.raises(CheckpointCorruptError, match="lists and maps"):
        read(tmp_path, described(path, 1), columns)


def test_other_columns_than_the_manifest_says(tmp_path: Path) -> None:
    """And other numbers of rows."""
    file = written(tmp_path, ROWS)
    with pytest.raises(CheckpointCorruptError, match="columns"):
        read(tmp_path, file, {"key": "STRING", "value": "STRING"})
    with pytest.raises(CheckpointCorruptError, match="200 rows instead of 7"):
        read(tmp_path, dataclasses.replace(file, rows=7))


def test_page_headers_are_walked(tmp_path: Path) -> None:
    """All pages of our files pass; a file of nothing but zeros has none."""
    file = written(tmp_path, ROWS)
    with (tmp_path / file.path).open("rb") as raw:
        footer = checked_footer(raw, file.length)
    assert footer.rows == 200
    zeros = tmp_path / "zeros"
    for end in (b"", b"PAR1"):
        zeros.write_bytes(bytes(file.length - len(end)) + end)
        with zeros.open("rb") as raw, pytest.raises(BombError):
            checked_footer(raw, file.length)
    assert within_limits(footer)
    assert not within_limits(dataclasses.replace(footer, length=0, groups=footer.groups * 400_000))


def test_names_of_directories() -> None:
    """Are safe, and different for different operators."""
    assert file_names(("count", "value")) == "count/value"
    assert file_names(("../..", "a/b", "", "é", "_x", ".y")).count("/") == 5
    parts = file_names(("a/b", "a b", "a_b", "@a-b", "..")).split("/")
    assert len(set(parts)) == 5
    assert all(part[0] not in "._" for part in parts)
