"""Bulk loads of RocksDB: whatever is written in one is there, as if it had been written plainly."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from millrace.state.backend import rocksdb_load
from millrace.state.backend.key_value_store import WriteBatch
from millrace.state.backend.rocksdb_store import RocksDBOptions, RocksDBStore
from millrace.testing.sorted_store import SortedStore

pytest.importorskip("rocksdict")

END = b"\xff"


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that is gathered becomes a file, however little it is."""
    monkeypatch.setattr(rocksdb_load, "LEAST_BYTES", 0)


def all_of(store: RocksDBStore) -> dict[bytes, bytes]:
    return dict(store.scan(b"", END))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("seed", range(6))
def test_as_a_plain_store(tmp_path: Path, seed: int) -> None:
    """Writes of all kinds, reads in between, loads that begin and end."""
    rng = random.Random(seed)
    store = RocksDBStore(tmp_path / "db", RocksDBOptions(write_buffer=rng.choice([500, 1 << 20])))
    model = SortedStore()

    def key() -> bytes:
        return b"%02d" % rng.randrange(60)

    for step in range(300):
        act = rng.random()
        if act < 0.6:
            changes = WriteBatch(
                puts=[(key(), b"%d" % step) for _ in range(rng.randrange(6))],
                deletes=[key() for _ in range(rng.randrange(4))],
            )
            if rng.random() < 0.05:
                changes.ranges = [tuple(sorted((key(), key())))]
            store.write(changes)
            model.write(changes)
        elif act < 0.7:
            store.begin_load()
        elif act < 0.75:
            store.end_load()
        elif act < 0.77:
            store.resume_compaction()
        elif act < 0.9:
            wanted = [key() for _ in range(5)]
            assert list(store.get_many(wanted)) == model.get_many(wanted)
            assert store.get(wanted[0]) == model.get(wanted[0])
        else:
            start, end = sorted((key(), key()))
            assert list(store.scan(start, end)) == list(model.scan(start, end))
    store.end_load()
    assert all_of(store) == model.rows
    store.persist()
    store.close()
    again = RocksDBStore(tmp_path / "db", RocksDBOptions())
    assert all_of(again) == model.rows
    again.close()


def test_large_loads_become_files(tmp_path: Path) -> None:
    """Which are compacted after the load, and can be read before that."""
    store = RocksDBStore(tmp_path / "db", RocksDBOptions(write_buffer=1 << 20))
    store.begin_load()
    rng = random.Random(7)
    model: dict[bytes, bytes] = {}
    for start in range(0, 60_000, 1000):
        puts = [(b"%d" % rng.randrange(20_000), b"%d" % n * 9) for n in range(start, start + 1000)]
        model.update(puts)
        store.write(WriteBatch(puts=puts))
    assert store.get_many([b"7", b"19999"]) == [model.get(b"7"), model.get(b"19999")]
    store.end_load()
    assert all_of(store) == model
    assert not list((tmp_path / "db").glob("load-*"))
    store.write(WriteBatch(puts=[(b"7", b"new")], deletes=[b"8"]))
    assert store.get_many([b"7", b"8"]) == [b"new", None]
    store.close()


@pytest.mark.usefixtures("files")
def test_compactions_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the first records after a load have been processed."""
    store = RocksDBStore(tmp_path / "db", RocksDBOptions())
    database, options = store._db, list[dict[str, str]]()

    class Watched:
        def __getattr__(self, name: str) -> object:
            return options.append if name == "set_options" else getattr(database, name)

    monkeypatch.setattr(store, "_db", Watched())
    off, on = ({"disable_auto_compactions": value} for value in ("true", "false"))
    store.resume_compaction()
    for _ in range(2):
        store.begin_load()
        store.write(WriteBatch(puts=[(b"a", b"1")]))
        store.end_load()
        assert options == [off]
        options.clear()
        store.begin_load()
        store.end_load()  # brought nothing, but compactions are off all the same
        store.resume_compaction()
        store.resume_compaction()
        assert options == [on]
        options.clear()
    store.close()


@pytest.mark.usefixtures("files")
def test_a_crash_within_a_load(tmp_path: Path) -> None:
    """Leaves no file of it without what was written before, such as that a marker is gone."""
    store = RocksDBStore(tmp_path / "db", RocksDBOptions())
    store.write(WriteBatch(puts=[(b"marker", b"v1"), (b"a", b"old")]))
    store.persist()
    store.write(WriteBatch(deletes=[b"marker"]))  # in memory only
    store.begin_load()
    store.write(WriteBatch(puts=[(b"a", b"new")]))
    store.get(b"a")
    shutil.copytree(tmp_path / "db", tmp_path / "left")  # what a killed process leaves
    left = RocksDBStore(tmp_path / "left", RocksDBOptions())
    assert all_of(left) == {b"a": b"new"}
    left.close()
    store.close()


@pytest.mark.usefixtures("files")
def test_what_a_crash_left_is_not_written_to(tmp_path: Path) -> None:
    """A file with the name of the next one may be the database's as well."""
    store = RocksDBStore(tmp_path / "db", RocksDBOptions())
    (tmp_path / "other").write_bytes(b"mine")
    (tmp_path / "db" / "load-1.sst").hardlink_to(tmp_path / "other")
    store.begin_load()
    store.write(WriteBatch(puts=[(b"a", b"1")]))
    store.end_load()
    assert all_of(store) == {b"a": b"1"}
    assert (tmp_path / "other").read_bytes() == b"mine"
    store.close()


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("place", ["_batched", "_ingest"])
def test_what_could_not_be_written_is_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    store = RocksDBStore(tmp_path / "db", RocksDBOptions())
    store.write(WriteBatch(puts=[(b"marker", b"v1")]))
    store.begin_load()
    store.write(WriteBatch(deletes=[b"marker"], puts=[(b"a", b"1"), (b"b", b"1"), (b"a", b"2")]))

    def full(*args: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(rocksdb_load.RocksDBLoad, place, full)
        for use in (lambda: store.get(b"a"), store.end_load):
            with pytest.raises(OSError, match="No space"):
                use()
    store.write(WriteBatch(puts=[(b"b", b"2")]))
    store.end_load()
    assert all_of(store) == {b"a": b"2", b"b": b"2"}
    store.close()
