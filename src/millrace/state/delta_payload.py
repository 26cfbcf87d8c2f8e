"""The payload of a state delta: pieces of a few megabytes, so that a big one is never in memory
as a whole.

Layout of a piece: length and CRC-32 of what follows (big-endian), then a dict from part to tables
to (kind, schema, encoded table delta). The schema says of which types the entries are (see
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
from millrace.state.serialization.payload import decode, encode
from millrace.state.serialization.table_form import TableSchema
from millrace.state.state_delta import FileRef, StateDelta
from millrace.state.table import TableDelta
from millrace.state.table_id import TableId
from millrace.state.table_kinds import TABLE_KINDS, kind_named

PARTS = "all", "changes", "compaction"
Stored = bytes | StoredTable
"""An encoded table delta, or a table of a canonical savepoint that is not read yet."""
Content = dict[str, dict[tuple[str, str], tuple[str, TableSchema, Stored]]]
"""Part -> (operator uid, state name) -> (kind, schema, table delta)."""
Place = Callable[[Iterator[bytes]], bytes | FileRef]
"""Puts the pieces of a payload where they belong."""

_HEAD = struct.Struct(">II")
HEAD_BYTES = _HEAD.size


class PayloadEntry(NamedTuple):
    """A table delta with its table and part, as it goes into a payload; not encoded yet."""

    part: str
    table: TableId
    kind: TableKind
    schema: TableSchema
    table_delta: TableDelta
    size: int
    """How many entries the table delta has."""


@runtime_checkable
class PieceLoader(Protocol):
    """A loader that can fetch a payload piece by piece."""

    def __call__(self, delta: StateDelta) -> bytes:
        """The whole payload."""

    def pieces(self, delta: StateDelta) -> Iterator[bytes | memoryview]:
        """The pieces without their frames; raises when one is damaged."""


Loader = Callable[[StateDelta], bytes] | PieceLoader
"""Fetches the payload of a delta."""


def joined(pieces: Iterator[bytes]) -> bytes:
    """Keep the pieces in memory."""
    return b"".join(pieces)


def pieces_of(entries: Iterable[PayloadEntry], budget: Budget, replace: bool) -> Iterator[bytes]:
    """The framed pieces of a payload. ``replace``: it stands for everything there is."""
    content: Content = {"all": {}} if replace else {}
    size, empty = 0, not replace
    for part, table, kind, schema, table_delta, count in entries:
        encoded = _encoded(table, table_delta)
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
        raise SerializationError("the payload of a delta ends within a frame")
    length: int = _HEAD.unpack_from(head)[0]
    return length


def unframed(head: bytes | memoryview, piece: bytes | memoryview) -> bytes | memoryview:
    """``piece`` if it is what ``head`` says."""
    length, crc = _HEAD.unpack_from(head)
    if len(piece) != length or zlib.crc32(piece) != crc:
        raise SerializationError("a piece of a delta is damaged: its checksum or length differs")
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
    """What the pieces of a delta hold; table deltas are not decoded yet."""
    if isinstance(delta.data, SubtaskFiles):
        yield {"all": {**tables_of_files(delta.data)}}
        return
    if isinstance(delta.data, FileRef) and isinstance(load, PieceLoader):
        found: Iterable[bytes | memoryview] = load.pieces(delta)
    else:
        found = split(load(delta))
    for piece in found:
        content = decode(piece)
        _require_content(content)
        yield content


def _require_content(content: Any) -> None:
    """Raises CheckpointError unless it is what the pieces of deltas hold."""
    if type(content) is dict and all(type(tables) is dict for tables in content.values()):
        entries = [entry for tables in content.values() for entry in tables.items()]
        if all(map(_is_entry, entries)):
            return
    raise CheckpointError("a piece of a delta of the checkpoint holds something else than tables")


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


def table_deltas_of(stored: Stored, groups: range | None = None) -> Iterator[TableDelta]:
    """What is stored of a table. What belongs to no key group of ``groups`` may be left out.

    Raises:
        CheckpointCorruptError: its file is damaged.
        SerializationError: it has to be unpickled, and there is no leave, or it cannot be.
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
    """The payload of a delta that holds what is in the files of a subtask."""
    found = (
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
    return b"".join(pieces_of(found, Budget(), replace=True))


def entries_in(content: Content) -> Iterator[tuple[TableId, TableKind, TableSchema, Stored]]:
    """Table, kind, schema and what is stored of it, in the order in which it is to be applied."""
    for part in PARTS:
        for table, (kind, schema, encoded) in content.get(part, {}).items():
            yield TableId(*table), kind_named(kind), schema, encoded


def _encoded(table: TableId, table_delta: TableDelta) -> bytes:
    try:
        return encode(table_delta)
    except SerializationError as error:
        raise SerializationError(
            f"state '{table.name}' holds a value that cannot be pickled ({error.__cause__}); keep "
            "plain data in state"
        ) from error
