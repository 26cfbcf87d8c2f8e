"""A cursor in a stream of changes, wherever the stream breaks off and however it begins again."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from millrace.connectors.postgres_cdc.captured_table import CapturedTable
from millrace.connectors.postgres_cdc.log_cursor import LogChange, LogCursor
from millrace.connectors.postgres_cdc.log_position import StreamPosition
from millrace.connectors.postgres_cdc.pgoutput import UNCHANGED, RowChange, parse_message
from millrace.connectors.postgres_cdc.replication_stream import LogData, LogEnd

TABLE = CapturedTable("public", "t", ("id", "v"), ("id",), ("integer",))
OTHER = 2
SIZE = 10
"""Bytes of a message in the log of these tests."""


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def relation(oid: int, table: str, identity: str = "f") -> bytes:
    columns = b"".join(b"\1" + text(name) + struct.pack(">Ii", 23, -1) for name in ("id", "v"))
    head = b"R" + struct.pack(">I", oid) + text("public") + text(table)
    return head + identity.encode() + struct.pack(">H", 2) + columns


def row(*values: str | None) -> bytes:
    parts = [
        b"u" if v == "?" else b"n" if v is None else b"t" + struct.pack(">I", len(v)) + v.encode()
        for v in values
    ]
    return struct.pack(">H", len(values)) + b"".join(parts)


def insert(oid: int, *values: str | None) -> bytes:
    return b"I" + struct.pack(">I", oid) + b"N" + row(*values)


class FakeServer:
    """Transactions in the order of their commits, each of so many inserts; sends those that were
    not committed before the start of a stream, and says now and then how far it has come."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.transactions: list[tuple[int, int, list[str]]] = []
        lsn, number = 100, 0
        for size in sizes:
            values = [str(number + i) for i in range(size)]
            number += size
            lsn += SIZE * (size + 1)
            self.transactions.append((lsn, lsn + SIZE, values))
            lsn += SIZE

    @property
    def values(self) -> list[str]:
        return [value for *_, values in self.transactions for value in values]

    @property
    def end(self) -> int:
        return self.transactions[-1][1] if self.transactions else 100

    def stream(self, start: int, early_end: int) -> FakeStream:
        messages: list[LogData | LogEnd] = [LogEnd(min(start + early_end, self._next(start)))]
        for oid, name in (1, "t"), (OTHER, "other"):
            messages.append(LogData(0, relation(oid, name)))
        for number, (commit, end, values) in enumerate(self.transactions):
            if commit < start:
                continue
            messages.append(LogData(0, b"B" + struct.pack(">QqI", commit, 0, number)))
            for value in values:
                messages.append(LogData(commit - 1, insert(OTHER, value, None)))
                messages.append(LogData(commit - 1, insert(1, value, None)))
                if number % 2:  # the server does not wait for the end of a transaction
                    messages.append(LogEnd(commit - SIZE))
            messages.append(LogData(0, b"C\0" + struct.pack(">QQq", commit, end, 0)))
        messages.append(LogEnd(self.end))
        return FakeStream(messages)

    def _next(self, start: int) -> int:
        """No keep-alive message is ahead of a transaction that is still to be sent."""
        return min((commit for commit, *_ in self.transactions if commit >= start), default=start)


class FakeStream:
    def __init__(self, messages: list[LogData | LogEnd]) -> None:
        self._messages = messages

    def receive(self) -> LogData | LogEnd | None:
        return self._messages.pop(0) if self._messages else None


def cursor(
    server: FakeServer, position: StreamPosition, end: int | None, early_end: int = 0
) -> LogCursor:
    stream = server.stream(position.lsn, early_end)
    return LogCursor(stream, position, end, [TABLE], skips_truncates=False)  # type: ignore[arg-type]


def values_of(changes: list[LogChange]) -> list[str]:
    return [change.key[0] for change in changes]


@given(
    st.lists(st.integers(0, 5), max_size=6),
    st.lists(st.tuples(st.integers(1, 7), st.booleans(), st.integers(0, 200)), max_size=20),
)
def test_each_change_comes_once_wherever_the_stream_breaks(
    sizes: list[int], steps: list[tuple[int, bool, int]]
) -> None:
    """A new stream begins at the last position, and what its first message says is arbitrary."""
    server = FakeServer(sizes)
    found: list[str] = []
    reading = cursor(server, StreamPosition(100), None)
    for count, breaks, early_end in steps:
        found += values_of(reading.read(count))
        if breaks:
            reading = cursor(server, reading.position, None, early_end)
    found += values_of(reading.read(1_000))
    assert found == server.values
    assert reading.position == StreamPosition(server.end)


@given(st.lists(st.integers(0, 5), max_size=6), st.data())
def test_two_parts_of_the_log_have_each_change_once(sizes: list[int], data: st.DataObject) -> None:
    """The log up to a position and from there on, wherever that is."""
    server = FakeServer(sizes)
    middle = data.draw(st.integers(100, server.end))
    first = cursor(server, StreamPosition(100), middle)
    found = values_of(first.read(1_000))
    assert first.at_end
    assert first.position == StreamPosition(middle)
    found += values_of(cursor(server, StreamPosition(middle), None).read(1_000))
    assert found == server.values


def changes(*messages: bytes, identity: str = "f") -> list[LogChange]:
    begin = b"B" + struct.pack(">QqI", 500, 0, 7)
    stream = FakeStream(
        [LogData(9, payload) for payload in (relation(1, "t", identity), begin, *messages)]
    )
    reading = LogCursor(stream, StreamPosition(1), None, [TABLE], False)  # type: ignore[arg-type]
    return reading.read(100)


def update(before: bytes, after: bytes) -> bytes:
    return b"U" + struct.pack(">I", 1) + before + b"N" + after


def test_a_change_of_the_key_is_a_delete_and_a_create() -> None:
    [delete, create] = changes(update(b"O" + row("1", "a"), row("2", "?")))
    assert (delete.op, delete.before, delete.after) == ("d", [b"1", b"a"], None)
    assert (create.op, create.before, create.after) == ("c", None, [b"2", b"a"])


def test_values_that_are_not_in_the_log_come_from_the_row_before() -> None:
    [change] = changes(update(b"O" + row("1", "a"), row("1", "?")))
    assert (change.op, change.after) == ("u", [b"1", b"a"])
    [change] = changes(update(b"", row("1", "?")), identity="d")
    assert change.after == [b"1", UNCHANGED]


def test_other_messages_say_nothing_of_rows() -> None:
    for message in b"O" + bytes(12), b"Y" + bytes(12), b"M" + bytes(20):
        assert parse_message(message) is None
    assert isinstance(parse_message(insert(1, "1", None)), RowChange)
