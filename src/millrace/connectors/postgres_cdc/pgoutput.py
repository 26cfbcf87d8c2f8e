"""Messages of PostgreSQL's output plugin ``pgoutput``, protocol version 1.

PostgreSQL docs: "Logical Replication Message Formats".
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, Final, NamedTuple

__all__ = [
    "UNCHANGED",
    "Begin",
    "Commit",
    "Relation",
    "RelationColumn",
    "RowChange",
    "Truncate",
    "Values",
    "parse_message",
]

UNCHANGED: Final = b"\x00unchanged"
"""In place of a large value (TOAST) that an update has left as it was and that the log therefore
does not have. No value of PostgreSQL's has a zero byte in its text."""

Values = list[bytes | None]
"""The columns of a row, as PostgreSQL writes them as text."""

_EPOCH_MS = 946_684_800_000
"""PostgreSQL counts time from 2000 on."""
_TWO = Struct(">H").unpack_from
_FOUR = Struct(">I").unpack_from
_BEGIN = Struct(">QqI").unpack_from
_COMMIT = Struct(">BQQq").unpack_from
_COLUMN = Struct(">Ii").unpack_from
_TEXT, _NULL, _TOAST = b"tnu"
_KEY, _NEW = b"KN"


class Begin(NamedTuple):
    """The start of a transaction; transactions arrive in commit order."""

    commit_lsn: int
    commit_time: int
    """In ms since 1970."""
    xid: int


class Commit(NamedTuple):
    """The end of a transaction."""

    commit_lsn: int
    end_lsn: int
    """Position in the log after the commit."""


class RelationColumn(NamedTuple):
    """A column of a table, in the layout of the rows that follow."""

    name: str
    type_oid: int


class Relation(NamedTuple):
    """The layout of a table's rows from this message on."""

    oid: int
    schema: str
    table: str
    replica_identity: str
    """``d``: its key, ``f``: whole rows, ``i``: an index, ``n``: nothing."""
    columns: tuple[RelationColumn, ...]


class RowChange(NamedTuple):
    """A row was inserted (``c``), updated (``u``) or deleted (``d``)."""

    op: str
    relation: int
    before: Values | None
    """The old row. If the key is the replica identity, only the old key, and only if it changed."""
    after: Values | None


class Truncate(NamedTuple):
    """Deletion of all rows of the given tables."""

    relations: tuple[int, ...]


Message = Begin | Commit | Relation | RowChange | Truncate


def parse_message(data: bytes) -> Message | None:
    """The parsed message; None for one without row data."""
    parse = _PARSERS.get(data[0])
    return None if parse is None else parse(data)


def _begin(data: bytes) -> Begin:
    commit_lsn, time, xid = _BEGIN(data, 1)
    return Begin(commit_lsn, _EPOCH_MS + time // 1000, xid)


def _commit(data: bytes) -> Commit:
    _, commit_lsn, end_lsn, _ = _COMMIT(data, 1)
    return Commit(commit_lsn, end_lsn)


def _insert(data: bytes) -> RowChange:
    return RowChange("c", _FOUR(data, 1)[0], None, _values(data, 6)[0])


def _update(data: bytes) -> RowChange:
    before, at = None, 6
    if data[5] != _NEW:
        before, at = _values(data, 6)
        at += 1
    return RowChange("u", _FOUR(data, 1)[0], before, _values(data, at)[0])


def _delete(data: bytes) -> RowChange:
    return RowChange("d", _FOUR(data, 1)[0], _values(data, 6)[0], None)


def _truncate(data: bytes) -> Truncate:
    count = _FOUR(data, 1)[0]
    return Truncate(tuple(_FOUR(data, 6 + 4 * index)[0] for index in range(count)))


def _values(data: bytes, at: int) -> tuple[Values, int]:
    """Values of a row, and the position after them."""
    values: Values = []
    add = values.append
    count = _TWO(data, at)[0]
    at += 2
    for _ in range(count):
        kind = data[at]
        at += 1
        if kind == _TEXT:
            end = at + 4 + _FOUR(data, at)[0]
            add(data[at + 4 : end])
            at = end
        elif kind == _NULL:
            add(None)
        else:
            add(UNCHANGED)
    return values, at


def _relation(data: bytes) -> Relation:
    schema, at = _string(data, 5)
    table, at = _string(data, at)
    identity, count = chr(data[at]), _TWO(data, at + 1)[0]
    at += 3
    columns = []
    for _ in range(count):
        name, at = _string(data, at + 1)
        columns.append(RelationColumn(name, _COLUMN(data, at)[0]))
        at += 8
    return Relation(_FOUR(data, 1)[0], schema or "pg_catalog", table, identity, tuple(columns))


def _string(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(0, at)
    return data[at:end].decode(), end + 1


_PARSERS: dict[int, Callable[[bytes], Any]] = {
    ord("B"): _begin,
    ord("C"): _commit,
    ord("R"): _relation,
    ord("I"): _insert,
    ord("U"): _update,
    ord("D"): _delete,
    ord("T"): _truncate,
}
