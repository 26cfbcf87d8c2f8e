"""Payloads in pieces: nobody needs all of a big one, and damage is found piece by piece."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.common.errors import CheckpointCorruptError, SerializationError
from millrace.state.budget import PIECE_BYTES
from millrace.state.checkpoint.delta_file import DeltaLoader
from millrace.state.checkpoint.segment import write_segment
from millrace.state.delta_payload import contents, entries_in, split
from millrace.state.state_delta import FileRef, StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT, LIST, PANES

ENTRIES = 60_000


def inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


def filled() -> SubtaskState:
    state = SubtaskState()
    values, lists = state.table(TableId("op", "v"), FLAT), state.table(TableId("op", "l"), LIST)
    panes = state.table(TableId("op", "p"), PANES)
    for i in range(ENTRIES):
        values.put(i, f"{i:0200}")
        lists.append(i % 5000, i)
        panes.put(i % 3, i, i)
    return state


def assert_same(one: SubtaskState, other: SubtaskState) -> None:
    assert {n: t.data for n, t in one.tables.items()} == {
        n: t.data for n, t in other.tables.items()
    }


def test_a_big_delta_is_made_and_read_piece_by_piece(tmp_path: Path) -> None:
    """From tables to a file and back, never more than a piece at a time."""
    (tmp_path / "shared").mkdir()
    state, sizes = filled(), []

    def place(pieces):
        def watched():
            for piece in pieces:
                sizes.append(len(piece))
                yield piece

        return write_segment(tmp_path, "s", watched(), durable=False)

    delta = state.snapshot(1, "v1", place)
    assert isinstance(delta.data, FileRef)
    assert delta.size() > 3 * PIECE_BYTES
    assert max(sizes) < 2.5 * PIECE_BYTES
    assert len(sizes) > 5
    replica = SubtaskState()
    replica.restore("v1", [delta], DeltaLoader(tmp_path))
    assert_same(replica, state)
    load = DeltaLoader(tmp_path)
    assert {table for part in contents(delta, load) for table, *_ in entries_in(part)} >= {
        TableId("op", "v"),
        TableId("op", "l"),
        TableId("op", "p"),
    }


def test_a_big_delta_comes_in_pieces(tmp_path: Path) -> None:
    """What an epoch changed is not gathered in memory, either."""
    state = filled()
    first = state.snapshot(1, "v1")
    state.align("v1", [first], inline)
    values, lists, panes = (state.tables[TableId("op", name)] for name in "vlp")
    for i in range(25_000):
        values.put(i, f"{-i:0200}")
        panes.put(i % 3, i, -i)
        lists.append(i % 1000, -i)
    panes.remove(0, 30_000)
    panes.drop(1)
    values.remove(7)
    second = state.snapshot(2, "v2")
    assert sum("changes" in content for content in contents(second, inline)) >= 3
    replica = SubtaskState()
    replica.restore("v2", [first, second], inline)
    assert_same(replica, state)


@pytest.mark.parametrize("position", [0, 5, 100, -1])
def test_damage_is_found(tmp_path: Path, position: int) -> None:
    """In whichever piece; and nothing of the delta is kept."""
    (tmp_path / "shared").mkdir()
    delta = filled().snapshot(1, "v1", lambda pieces: write_segment(tmp_path, "s", pieces))
    path = tmp_path / "shared" / "s"
    data = bytearray(path.read_bytes())
    data[position] ^= 0xFF
    path.write_bytes(data)
    state = SubtaskState()
    with pytest.raises(CheckpointCorruptError, match="shared/s"):
        state.restore("v1", [delta], DeltaLoader(tmp_path))
    assert state.version == ""
    assert not any(table.entry_count() for table in state.tables.values())


def test_a_truncated_payload_in_memory() -> None:
    """Is refused, wherever it ends."""
    state = SubtaskState()
    state.table(TableId("op", "v"), FLAT).put(1, 1)
    payload = inline(state.snapshot(1, "v1"))
    for end in range(1, len(payload)):
        with pytest.raises(SerializationError):
            list(split(payload[:end]))
