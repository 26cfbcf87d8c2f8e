"""State in RocksDB: on the host's disk while the process lives, and no longer."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from millrace.common.config.configuration import Configuration
from millrace.common.errors import StateError, UnsupportedFileSystemSchemeError
from millrace.datastream import (
    EmbeddedRocksDBStateBackend,
    KeyedProcessFunction,
    PredefinedOptions,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ValueStateDescriptor
from millrace.state.backend.key_value_store import WriteBatch
from millrace.state.backend.rocksdb_store import RocksDBOptions, RocksDBStore
from millrace.state.backend.state_backend import SubtaskId
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT
from millrace.testing import run_local

pytest.importorskip("rocksdict")

SUBTASK = SubtaskId("job", "run", "stage", 0)


def backend(path: Path, **settings: str):
    options = {"state.backend.rocksdb.localdir": str(path), **settings}
    return EmbeddedRocksDBStateBackend().configured(Configuration(options))


def directories(path: Path) -> list[Path]:
    return [entry for root in path.glob("millrace-state-*") for entry in root.iterdir()]


def test_the_store(tmp_path: Path) -> None:
    """Rows in order, changed in one step, and still there when opened again."""
    store = RocksDBStore(tmp_path / "db", RocksDBOptions())
    store.write(WriteBatch(puts=[(b"a%d" % i, b"%d" % i) for i in range(10)]))
    store.write(WriteBatch([(b"a2", b"a5")], [b"a7"], [(b"a3", b"again")]))
    assert list(store.get_many([b"a1", b"a2", b"a3", b"a7"])) == [b"1", None, b"again", None]
    assert store.get(b"a9") == b"9"
    assert store.get(b"b") is None
    store.write(WriteBatch(puts=[(b"b1", b"x"), (b"b2", b"y")]))
    assert [key for key, _ in store.scan(b"a6", b"b2")] == [b"a6", b"a8", b"a9", b"b1"]
    assert store.row_count() >= 9
    store.persist()
    with pytest.raises(StateError, match="cannot open the database .*db"):
        RocksDBStore(tmp_path / "db", RocksDBOptions())
    store.close()
    again = RocksDBStore(tmp_path / "db", RocksDBOptions())
    assert again.get(b"b2") == b"y"
    again.close()


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


def job(options: Configuration) -> list[tuple[str, int]]:
    records = [f"k{i % 500}" for i in range(3000)]
    with run_local(epoch_records=700):
        env = StreamExecutionEnvironment.get_execution_environment(options)
        counted = env.from_collection(records).key_by(lambda key: key).process(Count())
        with counted.execute_and_collect() as results:
            return list(results)


@pytest.mark.parametrize("cache", ["0 bytes", "256 mb"])
def test_a_job(tmp_path: Path, cache: str) -> None:
    """Counts as with any backend; its directories are its own, and gone at the end."""
    options = Configuration(
        {
            "state.backend.type": "rocksdb",
            "state.backend.rocksdb.localdir": str(tmp_path),
            "millrace.state.rocksdb.cache-size": cache,
        }
    )
    results = job(options)
    assert len(results) == 3000
    assert sorted(results)[-1] == ("k99", 6)
    assert dict(results) == {f"k{i}": 6 for i in range(500)}
    deadline = time.monotonic() + 180  # the job closes after it has given its last result
    while directories(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert directories(tmp_path) == []


def test_directories(tmp_path: Path) -> None:
    """Nobody else may look into them; those of the dead are swept, those of the living stay."""
    living = backend(tmp_path).create_keyed_state_backend(SUBTASK)
    living.create_table(TableId("op", "x"), FLAT)
    (own,) = directories(tmp_path)
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert stat.S_IMODE(own.parent.stat().st_mode) == 0o700
    script = (
        "import os; from pathlib import Path\n"
        "from millrace.state.backend.local_directory import LocalDirectory\n"
        f"LocalDirectory.create(Path({str(own.parent)!r}), 'pass-dead'); os._exit(1)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert len(directories(tmp_path)) == 2
    other = backend(tmp_path).create_keyed_state_backend(SUBTASK)
    other.create_table(TableId("op", "x"), FLAT)
    assert own in directories(tmp_path)
    assert not any("dead" in path.name for path in directories(tmp_path))
    living.close()
    other.close()
    assert directories(tmp_path) == []


def test_a_directory_that_others_can_read(tmp_path: Path) -> None:
    """Is refused: whoever can write there could make us unpickle what they like."""
    (tmp_path / f"millrace-state-{os.getuid()}").mkdir(mode=0o755)
    (tmp_path / f"millrace-state-{os.getuid()}").chmod(0o755)
    with pytest.raises(StateError, match="others may read it"):
        backend(tmp_path).create_keyed_state_backend(SUBTASK).create_table(TableId("op", "x"), FLAT)


def test_options() -> None:
    """Flink's setters and options; what the user's code says goes first."""
    chosen = EmbeddedRocksDBStateBackend(True)
    assert chosen.is_incremental_checkpoints_enabled()
    assert chosen.get_predefined_options() is PredefinedOptions.DEFAULT
    chosen.set_predefined_options(PredefinedOptions.SPINNING_DISK_OPTIMIZED_HIGH_MEM)
    chosen.set_db_storage_paths("/a", "/b")
    found = chosen.configured(
        Configuration(
            {
                "state.backend.rocksdb.localdir": "/c",
                "state.backend.rocksdb.use-bloom-filter": "false",
                "state.backend.rocksdb.predefined-options": "FLASH_SSD_OPTIMIZED",
            }
        )
    )
    assert found.get_db_storage_paths() == ["/a", "/b"]
    assert found._settings.native.write_buffers == 4
    assert found._settings.native.bloom_bits == 0
    plain = EmbeddedRocksDBStateBackend().configured(
        Configuration({"state.backend.rocksdb.localdir": "/c, /d"})
    )
    assert plain.get_db_storage_paths() == ["/c", "/d"]


def test_directories_for_databases_may_be_uris() -> None:
    """Else there would be a directory named ``file:`` where the workers run."""
    chosen = EmbeddedRocksDBStateBackend()
    chosen.set_db_storage_paths("file:///a/", "/b")
    assert chosen.get_db_storage_paths() == ["/a", "/b"]
    with pytest.raises(UnsupportedFileSystemSchemeError):
        chosen.set_db_storage_paths("s3://bucket/a")
