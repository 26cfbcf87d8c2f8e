"""The payload of a layer: pieces of a few megabytes, so that nobody needs all of a big one at once.

Layout of a piece: length and CRC-32 of what follows (big-endian), then a dict from part to tables
to (kind, schema, encoded delta). The schema says of which types the entries are (see
`millrace.state.serialization`). The parts are applied in this order:

========= =======================================================================================
part      meaning
========= =======================================================================================
``all``   forget what there is: the layer stands for everything. Only in the first piece.
``delta`` what the epoch changed
``pass``  entries as they are at the end of the epoch
========= =======================================================================================
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, NamedTuple, Protocol, runtime_checkable

from millrace.common.errors import CheckpointCorruptError, CheckpointError, SerializationError
from millrace.state.budget import PIECE_BYTES, Budget
from millrace.state.canonical.stored_state import SubtaskFiles
from millrace.state.canonical.stored_table import StoredTable, tables_of_files
from millrace.state.checkpoint.files import StrPath, opened
from millrace.state.kinds.table_kind import TableKind
from millrace.state.layer import FileRef, Layer
from millrace.state.serialization.payload import decode, encode
from millrace.state.serialization.table_form import TableSchema
from millrace.state.table import Delta
from millrace.state.table_id import TableId
from millrace.state.table_kinds import TABLE_KINDS, kind_named

PARTS = "all", "delta", "pass"
Stored = bytes | StoredTable
"""An encoded delta, or a table of a canonical savepoint that is not read yet."""
Content = dict[str, dict[tuple[str, str], tuple[str, TableSchema, Stored]]]
"""Part -> (operator uid, state name) -> (kind, schema, delta)."""
Place = Callable[[Iterator[bytes]], bytes | FileRef]
"""Puts the pieces of a payload where they belong."""

_HEAD = struct.Struct(">II")
HEAD_BYTES = _HEAD.size


class TableDelta(NamedTuple):
    """What goes into a payload, not encoded yet."""

    part: str
    table: TableId
    kind: TableKind
    schema: TableSchema
    delta: Delta
    size: int
    """How many entries the delta has."""


@runtime_checkable
class PieceLoader(Protocol):
    """A loader that can fetch a payload piece by piece."""

    def __call__(self, layer: Layer) -> bytes:
        """The whole payload."""

    def pieces(self, layer: Layer) -> Iterator[bytes | memoryview]:
        """The pieces without their frames; raises when one is damaged."""


Loader = Callable[[Layer], bytes] | PieceLoader
"""Fetches the payload of a layer."""


def joined(pieces: Iterator[bytes]) -> bytes:
    """Keep the pieces in memory."""
    return b"".join(pieces)


def pieces_of(entries: Iterable[TableDelta], budget: Budget, replace: bool) -> Iterator[bytes]:
    """The framed pieces of a payload. ``replace``: it stands for everything there is."""
    content: Content = {"all": {}} if replace else {}
    size, empty = 0, not replace
    for part, table, kind, schema, delta, count in entries:
        encoded = _encoded(table, delta)
        budget.learn(count, len(encoded))
        tables = content.setdefault(part, {})
        place = table.uid, table.name
        if place in tables or size + len(encoded) > PIECE_BYTES:
            yield framed(encode(content))
            content, size = {}, 0
            tables = content.setdefault(part, {})
        tables[place] = (kind.name, schema, encoded)
        size, empty = size + len(encoded), False
    if content or empty:
        yield framed(encode(content))


def framed(piece: bytes) -> bytes:
    """A piece with its length and checksum."""
    return _HEAD.pack(len(piece), zlib.crc32(piece)) + piece


def frame_length(head: bytes | memoryview) -> int:
    """The length of the piece that follows the first `HEAD_BYTES` of its frame."""
    if len(head) < HEAD_BYTES:
        raise SerializationError("the payload of a layer ends within a frame")
    length: int = _HEAD.unpack_from(head)[0]
    return length


def unframed(head: bytes | memoryview, piece: bytes | memoryview) -> bytes | memoryview:
    """``piece`` if it is what ``head`` says."""
    length, crc = _HEAD.unpack_from(head)
    if len(piece) != length or zlib.crc32(piece) != crc:
        raise SerializationError("a piece of a layer is damaged: its checksum or length differs")
    return piece


def split(payload: bytes) -> Iterator[bytes | memoryview]:
    """The pieces of a whole payload.

    Raises:
        SerializationError: it is damaged.
    """
    view, position = memoryview(payload), 0
    while position < len(view):
        head = view[position : position + HEAD_BYTES]
        start = position + HEAD_BYTES
        position = start + frame_length(head)
        yield unframed(head, view[start:position])


def pieces_in(path: StrPath, offset: int, length: int) -> Iterator[bytes]:
    """The pieces of a payload in a file, read one by one.

    Raises:
        CheckpointCorruptError: the file is missing, too short, or damaged.
        CheckpointError: it cannot be read.
    """
    with opened(path) as raw, io.BufferedReader(raw) as file:
        if offset < 0 or offset + length > os.fstat(file.fileno()).st_size:
            raise CheckpointCorruptError(path, f"it ends before byte {offset + length}")
        file.seek(offset)
        left = length
        while left > 0:
            head = file.read(HEAD_BYTES)
            piece = _read_piece(file, head, left, path)
            left -= HEAD_BYTES + len(piece)
            yield piece


def _read_piece(file: IO[bytes], head: bytes, left: int, path: StrPath) -> bytes:
    try:
        length = frame_length(head)
        if length > left - HEAD_BYTES:
            raise SerializationError("a piece is longer than its layer")
        piece = file.read(length)
        unframed(head, piece)
    except SerializationError as error:
        raise CheckpointCorruptError(path, str(error)) from None
    return piece


def contents(layer: Layer, load: Loader) -> Iterator[Content]:
    """What the pieces of a layer hold; deltas are not decoded yet."""
    if isinstance(layer.data, SubtaskFiles):
        yield {"all": {**tables_of_files(layer.data)}}
        return
    if isinstance(layer.data, FileRef) and isinstance(load, PieceLoader):
        found: Iterable[bytes | memoryview] = load.pieces(layer)
    else:
        found = split(load(layer))
    for piece in found:
        content = decode(piece)
        _require_content(content)
        yield content


def _require_content(content: Any) -> None:
    """Raises CheckpointError unless it is what the pieces of layers hold."""
    if type(content) is dict and all(type(tables) is dict for tables in content.values()):
        entries = [entry for tables in content.values() for entry in tables.items()]
        if all(map(_is_entry, entries)):
            return
    raise CheckpointError("a piece of a layer of the checkpoint holds something else than tables")


def _is_entry(item: tuple[Any, Any]) -> bool:
    name, entry = item
    return (
        type(name) is tuple
        and len(name) == 2
        and all(type(part) is str for part in name)
        and type(entry) is tuple
        and len(entry) == 3
        and type(entry[0]) is str
        and entry[0] in TABLE_KINDS
        and (entry[1] is None or (type(entry[1]) is tuple and len(entry[1]) == 4))
        and type(entry[2]) is bytes
    )


def deltas_of(stored: Stored, groups: range | None = None) -> Iterator[Delta]:
    """What is stored of a table. What belongs to no key group of ``groups`` may be left out.

    Raises:
        CheckpointCorruptError: its file is damaged.
        SerializationError: it has to be unpickled, and there is no leave, or it cannot be.
    """
    if isinstance(stored, StoredTable):
        yield from stored.deltas(groups)
        return
    try:
        delta = decode(stored)
    except Exception as error:
        raise SerializationError(
            f"the state holds a value that cannot be read ({type(error).__name__}: {error})"
        ) from error
    yield delta


def native_payload(files: SubtaskFiles) -> bytes:
    """The payload of a layer that holds what is in the files of a subtask."""
    found = (
        TableDelta(
            "pass", TableId(*table), kind_named(kind), schema, delta, sum(map(len, delta.values()))
        )
        for table, (kind, schema, stored) in tables_of_files(files).items()
        for delta in stored.deltas()
    )
    return b"".join(pieces_of(found, Budget(), replace=True))


def entries_in(content: Content) -> Iterator[tuple[TableId, TableKind, TableSchema, Stored]]:
    """Table, kind, schema and what is stored of it, in the order in which it is to be applied."""
    for part in PARTS:
        for table, (kind, schema, encoded) in content.get(part, {}).items():
            yield TableId(*table), kind_named(kind), schema, encoded


def tables_in(payload: bytes) -> dict[TableId, tuple[TableKind, TableSchema]]:
    """The tables that a layer has something of, with kind and schema; nothing in them is
    decoded."""
    found: dict[TableId, tuple[TableKind, TableSchema]] = {}
    for piece in split(payload):
        content: Content = decode(piece)
        found.update((table, (kind, schema)) for table, kind, schema, _ in entries_in(content))
    return found


def _encoded(table: TableId, delta: Delta) -> bytes:
    try:
        return encode(delta)
    except SerializationError as error:
        raise SerializationError(
            f"state '{table.name}' holds a value that cannot be pickled ({error.__cause__}); keep "
            "plain data in state"
        ) from error
