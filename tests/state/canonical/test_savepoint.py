"""Canonical savepoints: all kinds of state there and back, at any parallelism, and who may read."""

from __future__ import annotations

import dataclasses
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from millrace.common.errors import CheckpointCorruptError, CheckpointError, SerializationError
from millrace.common.types.typeinfo import Types
from millrace.state.canonical.opaque_parts import tagged
from millrace.state.canonical.savepoint import write_canonical_savepoint
from millrace.state.canonical.savepoint_files import write_states
from millrace.state.canonical.state_file import read_rows
from millrace.state.canonical.stored_table import StoredTable
from millrace.state.checkpoint.delta_file import DeltaLoader, write_delta_file
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.savepoints import dispose_savepoint
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.state.internal_tables import FEEDBACK
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.state.serialization.payload import TAGGED, decode, encode, encode_records
from millrace.state.snapshot_diff import diff_snapshots
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId, operator_value
from millrace.state.table_kinds import (
    BROADCAST,
    EVENT_TIMER_QUEUE,
    FLAT,
    LIST,
    MAP,
    PANES,
    SPLIT_LIST,
    TTL_FLAT,
    WINDOW_FLAT,
    WINDOW_LIST,
)  # fmt: skip

MAXIMUM = 32
WIDTH = 2
NEVER = object()


class Odd:
    """Has to be pickled."""


def filled(subtask: int) -> SubtaskState:
    """A subtask with a table of every kind."""
    state = SubtaskState()
    own = key_group_range(subtask, WIDTH, MAXIMUM)
    keys = [n for n in range(60) if key_group_of(n, MAXIMUM) in own]
    table = state.table
    table(TableId("op", "flat"), FLAT, Types.LONG())
    table(TableId("op", "untyped"), FLAT)
    table(TableId("op", "ttl"), TTL_FLAT, Types.STRING())
    table(TableId("op", "map"), MAP, Types.MAP(Types.STRING(), Types.of(tuple[int, str])))
    for key in keys:
        table(TableId("op", "flat"), FLAT).put(key, key * 2)
        table(TableId("op", "untyped"), FLAT).put(key, {key, "x"} if key % 2 else key)
        table(TableId("op", "ttl"), TTL_FLAT).put(key, (f"v{key}", 1_000 + key))
        for number in range(key % 3):
            table(TableId("op", "list"), LIST).append(key, number)
            table(TableId("op", "window"), WINDOW_LIST).append(((0, 10), key), number)
            table(TableId("op", "map"), MAP).put(key, f"m{number}", (number, "y"))
        table(TableId("op", "@panes"), PANES).put((0, 10), key, key)
        table(TableId("op", "@event-timers"), EVENT_TIMER_QUEUE).put(key % 7, (key, (0, 10)), True)
        table(TableId("op", "window-flat"), WINDOW_FLAT).put(((0, 10), key), key)
    table(TableId("op", "rules"), BROADCAST).put("rule", ("same", "everywhere"))
    table(TableId("op", "split"), SPLIT_LIST).put(subtask, "element")
    state.operator_table().put(operator_value("op", "@watermark"), 17 + subtask)
    return state


@pytest.fixture
def native(tmp_path: Path) -> tuple[Path, Manifest]:
    """The deltas of two subtasks, and what a manifest says of them."""
    entries = []
    for subtask in range(WIDTH):
        delta = filled(subtask).snapshot(1, f"v{subtask}")
        assert delta is not None
        entries.append(("stage", subtask, delta))
    (tmp_path / "job" / "shared").mkdir(parents=True)
    file = write_delta_file(tmp_path / "job", "a.deltas", entries, durable=False)
    manifest = Manifest(
        job_id="job", job_name="job", run_id="r", checkpoint=1, epoch=2, timestamp=0, parent=None,
        max_parallelism=MAXIMUM, stages={"stage": WIDTH}, operators={"op": "Operator"},
        versions={("stage", n): f"v{n}" for n in range(WIDTH)}, delta_files=(file.ref,),
        sources={"op": encode({"assigned": [(1, 2)]})}, pending={"sink": [b"x"]},
        chains={"stage": ("op",)},
    )  # fmt: skip
    return tmp_path / "job", manifest


def written(native: tuple[Path, Manifest], path: Path) -> Path:
    directory, manifest = native
    deltas: dict[tuple[str, int], list[StateDelta]] = {}
    from millrace.state.checkpoint.delta_set import read_deltas_of

    deltas = read_deltas_of(directory, manifest, directory).by_subtask()
    write_canonical_savepoint(path, str(directory), manifest, deltas, {})
    return path


def rewritten(savepoint: Path, change: Callable[[Any], None]) -> None:
    """Tamper with the manifest, and make its checksum right again."""
    content = json.loads((savepoint / "_metadata").read_text())
    del content["checksum"]
    change(content)
    body = json.dumps(content, indent=1).removesuffix("\n}").encode()
    end = b',\n "checksum": "crc32:%08x"\n}\n' % zlib.crc32(body)
    (savepoint / "_metadata").write_bytes(body + end)


def test_the_same_subtasks(native: Any, tmp_path: Path) -> None:
    """Have the same tables."""
    snapshot = open_snapshot(written(native, tmp_path / "made"))
    assert snapshot.is_canonical
    for (_, subtask), deltas in snapshot.deltas.by_subtask().items():
        state, wanted = SubtaskState(), SubtaskState()
        state.restore("x", deltas, DeltaLoader(snapshot.directory))
        delta = filled(subtask).snapshot(1, "v")
        assert delta is not None
        wanted.restore("x", [delta], lambda delta: delta.data)  # type: ignore[return-value]
        for name, table in wanted.tables.items():
            assert state.kind(name) == wanted.kind(name)
            assert state.schema(name) == wanted.schema(name)
            assert state.tables[name].data == table.data, name  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [1, 3, 5])
def test_another_parallelism(native: Any, tmp_path: Path, width: int) -> None:
    """Every key comes to the subtask of its key group, once."""
    snapshot = open_snapshot(written(native, tmp_path / "made"))
    found: dict[int, int] = {}
    for index in range(width):
        groups = key_group_range(index, width, MAXIMUM)
        state = SubtaskState()
        for deltas in snapshot.deltas.by_subtask().values():
            state.take(
                deltas, DeltaLoader(snapshot.directory), lambda table, kind: table.name == "flat",
                lambda key, own=groups: key_group_of(key, MAXIMUM) in own, groups=groups,
            )  # fmt: skip
        data = state.table(TableId("op", "flat"), FLAT, Types.LONG()).data
        assert not found.keys() & data.keys()
        assert all(key_group_of(key, MAXIMUM) in groups for key in data)
        found.update(data)
    assert found == {key: key * 2 for key in range(60)}


def test_the_parts_that_are_no_tables(native: Any, tmp_path: Path) -> None:
    """Positions of sources and what goes round in loops; nothing is left to commit."""
    manifest = open_snapshot(written(native, tmp_path / "made")).manifest
    assert decode(manifest.sources["op"]) == {"assigned": [(1, 2)]}
    assert manifest.pending == {}


def test_it_is_the_same_as_what_it_was_made_of(native: Any, tmp_path: Path) -> None:
    """For whoever compares them, and after it was moved."""
    written(native, tmp_path / "made").rename(tmp_path / "moved")
    directory, manifest = native
    other = dataclasses.replace(manifest, versions={})
    (directory / "chk-1").mkdir()
    (directory / "chk-1" / "_metadata").write_bytes(other.encode())
    made = open_snapshot(tmp_path / "moved")
    differing = SnapshotReader(dataclasses.replace(made, manifest=dataclasses.replace(
        made.manifest, versions={key: f"{v}'" for key, v in made.manifest.versions.items()}
    )))  # fmt: skip
    diffs = diff_snapshots(SnapshotReader(made), differing, internal=True)
    assert len(diffs) >= 12
    assert not any(diff.differs or diff.unread for diff in diffs)
    assert sum(diff.same for diff in diffs) > 300


def test_other_tools_read_it(native: Any, tmp_path: Path) -> None:
    """A directory per state."""
    made = written(native, tmp_path / "made")
    rows = ds.dataset(made / "states" / "op" / "flat").to_table().to_pylist()
    assert {row["key"]: row["value"] for row in rows} == {key: key * 2 for key in range(60)}
    assert {row["key"]: row["key_group"] for row in rows} == {
        key: key_group_of(key, MAXIMUM) for key in range(60)
    }
    timers = ds.dataset(made / "states" / "op" / "event-timers.814f92").to_table().to_pylist()
    assert {(row["time"], row["key"], row["window"]["end"]) for row in timers} == {
        (key % 7, key, 10) for key in range(60)
    }


@pytest.mark.spark
def test_spark_reads_it(spark: Any, native: Any, tmp_path: Path) -> None:
    """Without millrace."""
    made = written(native, tmp_path / "made")
    read = spark.read.parquet(str(made / "states" / "op" / "map"))
    rows = read.select("key", "map_key", "value.f0", "value.f1").where("key = 5").collect()
    assert sorted(map(tuple, rows)) == [(5, "m0", 0, "y"), (5, "m1", 1, "y")]


def test_pickles_need_leave(tmp_path: Path) -> None:
    """Those who have it read them; the manifest tells where they are."""
    state = SubtaskState()
    state.table(TableId("op", "odd"), FLAT).put(1, Odd())
    delta = state.snapshot(1, "v0")
    assert delta is not None
    (tmp_path / "shared").mkdir()
    file = write_delta_file(tmp_path, "a.deltas", [("stage", 0, delta)], durable=False)
    manifest = Manifest(
        job_id="job", job_name="job", run_id="r", checkpoint=1, epoch=2, timestamp=0, parent=None,
        max_parallelism=MAXIMUM, stages={"stage": 1}, operators={"op": "Operator"},
        versions={("stage", 0): "v0"}, delta_files=(file.ref,), sources={"op": encode([Odd()])},
        pending={}, chains={"stage": ("op",)},
    )  # fmt: skip
    made = written((tmp_path, manifest), tmp_path / "made")
    snapshot = open_snapshot(made)
    assert snapshot.manifest.states[0].files[0].pickled == 1
    reader = SnapshotReader(snapshot)
    with pytest.raises(SerializationError, match="--allow-pickle"):
        list(reader.entries(reader.state("op", "odd")))
    with pytest.raises(SerializationError, match="is not allowed"):
        decode(snapshot.manifest.sources["op"])
    trusting = SnapshotReader(open_snapshot(made, trusted=True))
    ((entry),) = trusting.entries(trusting.state("op", "odd"))
    assert type(entry.value) is Odd
    assert type(decode(trusting.snapshot.manifest.sources["op"])[0]) is Odd


def test_native_parts_in_a_canonical_manifest_are_refused(native: Any, tmp_path: Path) -> None:
    """They could be pickles."""
    good = open_snapshot(written(native, tmp_path / "made")).manifest
    changed = dataclasses.replace(good, sources={"op": encode([Odd()])})
    with pytest.raises(ValueError, match="native encoding"):
        changed.encode()


@pytest.mark.parametrize(
    "position",
    [{"$unknown": 1}, {"$pickle": {"$bytes": "gASVAAAAAAAAAACMAXiULg=="}}, {"$bytes": "?"}],
    ids=str,
)
def test_positions_that_lie(native: Any, tmp_path: Path, position: Any) -> None:
    """Are refused when they are looked at, not run."""
    made = written(native, tmp_path / "made")
    rewritten(made, lambda content: content["sources"].update(op=position))
    with pytest.raises(SerializationError):
        decode(open_snapshot(made).manifest.sources["op"])


def test_positions_are_plain(native: Any, tmp_path: Path) -> None:
    """People and other programs read them in the manifest."""
    content = json.loads((written(native, tmp_path / "made") / "_metadata").read_text())
    assert content["sources"] == {"op": {"assigned": [{"$tuple": [1, 2]}]}}


def test_what_goes_round_in_loops(tmp_path: Path) -> None:
    """Is kept encoded, in a way that runs no code."""
    state = SubtaskState()
    batch = encode_records([(1, "a")], None)
    state.table(TableId("tail", FEEDBACK), SPLIT_LIST).put((0, 0), batch)
    delta = state.snapshot(1, "v0")
    assert delta is not None
    made = tmp_path / "states"
    (stored,) = write_states(made, "", {("stage", 0): [delta]}, MAXIMUM, {})
    (rows,) = read_rows(str(made), stored.files[0], stored.columns, None, False)
    assert rows["value"] == [tagged(batch)]
    assert rows["value"][0][:1] == TAGGED
    (table_delta,) = StoredTable(str(made), stored, False).table_deltas()
    assert list(map(decode, table_delta["put"].values())) == [([(1, "a")], None)]


def test_a_subtask_without_rows_determines_no_types(tmp_path: Path) -> None:
    """Or other tools would read tagged msgpack in the files of the others."""
    place = TableId("op", "states")
    deltas: dict[tuple[str, int], list[StateDelta]] = {}
    for subtask, keys in enumerate(("", "ab", "")):
        state = SubtaskState()
        table = state.table(place, MAP)
        for key in keys:
            table.put(key, ("function", "name"), ("type", b"value", -1))
        state.table(TableId("op", "split"), SPLIT_LIST).put(subtask, "element")
        delta = state.snapshot(1, f"v{subtask}")
        assert delta is not None
        deltas["stage", subtask] = [delta]
    made = tmp_path / "made"
    stored = next(s for s in write_states(str(made), "", deltas, MAXIMUM, {}) if s.name == "states")
    assert [(file.subtask, file.rows) for file in stored.files] == [(0, 0), (1, 2), (2, 0)]
    rows = ds.dataset(made / "states" / "op" / "states").to_table().to_pylist()
    assert {row["key"] for row in rows} == {"a", "b"}
    for row in rows:
        assert row["map_key"] == {"f0": "function", "f1": "name"}
        assert row["value"] == {"f0": "type", "f1": b"value", "f2": -1}
    put = {}
    for table_delta in StoredTable(str(made), stored, False).table_deltas():
        put.update(table_delta["put"])
    entry = {("function", "name"): ("type", b"value", -1)}
    assert put == {"a": entry, "b": entry}


@pytest.mark.parametrize("path", ["../../x.parquet", "/dev/zero", "states/a/../x.parquet", "a"])
def test_paths_stay_inside(native: Any, tmp_path: Path, path: str) -> None:
    """Whatever the manifest says."""
    made = written(native, tmp_path / "made")
    rewritten(made, lambda content: content["states"][0]["files"][0].update(path=path))
    with pytest.raises(
        CheckpointCorruptError, match="_metadata is corrupt: .*not the path of a file"
    ):
        open_snapshot(made)


def test_disposing_takes_all_of_it(native: Any, tmp_path: Path) -> None:
    """And nothing else."""
    made = written(native, tmp_path / "made")
    (made / "states" / "op" / "note").write_text("mine")
    assert dispose_savepoint(made) == [str(made / "states" / "op" / "note")]
    assert dispose_savepoint(written(native, tmp_path / "again")) == []
    assert not (tmp_path / "again").exists()


def test_all_of_it_is_on_the_disk(
    native: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of directories, too."""
    flushed: set[str] = set()
    monkeypatch.setattr(os, "fsync", lambda fd: flushed.add(os.readlink(f"/proc/self/fd/{fd}")))
    made = written(native, tmp_path / "savepoints" / "made")
    parts = {str(path) for path in made.rglob("*") if path.name != "_metadata"}
    assert parts | {str(tmp_path), str(made.parent), str(made)} <= flushed


def test_nothing_is_left_of_a_failure(native: Any, tmp_path: Path) -> None:
    """A file is in the way of the directory."""
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot write"):
        written(native, tmp_path / "file" / "made")
