"""A kind of state is one definition: one that nobody knew before goes through everything."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from millrace.common import Types
from millrace.common.errors import CheckpointError
from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.lease import Lease
from millrace.state.canonical.savepoint import write_canonical_savepoint
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.division import TableDivision
from millrace.state.frozen import MISSING
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.state.kinds.entry_columns import KEY, EntryColumns
from millrace.state.kinds.layout import Layout
from millrace.state.kinds.state_shape import KeyedStateEntry, StateShape
from millrace.state.kinds.table_kind import TableKind
from millrace.state.serialization.entry_types import StateOwner
from millrace.state.serialization.schema import ANY
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state.state_delta import StateDelta
from millrace.state.state_follower import StateFollower
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import TABLE_KINDS, kind_named
from millrace.state_processor.state_rows import column_names, rows_of

MAXIMUM = 16
TABLE = TableId("op", "scores")


def by_place(put: dict[Any, Any], _: dict[Any, Any]) -> Iterator[KeyedStateEntry]:
    """Shows which place each player is in, best first."""
    for board, scores in put.items():
        for place, (_, player) in enumerate(sorted(scores, reverse=True), 1):
            yield KeyedStateEntry(player, f"{place}. of {board}")


SCORES = TableKind(
    "toy-scores",
    Layout.NESTED,
    StateShape.VALUE,
    by_place,
    EntryColumns(("board",), ("score", KEY)),
)
"""Board to (score, player) to what is known; the player is the key of the stream."""


@pytest.fixture(autouse=True)
def registered(monkeypatch) -> None:
    monkeypatch.setitem(TABLE_KINDS, SCORES.name, SCORES)


def inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


class Job:
    """One subtask whose state is of the toy kind, with a checkpoint directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = str(directory)
        self._storage = CheckpointStorage(self.directory, "r", Lease.acquire(self.directory, "r"))
        self.state = SubtaskState(owners={"op": StateOwner("Op", Types.STRING())})
        self.deltas: list[StateDelta] = []

    def score(self, board: str, score: int, player: str) -> None:
        self.state.table(TABLE, SCORES, Types.LONG()).put(board, (score, player), score * 10)

    def checkpoint(self) -> Manifest:
        epoch = len(self.deltas) + 1
        delta = self.state.snapshot(epoch, f"v{epoch}")
        assert delta is not None
        self.state.align(f"v{epoch}", [delta], inline)
        self.deltas.append(delta)
        content = Manifest(
            job_name="toy", epoch=epoch, timestamp=0, max_parallelism=MAXIMUM, stages={"s": 1},
            operators={"op": "Op"}, versions={("s", 0): f"v{epoch}"}, sources={}, pending={},
        )  # fmt: skip
        manifest, _ = self._storage.publish(content, [("s", 0, delta)])
        return manifest


@pytest.fixture
def job(tmp_path: Path) -> Job:
    made = Job(tmp_path)
    for number in range(20):
        made.score("chess", number, f"p{number}")
    return made


def test_write_and_restore(job: Job) -> None:
    """With types of its own, over several epochs, of which one is aborted."""
    job.checkpoint()
    job.score("go", 1, "p1")
    job.state.roll_back()
    job.score("go", 2, "p2")
    job.state.tables[TABLE].remove("chess", (0, "p0"))  # type: ignore[attr-defined]
    job.checkpoint()
    again = SubtaskState(owners=job.state.owners)
    again.restore("v2", job.deltas, inline)
    assert again.kind(TABLE) is SCORES
    assert again.schema(TABLE) == (1, "STRING", ANY, "BIGINT")
    data = again.table(TABLE, SCORES, Types.LONG()).data
    assert data == job.state.tables[TABLE].data  # type: ignore[attr-defined]
    assert data["go"] == {(2, "p2"): 20}
    assert (0, "p0") not in data["chess"]


def test_follow(job: Job) -> None:
    """A follower tells what the next checkpoint changed."""
    follower = StateFollower(job.directory, {TABLE})
    follower.load(job.checkpoint())
    assert follower.kind(TABLE) is SCORES
    job.score("go", 1, "p1")
    assert follower.advance(job.checkpoint()) == {TABLE: {"go": (MISSING, {(1, "p1"): 10})}}


def test_show(job: Job) -> None:
    """As rows, in the columns of its shape."""
    job.checkpoint()
    reader = SnapshotReader(open_snapshot(job.directory, trusted=True))
    info = reader.state("Op", "scores")
    assert (info.kind, info.shape, info.has_ttl) == (SCORES, StateShape.VALUE, False)
    assert column_names(info) == ("key", "value")
    rows = list(rows_of(info, reader.entries(info)))
    assert [rows[0], rows[-1]] == [("p19", "1. of chess"), ("p0", "20. of chess")]


def test_canonical_savepoint(job: Job, tmp_path: Path) -> None:
    """In columns of its own, and back."""
    manifest = job.checkpoint()
    path = tmp_path / "savepoint"
    deltas = {("s", 0): job.deltas}
    write_canonical_savepoint(path, job.directory, manifest, deltas, {})
    parquet = pq.read_table(next(path.rglob("*.parquet"))).to_pydict()
    assert {"board", "score", "key", "value", "key_group"} <= parquet.keys()
    assert sorted(parquet["score"]) == list(range(20))
    reader = SnapshotReader(open_snapshot(path))
    again = reader.restore("s", 0)
    assert again.kind(TABLE) is SCORES
    data = again.table(TABLE, SCORES, Types.LONG()).data
    assert data == job.state.tables[TABLE].data  # type: ignore[attr-defined]


@pytest.mark.parametrize("parallelism", [2, 3])
def test_rescale(job: Job, parallelism: int) -> None:
    """Entries follow their keys, whether the old owner divides or the new ones filter."""
    job.checkpoint()
    parts = job.state.divided(TableDivision(parallelism, MAXIMUM))
    assert parts is not None
    found: dict[str, int] = {}
    for subtask, (rows, rest) in enumerate(parts):
        own = key_group_range(subtask, parallelism, MAXIMUM)
        divided, filtered = SubtaskState(), SubtaskState()
        divided.restore("v", [StateDelta(1, "r", 1, rows), StateDelta(1, "v", 1, rest)], inline)
        filtered.take(
            job.deltas,
            inline,
            lambda name, kind: kind is SCORES,
            lambda key, own=own: key_group_of(key, MAXIMUM) in own,
        )
        mine = divided.tables[TABLE].data.get("chess", {})  # type: ignore[attr-defined]
        assert mine == filtered.tables[TABLE].data.get("chess", {})  # type: ignore[attr-defined]
        assert all(key_group_of(player, MAXIMUM) in own for _, player in mine)
        found.update({player: value for (_, player), value in mine.items()})
    assert found == {f"p{number}": number * 10 for number in range(20)}


@pytest.mark.parametrize("kind", TABLE_KINDS.values(), ids=str)
def test_a_kind_is_one_object(kind: TableKind) -> None:
    """Also after it has travelled."""
    assert kind_named(kind.name) is kind
    assert pickle.loads(pickle.dumps(kind)) is kind


def test_an_unknown_kind() -> None:
    """As of a checkpoint that another release wrote."""
    with pytest.raises(CheckpointError, match="unknown kind 'hologram'"):
        kind_named("hologram")
