"""One Parquet file with the entries of a state, written within bounds that its reader can check."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from millrace.common.errors import CheckpointCorruptError, CheckpointError, SerializationError
from millrace.filesystem.registry import file_system_of
from millrace.state.canonical.columns import StateColumn, column_of, merge_by_fit, split_by_fit
from millrace.state.canonical.page_check import (
    BombError,
    Footer,
    checked_footer,
    few_enough,
    read_footer,
    within_limits,
)
from millrace.state.canonical.stored_state import StateFile
from millrace.state.canonical.table_rows import Columns
from millrace.state.checkpoint.files import opened, size_of_opened
from millrace.state.serialization.schema import ANY, Schema
from millrace.state.serialization.tagged_values import PickleRefusedError

__all__ = ["KEY_GROUP", "arrow_schema", "read_rows", "to_arrow", "write_rows"]

ROWS_PER_GROUP = 1 << 16
BATCH_BYTES = 32 << 20
PART_BYTES = 8 << 20
KEY_GROUP = "key_group"
UNTYPED = "_untyped"
"""Suffix of the names of untyped columns, which have the values that do not fit the typed
column."""
_PICKLE = b"\xa7$pickle"
_ANY = column_of(ANY)


def arrow_schema(columns: dict[str, Schema], keyed: bool) -> pa.Schema:
    """Arrow schema of a file."""
    fields = [pa.field(KEY_GROUP, pa.int32())] if keyed else []
    for name, schema in columns.items():
        column = column_of(schema)
        fields.append(pa.field(name, column.arrow))
        if schema != ANY:
            fields.append(pa.field(name + UNTYPED, _ANY.arrow))
    return pa.schema(fields)


def to_arrow(
    rows: Columns, columns: dict[str, Schema], groups: Any | None, typed: bool = True
) -> tuple[pa.Table, int]:
    """Rows as a table, and the number of pickled values. The table is sorted by ``groups``, the
    array of the rows' key groups. Without ``typed``, all values are written untyped."""
    schema = arrow_schema(columns, groups is not None)
    arrays: list[Any] = [] if groups is None else [pa.array(groups, pa.int32())]
    pickled = 0
    for name, declared in columns.items():
        column, values = column_of(declared), rows[name]
        if isinstance(values, pa.Array):
            arrays += _written(column, values, declared == ANY, typed)
        elif declared == ANY:
            arrays.append(_ANY.write(values))
        elif typed:
            arrays += split_by_fit(column, values)
        else:
            arrays += [pa.nulls(len(values), column.arrow), _ANY.write(values)]
        untyped = arrays[-1]
        if untyped.null_count < len(untyped):
            pickled += sum(_PICKLE in data for data in untyped.drop_null().to_pylist())
    table = pa.table(arrays, schema=schema)
    if groups is not None:
        table = table.take(pa.array(groups.argsort(kind="stable")))
    return table, pickled


def _written(column: StateColumn, array: pa.Array, is_any: bool, typed: bool) -> list[pa.Array]:
    """Arrays to write for values that are an Arrow array already: the typed column and the
    untyped column."""
    if is_any:
        return [array]
    if typed:
        return [array, pa.nulls(len(array), _ANY.arrow)]
    return [pa.nulls(len(array), column.arrow), _ANY.write(column.read(array, False))]


def write_rows(
    path: str, rows: Columns, columns: dict[str, Schema], groups: Any | None
) -> tuple[int, str, int]:
    """Write a file, without flushing it to the disk; returns its length, its SHA-256 and the number
    of pickled values. The file is compressed, unless readers would then refuse it as a
    decompression bomb.

    Raises:
        CheckpointError: readers would refuse the file in every form.
    """
    for compression, typed in (("zstd", True), ("none", True), ("none", False)):
        if compression == "zstd" or not typed:  # what is not typed has no runs of empty lists
            table, pickled = to_arrow(rows, columns, groups, typed)
        _write(path, table, compression)
        with file_system_of(path).open(path, buffered=False) as file:
            length = size_of_opened(file)
            footer = read_footer(file, length)
            if within_limits(footer) and few_enough(length, _structures(table)):
                file.seek(0)
                return length, checksum(file), pickled
    raise CheckpointError(
        f"{path} would have far more values than bytes; take a savepoint in native format"
    )


def _write(path: str, table: pa.Table, compression: str) -> None:
    with (
        file_system_of(path).begin(path, durable=False) as pending,
        pq.ParquetWriter(
            pending,
            table.schema,
            compression=compression,
            use_dictionary=False,
            write_statistics=[KEY_GROUP] if KEY_GROUP in table.schema.names else False,
            write_page_checksum=True,
        ) as writer,
    ):
        writer.write_table(table, ROWS_PER_GROUP)


def _structures(table: pa.Table | pa.RecordBatch) -> int:
    """Upper bound for the number of structures in the untyped values of a table."""
    return sum(map(structures_in, binary_buffers(table.columns)))


def checksum(file: IO[bytes]) -> str:
    """SHA-256 of a file."""
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def read_rows(
    directory: str,
    file: StateFile,
    columns: dict[str, Schema],
    groups: range | None,
    pickle_allowed: bool,
) -> Iterator[Columns]:
    """Rows of a file, batch by batch. Row groups without a key of ``groups`` are left out.

    Raises:
        CheckpointCorruptError: the file is missing, or is not what the manifest says.
        SerializationError: the file holds pickled values, and unpickling is not allowed.
    """
    path = os.path.join(directory, file.path)
    with opened(path) as raw:
        length = size_of_opened(raw)
        if length != file.length:
            raise CheckpointCorruptError(path, f"it has {length} bytes instead of {file.length}")
        if checksum(raw) != file.sha256:
            raise CheckpointCorruptError(path, "its checksum differs")
        try:
            yield from _decoded(raw, file, columns, groups, pickle_allowed)
        except PickleRefusedError as error:
            raise SerializationError(
                f"{path}: {error}; if you trust the savepoint's author, allow it: --allow-pickle, "
                "or execution.state-recovery.allow-pickle"
            ) from error
        except SerializationError as error:
            if pickle_allowed:  # what is pickled may need a class that is not here
                raise SerializationError(f"{path}: {error}") from error
            raise CheckpointCorruptError(path, f"it cannot be read: {error}") from error
        except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError) as error:
            raise CheckpointCorruptError(path, f"it cannot be read: {error}") from error


def _decoded(
    raw: Any,
    file: StateFile,
    columns: dict[str, Schema],
    groups: range | None,
    pickle_allowed: bool,
) -> Iterator[Columns]:
    footer = checked_footer(raw, file.length)
    if footer.rows != file.rows:
        raise ValueError(f"it has {footer.rows} rows instead of {file.rows}")
    parquet = pq.ParquetFile(
        raw,
        thrift_string_size_limit=1 << 20,
        thrift_container_size_limit=20_000,
        page_checksum_verification=True,
    )
    file_schema, keyed = parquet.schema_arrow, KEY_GROUP in parquet.schema_arrow.names
    if not file_schema.remove_metadata().equals(arrow_schema(columns, keyed)):
        raise ValueError("its columns are not those in the manifest")
    at_once = BATCH_BYTES * (file.rows + 1) // (footer.expanded() + 1)
    batches = parquet.iter_batches(
        max(1, min(ROWS_PER_GROUP, at_once)),
        row_groups=_chosen(footer, groups if keyed else None),
        use_threads=False,
    )
    structures = 0
    for batch in batches:
        structures += _structures(batch)
        if not few_enough(file.length, structures):
            raise BombError(f"its {file.length} bytes contain {structures} lists and maps")
        for part in _small(batch):
            yield _rows(part, columns, pickle_allowed)


def _small(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Parts of a batch with few bytes each, so that few values are decoded at a time."""
    half = batch.num_rows // 2
    if batch.nbytes <= PART_BYTES or not half:
        yield batch
    else:
        yield from _small(batch.slice(0, half))
        yield from _small(batch.slice(half))


def _chosen(footer: Footer, groups: range | None) -> list[int]:
    """Row groups that may have a key of ``groups``."""
    if groups is None:
        return footer.filled()
    return [n for n in footer.filled() if _overlaps(footer.bounds(n), groups)]


def _overlaps(bounds: tuple[int, int] | None, groups: range) -> bool:
    return bounds is None or (bounds[0] < groups.stop and bounds[1] >= groups.start)


def _rows(batch: pa.RecordBatch, columns: dict[str, Schema], pickle_allowed: bool) -> Columns:
    rows: Columns = {}
    for name, schema in columns.items():
        column, array = column_of(schema), batch.column(name)
        if name + UNTYPED in batch.schema.names:
            values = merge_by_fit(column, array, batch.column(name + UNTYPED), pickle_allowed)
        else:
            values = column.read(array, pickle_allowed)
        rows[name] = values
    return rows


def file_names(names: Sequence[str]) -> str:
    """Path of directories for ``names`` that is valid on every file system, whatever the
    operators are called."""
    return "/".join(map(_safe, names))


def _safe(name: str) -> str:
    kept = "".join(c if c.isascii() and (c.isalnum() or c == "-") else "-" for c in name)[:60]
    kept = kept.strip("-") or "state"
    if kept == name:
        return kept
    return f"{kept}.{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"


_AT_ONCE = 1 << 20
_BEGINS = np.zeros(256, bool)
"""Whether a list, a map or something unknown begins with a byte, by byte."""
_BEGINS[0x80:0xA0] = _BEGINS[0xC1] = _BEGINS[0xC7:0xCA] = _BEGINS[0xD4:0xD9] = True
_BEGINS[0xDC:0xE0] = True


def structures_in(data: np.ndarray[Any, np.dtype[np.uint8]]) -> int:
    """Upper bound for the number of lists and maps in msgpack bytes. It can be too high, because
    bytes of texts may look like the beginning of a list or map.

    >>> structures_in(np.frombuffer(bytes([0x92, 0x90, 0x90]), np.uint8))
    3
    """
    parts = range(0, len(data), _AT_ONCE)
    return sum(int(np.count_nonzero(_BEGINS[data[at : at + _AT_ONCE]])) for at in parts)


def binary_buffers(columns: Iterable[Any]) -> Iterator[np.ndarray[Any, np.dtype[np.uint8]]]:
    """Total size in bytes of all binary values in Arrow arrays, at every depth."""
    for column in columns:
        for array in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
            yield from _buffers(array)


def _buffers(array: Any) -> Iterator[np.ndarray[Any, np.dtype[np.uint8]]]:
    kind = array.type
    if pa.types.is_large_binary(kind):
        if array.null_count < len(array):
            _, offsets, data = array.buffers()
            ends = np.frombuffer(offsets, np.int64)
            first, last = ends[array.offset], ends[array.offset + len(array)]
            if last > first:
                yield np.frombuffer(data, np.uint8)[first:last]
    elif pa.types.is_struct(kind):
        yield from binary_buffers(array.flatten())
    elif pa.types.is_map(kind):
        first, last = (array.offsets[place].as_py() for place in (0, -1))
        yield from binary_buffers((array.keys[first:last], array.items[first:last]))
    elif pa.types.is_large_list(kind):
        yield from binary_buffers((array.flatten(),))
