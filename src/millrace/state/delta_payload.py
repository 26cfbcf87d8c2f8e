"""Payload of a state delta, in pieces of a few megabytes, so that a big payload is never in memory
as a whole.

Layout of a piece: length and CRC-32 of what follows (big-endian), then the length of an encoded
dict from part to tables to (kind, schema, length of the table delta), then that dict, then the
encoded table deltas one after the other; all at multiples of 8 bytes, and none of them copied on
the way into a file. The schema says of which types the entries are (see
`millrace.state.serialization`). The parts are applied in this order:

============== ==================================================================================
part           meaning
============== ==================================================================================
``all``        forget what there is: the delta stands for everything. Only in the first piece.
``changes``    what the epoch changed
``compaction`` entries that the incremental compaction has copied, as of the end of the epoch
============== ==================================================================================
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, NamedTuple, Protocol, runtime_checkable

from millrace.common.errors import CheckpointCorruptError, CheckpointError, SerializationError
from millrace.state.budget import PIECE_BYTES, Budget
from millrace.state.canonical.stored_state import SubtaskFiles
from millrace.state.canonical.stored_table import StoredTable, tables_of_files
from millrace.state.checkpoint.files import StrPath, opened, size_of_opened
from millrace.state.kinds.table_kind import TableKind
from millrace.state.serialization.payload import Chunk, decode, encode, encode_chunks, padding
from millrace.state.serialization.table_form import TableSchema
from millrace.state.state_delta import FileRef, StateDelta
from millrace.state.table import TableDelta
from millrace.state.table_id import TableId
from millrace.state.table_kinds import TABLE_KINDS, kind_named

PARTS = "all", "changes", "compaction"
Stored = bytes | memoryview | StoredTable
"""An encoded table delta, or a table of a canonical savepoint that is not read yet."""
Content = dict[str, dict[tuple[str, str], tuple[str, TableSchema, Stored]]]
"""Part -> (operator uid, state name) -> (kind, schema, table delta)."""
Written = dict[str, dict[tuple[str, str], tuple[str, TableSchema, list[Chunk]]]]
"""Content with table deltas in chunks, as they are written."""
Place = Callable[[Iterator[Chunk]], bytes | FileRef]
"""Function that stores the pieces of a payload and returns their place."""

_HEAD = struct.Struct(">II")
_LENGTH = struct.Struct(">Q")
HEAD_BYTES = _HEAD.size


class PayloadEntry(NamedTuple):
    """Table delta to be encoded into a payload, with its table and the payload part in which it
    belongs.
    """

    part: str
    table: TableId
    kind: TableKind
    schema: TableSchema
    table_delta: TableDelta
    size: int
    """Number of entries in the table delta."""


@runtime_checkable
class PieceLoader(Protocol):
    """Loader that can fetch a payload one piece at a time."""

    def __call__(self, delta: StateDelta) -> bytes:
        """The whole payload."""

    def pieces(self, delta: StateDelta) -> Iterator[bytes | memoryview]:
        """The pieces without their frames. Raises an error when a piece is damaged."""


Loader = Callable[[StateDelta], bytes] | PieceLoader
"""Fetches the payload of a delta."""


def joined(pieces: Iterator[Chunk]) -> bytes:
    """All pieces, joined to one bytes object."""
    return b"".join(pieces)


def pieces_of(entries: Iterable[PayloadEntry], budget: Budget, replace: bool) -> Iterator[Chunk]:
    """Framed pieces of a payload, each in chunks. With ``replace``, the payload replaces all
    state of the subtask."""
    content: Written = {"all": {}} if replace else {}
    size, empty = 0, not replace
    for part, table, kind, schema, table_delta, count in entries:
        encoded = _encoded(table, table_delta)
        length = sum(map(len, encoded))
        budget.learn(count, length)
        tables = content.setdefault(part, {})
        place = table.uid, table.name
        if place in tables or size + length > PIECE_BYTES:
            yield from framed(content)
            content, size = {}, 0
            tables = content.setdefault(part, {})
        tables[place] = (kind.name, schema, encoded)
        size, empty = size + length, False
    if content or empty:
        yield from framed(content)


def framed(content: Written) -> list[Chunk]:
    """Chunks of a piece with its length and checksum."""
    lengths = {
        part: {
            name: (kind, schema, sum(map(len, encoded)))
            for name, (kind, schema, encoded) in tables.items()
        }
        for part, tables in content.items()
    }
    head = encode(lengths)
    chunks: list[Chunk] = [_LENGTH.pack(len(head)), head, padding(len(head))]
    for tables in content.values():
        for _, _, encoded in tables.values():
            chunks += [*encoded, padding(sum(map(len, encoded)))]
    crc = 0
    for chunk in chunks:
        crc = zlib.crc32(chunk, crc)
    return [_HEAD.pack(sum(map(len, chunks)), crc), *chunks]


def frame_length(head: bytes | memoryview) -> int:
    """Length of a piece, read from ``head``, the first `HEAD_BYTES` of the piece's frame."""
    if len(head) < HEAD_BYTES:
        raise SerializationError("the payload of a delta ends within a frame")
    length: int = _HEAD.unpack_from(head)[0]
    return length


def unframed(head: bytes | memoryview, piece: bytes | memoryview) -> bytes | memoryview:
    """The content of ``piece``, checked against the length and checksum in ``head``."""
    length, crc = _HEAD.unpack_from(head)
    if len(piece) != length or zlib.crc32(piece) != crc:
        raise SerializationError("a piece of a delta is damaged: its checksum or length differs")
    return piece


def split(payload: bytes) -> Iterator[bytes | memoryview]:
    """Split a whole payload into its pieces.

    Raises:
        SerializationError: the payload is damaged.
    """
    view, position = memoryview(payload), 0
    while position < len(view):
        head = view[position : position + HEAD_BYTES]
        start = position + HEAD_BYTES
        position = start + frame_length(head)
        yield unframed(head, view[start:position])


def pieces_in(path: StrPath, offset: int, length: int) -> Iterator[bytes]:
    """Pieces of a payload in a file, read one by one.

    Raises:
        CheckpointCorruptError: the file is missing, too short, or damaged.
        CheckpointError: it cannot be read.
    """
    with opened(path, buffered=True) as file:
        if offset < 0 or offset + length > size_of_opened(file):
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
            raise SerializationError("a piece is longer than its delta")
        piece = file.read(length)
        unframed(head, piece)
    except SerializationError as error:
        raise CheckpointCorruptError(path, str(error)) from None
    return piece


def contents(delta: StateDelta, load: Loader) -> Iterator[Content]:
    """Yield the contents of a delta's pieces; table deltas are not decoded yet."""
    if isinstance(delta.data, SubtaskFiles):
        yield {"all": {**tables_of_files(delta.data)}}
        return
    if isinstance(delta.data, FileRef) and isinstance(load, PieceLoader):
        pieces: Iterable[bytes | memoryview] = load.pieces(delta)
    else:
        pieces = split(load(delta))
    for piece in pieces:
        yield _content(memoryview(piece))


def _content(piece: memoryview) -> Content:
    """Decoded content of a piece. Raises CheckpointError unless it has the form of a delta's
    piece."""
    end = _LENGTH.size + _LENGTH.unpack_from(piece)[0] if len(piece) >= _LENGTH.size else 0
    content = decode(piece[_LENGTH.size : end])
    _require_content(content)
    start = end + len(padding(end))
    for tables in content.values():
        for name, (kind, schema, length) in tables.items():
            if start + length > len(piece):
                raise CheckpointError("a table delta of the checkpoint is longer than its piece")
            tables[name] = kind, schema, piece[start : start + length]
            start += length + len(padding(length))
    checked: Content = content
    return checked


def _require_content(content: Any) -> None:
    """Raises CheckpointError unless the content has the form of a delta's piece."""
    if type(content) is dict and all(type(tables) is dict for tables in content.values()):
        entries = [entry for tables in content.values() for entry in tables.items()]
        if all(map(_is_entry, entries)):
            return
    raise CheckpointError(
        "a piece of a delta of the checkpoint contains something other than tables"
    )


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
        and type(entry[2]) is int
        and entry[2] >= 0
    )


def table_deltas_of(stored: Stored, groups: range | None = None) -> Iterator[TableDelta]:
    """Yield the stored deltas of a table. Keys outside the key groups ``groups`` may be left out.

    Raises:
        CheckpointCorruptError: its file is damaged.
        SerializationError: a value has to be unpickled, and that is not allowed or fails.
    """
    if isinstance(stored, StoredTable):
        yield from stored.table_deltas(groups)
        return
    try:
        table_delta = decode(stored)
    except Exception as error:
        raise SerializationError(
            f"the state holds a value that cannot be read ({type(error).__name__}: {error})"
        ) from error
    yield table_delta


def native_payload(files: SubtaskFiles) -> bytes:
    """The content of a subtask's files, converted to a payload in native format."""
    pieces = (
        PayloadEntry(
            "compaction",
            TableId(*table),
            kind_named(kind),
            schema,
            table_delta,
            sum(map(len, table_delta.values())),
        )
        for table, (kind, schema, stored) in tables_of_files(files).items()
        for table_delta in stored.table_deltas()
    )
    return b"".join(pieces_of(pieces, Budget(), replace=True))


def entries_in(content: Content) -> Iterator[tuple[TableId, TableKind, TableSchema, Stored]]:
    """Table, kind, schema and stored deltas of each table, in the order in which they are to be
    applied."""
    for part in PARTS:
        for table, (kind, schema, encoded) in content.get(part, {}).items():
            yield TableId(*table), kind_named(kind), schema, encoded


def _encoded(table: TableId, table_delta: TableDelta) -> list[Chunk]:
    try:
        return encode_chunks(table_delta)
    except SerializationError as error:
        raise SerializationError(
            f"state '{table.name}' holds a value that cannot be pickled ({error.__cause__}); keep "
            "plain data in state"
        ) from error
