"""A database that a killed process left is gone on with, if it holds what the checkpoint has."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.common.config.configuration import Configuration
from millrace.common.errors import StateMigrationError
from millrace.common.types.typeinfo import Types
from millrace.state.backend import rocksdb
from millrace.state.backend.key_value_store import WriteBatch
from millrace.state.backend.rocksdb import KEPT_FOR, EmbeddedRocksDBStateBackend
from millrace.state.backend.rocksdb_store import RocksDBOptions, RocksDBStore
from millrace.state.backend.saved_marker import MARKER
from millrace.state.backend.spilling_backend import SEALS
from millrace.state.backend.state_backend import SubtaskId
from millrace.state.serialization.payload import decode, encode
from millrace.state.state_delta import StateDelta
from millrace.state.state_delta import live as live_deltas
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import EVENT_TIMER_QUEUE, FLAT, LIST, MAP

pytest.importorskip("rocksdict")

KINDS = {
    TableId("op", "v"): FLAT,
    TableId("op", "l"): LIST,
    TableId("op", "m"): MAP,
    TableId("op", "@event-timers"): EVENT_TIMER_QUEUE,
}

LIVE = """
import os, pickle, signal, sys
sys.path.insert(0, {here!r})
from {module} import opened, {epoch} as epoch
state = opened({local!r})
deltas = []
for number in range(1, {epochs} + 1):
    epoch(state, number, deltas)
with open({deltas!r}, "wb") as file:
    pickle.dump(deltas, file)
if {lives}:
    print("living", flush=True)
    sys.stdin.read()
os.kill(os.getpid(), signal.SIGKILL)
"""


def inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


def opened(local: str, job: str = "job", subtask: int = 0, **settings: str) -> SubtaskState:
    options = {
        "state.backend.rocksdb.localdir": local,
        "state.backend.rocksdb.writebuffer.size": "64 kb",
        "millrace.state.rocksdb.cache-size": "100 kb",
        "execution.state-recovery.from-local": "true",
        **settings,
    }
    backend = EmbeddedRocksDBStateBackend().configured(Configuration(options))
    subtask_id = SubtaskId(job, "run", "stage", subtask)
    return SubtaskState(backend=backend.create_keyed_state_backend(subtask_id))


def change(state: SubtaskState, number: int) -> None:
    """Change something in every table."""
    tables = {name: state.table(name, kind) for name, kind in KINDS.items()}
    state.table(TableId("op", "v"), FLAT, Types.STRING())
    for i in range(600):
        key = (number * 211 + i) % 2500
        tables[TableId("op", "v")].put(key, f"{number}-{key}" * 8)
        tables[TableId("op", "l")].append(key % 50, number)
        tables[TableId("op", "m")].put(f"o{key % 40}", key, number)
        tables[TableId("op", "@event-timers")].put(number, (key, None), True)
    tables[TableId("op", "v")].remove(number)
    tables[TableId("op", "m")].drop(f"o{number % 40}")
    tables[TableId("op", "@event-timers")].drop(number - 1)
    state.operator_table().put(("op", "@mark"), number)


def epoch(state: SubtaskState, number: int, deltas: list[StateDelta]) -> None:
    """Change something in every table; the epoch counts."""
    change(state, number)
    delta = state.snapshot(number, f"v{number}")
    assert delta is not None
    deltas.append(delta)
    state.align(delta.version, deltas[-1:], inline)


def overlapping_epoch(state: SubtaskState, number: int, deltas: list[StateDelta]) -> None:
    """End the open epoch, and change much in the next one before the first is accepted."""
    delta = state.snapshot(number, f"v{number}")
    state.begin_next()
    change(state, number + 1)
    if delta is not None:
        deltas.append(delta)
    state.commit()


def content(state: SubtaskState) -> dict[str, dict]:
    found = {}
    for name, table in state.tables.items():
        nested = hasattr(table, "drop")
        found[name] = {k: dict(v.items()) if nested else v for k, v in table.data.items()}
    return found


def live(
    tmp_path: Path, epochs: int, lives: bool = False, epoch: str = "epoch"
) -> subprocess.Popen:
    script = LIVE.format(
        here=str(Path(__file__).parent), module=Path(__file__).stem, local=str(tmp_path),
        deltas=str(tmp_path / "deltas"), epochs=epochs, lives=lives, epoch=epoch,
    )  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", script],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def kept(tmp_path: Path) -> list[str]:
    return [path.name for root in tmp_path.glob("millrace-state-*") for path in root.iterdir()]


def restored(state: SubtaskState, deltas: list[StateDelta]) -> int:
    """Restore; gives how many deltas were needed for that."""
    loaded = []

    def load(delta: StateDelta) -> bytes:
        loaded.append(delta)
        return inline(delta)

    state.restore(deltas[-1].version, deltas, load)
    reference = SubtaskState()
    reference.restore(deltas[-1].version, deltas, inline)
    assert content(state) == content(reference)
    return len(loaded)


@pytest.mark.turns(5)
@pytest.mark.parametrize("epochs", [7, 40])
def test_a_killed_process_leaves_its_database(tmp_path: Path, epochs: int) -> None:
    """The deltas after its version are replayed, the others are not even read; life goes on."""
    process = live(tmp_path, epochs)
    assert process.wait(60) == -signal.SIGKILL
    deltas = pickle.loads((tmp_path / "deltas").read_bytes())
    before = kept(tmp_path)
    state = opened(str(tmp_path))
    needed = restored(state, deltas)
    assert needed < min(epochs, 20)
    assert kept(tmp_path) == before
    for number in range(epochs + 1, epochs + 5):
        epoch(state, number, deltas)
    reference = SubtaskState()
    reference.restore(deltas[-1].version, deltas, inline)
    assert content(state) == content(reference)
    state.close()
    assert kept(tmp_path) == []


@pytest.mark.turns(5)
def test_a_process_killed_with_an_open_epoch_beside_accepted_ones(tmp_path: Path) -> None:
    """Its database was flushed in the middle of an epoch, and has nothing of it."""
    process = live(tmp_path, 40, epoch="overlapping_epoch")
    assert process.wait(60) == -signal.SIGKILL
    deltas = pickle.loads((tmp_path / "deltas").read_bytes())
    state = opened(str(tmp_path))
    assert restored(state, deltas) < 20
    state.close()


@pytest.mark.turns(5)
def test_one_that_lives_is_left_alone(tmp_path: Path) -> None:
    """However dead the engine thinks it is: its successor reads the checkpoint."""
    process = live(tmp_path, 20, lives=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "living\n"
    deltas = pickle.loads((tmp_path / "deltas").read_bytes())
    state = opened(str(tmp_path))
    assert restored(state, deltas) == len(live_deltas(deltas))
    assert len(kept(tmp_path)) == 2
    process.communicate("", 60)
    assert len(kept(tmp_path)) == 2
    state.close()  # with what the dead one left
    assert kept(tmp_path) == []


@pytest.mark.turns(5)
def test_one_of_another_history(tmp_path: Path) -> None:
    """Is deleted: what it holds is no part of what is restored."""
    assert live(tmp_path, 20).wait(60) == -signal.SIGKILL
    deltas: list[StateDelta] = []
    other = SubtaskState()
    for number in range(1, 4):
        epoch(other, number, deltas)
    renamed = [StateDelta(e.epoch, f"other{e.epoch}", e.low_epoch, e.data) for e in deltas]
    before = kept(tmp_path)
    state = opened(str(tmp_path))
    assert restored(state, renamed) == len(live_deltas(renamed))
    assert len(kept(tmp_path)) == 1
    assert kept(tmp_path) != before
    state.close()


def age(tmp_path: Path, seconds: float) -> None:
    """Make all that is there so much older."""
    for path in tmp_path.glob("millrace-state-*/*"):
        for file in (path / "owner.lock", path):
            changed = file.stat().st_mtime - seconds
            os.utime(file, (changed, changed))


@pytest.mark.turns(5)
def test_a_long_pause(tmp_path: Path) -> None:
    """What was left a day ago is another job's to delete, not that of the first subtask which is
    back."""
    assert live(tmp_path, 20).wait(60) == -signal.SIGKILL
    deltas = pickle.loads((tmp_path / "deltas").read_bytes())
    age(tmp_path, 2 * KEPT_FOR)
    first = opened(str(tmp_path), subtask=1)
    epoch(first, 1, [])
    state = opened(str(tmp_path))
    assert restored(state, deltas) < len(live_deltas(deltas))
    state.close()
    first.close()
    assert live(tmp_path, 1).wait(60) == -signal.SIGKILL
    age(tmp_path, 2 * KEPT_FOR)
    other = opened(str(tmp_path), job="other")
    epoch(other, 1, [])
    assert len(kept(tmp_path)) == 1
    other.close()


@pytest.mark.turns(5)
def test_a_job_that_ran_for_long(tmp_path: Path) -> None:
    """Its databases were in use until just now, however old their directories are."""
    state = opened(str(tmp_path))
    deltas: list[StateDelta] = []
    epoch(state, 1, deltas)
    age(tmp_path, 2 * KEPT_FOR)
    for number in range(2, SEALS + 2):
        epoch(state, number, deltas)
    (path,) = tmp_path.glob("millrace-state-*/*/owner.lock")
    assert path.stat().st_mtime > time.time() - KEPT_FOR
    state.close()


def rewrite_marker(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    (path,) = tmp_path.glob("millrace-state-*/*/db")
    store = RocksDBStore(path, RocksDBOptions())
    marker = store.get(MARKER)
    assert marker is not None
    store.write(WriteBatch(puts=[(MARKER, change(marker))]))
    store.persist()
    store.close()


def of_another_program(marker: bytes) -> bytes:
    rows, *rest = decode(marker)
    return encode((rows + 1, *rest))


@pytest.mark.turns(5)
@pytest.mark.parametrize("change", [of_another_program, lambda marker: marker[:-3]])
def test_one_that_cannot_be_read(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    """It is deleted, and the checkpoint is read instead; nothing stays locked."""
    assert live(tmp_path, 20).wait(60) == -signal.SIGKILL
    deltas = pickle.loads((tmp_path / "deltas").read_bytes())
    rewrite_marker(tmp_path, change)
    before = kept(tmp_path)
    state = opened(str(tmp_path))
    assert restored(state, deltas) == len(live_deltas(deltas))
    assert len(kept(tmp_path)) == 1
    assert kept(tmp_path) != before
    state.close()
    assert kept(tmp_path) == []


@pytest.mark.turns(5)
def test_one_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reason."""
    assert live(tmp_path, 20).wait(60) == -signal.SIGKILL
    deltas = pickle.loads((tmp_path / "deltas").read_bytes())
    before = kept(tmp_path)

    def damaged(path: Path, options: RocksDBOptions) -> RocksDBStore:
        if path.parent.name in before:
            raise OverflowError("damaged")
        return RocksDBStore(path, options)

    monkeypatch.setattr(rocksdb, "RocksDBStore", damaged)
    state = opened(str(tmp_path))
    assert restored(state, deltas) == len(live_deltas(deltas))
    assert not set(kept(tmp_path)) & set(before)
    state.close()


@pytest.mark.turns(5)
def test_without_the_option(tmp_path: Path) -> None:
    """Nothing is taken over."""
    assert live(tmp_path, 7).wait(60) == -signal.SIGKILL
    deltas = pickle.loads((tmp_path / "deltas").read_bytes())
    state = opened(str(tmp_path), **{"execution.state-recovery.from-local": "false"})
    assert restored(state, deltas) == len(live_deltas(deltas))
    state.close()


@pytest.mark.turns(5)
def test_a_type_that_cannot_be_had_any_more(tmp_path: Path) -> None:
    """Is refused, as when the state comes from the checkpoint."""
    assert live(tmp_path, 7).wait(60) == -signal.SIGKILL
    deltas = pickle.loads((tmp_path / "deltas").read_bytes())
    state = opened(str(tmp_path))
    restored(state, deltas)
    with pytest.raises(StateMigrationError, match="state 'v'"):
        state.table(TableId("op", "v"), FLAT, Types.LONG())
    state.close()


@pytest.mark.turns(5)
def test_a_subtask_that_is_closed_leaves_nothing_of_those_before(tmp_path: Path) -> None:
    """They were not gone on with, for the job began afresh; those of others stay."""
    assert live(tmp_path, 7).wait(60) == -signal.SIGKILL
    other = opened(str(tmp_path), subtask=1)
    epoch(other, 1, [])
    state = opened(str(tmp_path))
    epoch(state, 1, [])
    assert len(kept(tmp_path)) == 3
    state.close()
    assert len(kept(tmp_path)) == 1
    other.close()
    assert kept(tmp_path) == []
