"""Reads tampered savepoints without leave to pickle, one after the other, for some seconds.

Usage: fuzz_savepoint.py DIRECTORY SEED SECONDS

A savepoint with many kinds of state is made first. Then, over and over, one of its parts is
changed (with all checksums made right again) and everything in it is read. The process must come
to its end: not crash, not hang, not use up its memory, not run anything. It ends with 1 and says
what it did when something else than an error of ours came out.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import enum
import faulthandler
import marshal
import os
import pickle
import random
import resource
import shutil
import struct
import sys
import time
import traceback
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import MillraceError
from millrace.common.functions import KeyedProcessFunction
from millrace.common.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.common.types.typeinfo import Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.window import TumblingEventTimeWindows
from millrace.state.checkpoint.envelope import seal
from millrace.state.checkpoint.layer_file import LayerEntry, LayerFile, write_layer_file
from millrace.state.checkpoint.manifest import _MAGIC, FORMAT_VERSION, Manifest
from millrace.state.checkpoint.snapshot import Snapshot, open_snapshot
from millrace.state.key_groups import key_group_of
from millrace.state.layer import Layer
from millrace.state.layer_payload import framed, split
from millrace.state.serialization.entry_types import StateOwner
from millrace.state.serialization.payload import MARSHAL
from millrace.state.serialization.snapshot_codec import SAFE
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT, LIST, MAP
from millrace.testing import run_local

CASE_SECONDS = 20
MEMORY = 3 << 30


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Point(NamedTuple):
    x: int
    at: dt.datetime


@dataclass
class Account:
    owner: str
    balance: Decimal
    color: Color
    points: list[Point]
    tags: set[str]


ACCOUNT = Types.of(Account)


class Everything(KeyedProcessFunction):
    """Uses every kind of keyed state, and timers."""

    def open(self, runtime_context: Any) -> None:
        self._value = runtime_context.get_state(ValueStateDescriptor("value", ACCOUNT))
        self._list = runtime_context.get_list_state(ListStateDescriptor("list", ACCOUNT))
        mapped = MapStateDescriptor("map", Types.of(uuid.UUID), Types.of(dict[str, Decimal]))
        self._map = runtime_context.get_map_state(mapped)
        self._untyped = runtime_context.get_state(ValueStateDescriptor("untyped"))

    def process_element(self, value: int, ctx: Any) -> Any:
        at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        account = Account(f"n{value}", Decimal(value), Color.GREEN, [Point(value, at)], {"a"})
        self._value.update(account)
        self._list.add(account)
        self._map.put(uuid.UUID(int=value), {"x": Decimal(1)})
        self._untyped.update((value, Decimal(value), [at]))
        ctx.timer_service().register_event_time_timer(10_000_000 + value)
        yield value


TYPES = {
    TableId("all", "value"): (FLAT, ACCOUNT),
    TableId("all", "list"): (LIST, Types.LIST(ACCOUNT)),
    TableId("all", "map"): (MAP, Types.MAP(Types.of(uuid.UUID), Types.of(dict[str, Decimal]))),
}
KEYS = Types.of(uuid.UUID)


def savepoint(directory: Path) -> str:
    """Of a job that uses all of it."""
    configuration = Configuration()
    configuration.set(options.SAVEPOINT_DIR, str(directory))
    configuration.set(options.STATE_PICKLE_ALLOWED, False)
    made: list[Any] = []
    with run_local(workers=2, seed=1, epoch_records=10) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(2).enable_checkpointing(0)
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        numbers = (
            env.from_collection(range(100))
            .uid("numbers")
            .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda n, _: n))
        )
        keyed = numbers.key_by(lambda n: uuid.UUID(int=n % 7), KEYS).process(Everything())
        windows = keyed.uid("all").key_by(lambda n: n % 5)
        summed = windows.window(TumblingEventTimeWindows.of(1000)).reduce(max).uid("windows")
        results = summed.execute_and_collect("job")
        client = results._client

        def save(progress: Any) -> None:
            if progress.epochs == 2:
                made.append(client.trigger_savepoint())

        cluster.listeners.append(save)
        list(results)
    return str(made[0].result(0))


# -- tampering ---------------------------------------------------------------------


class Bomb:
    """Would leave a trace."""

    def __reduce__(self) -> Any:
        return os.system, ("touch exploded",)


class Called:
    """Is read as what a call makes."""

    def __init__(self, called: Callable[..., Any], argument: Any) -> None:
        self._call = (called, (argument,))

    def __reduce__(self) -> Any:
        return self._call


def _row(values: bytes) -> bytes:
    """The instructions for a row of what other instructions make."""
    return b"cmillrace.common.types\nnamed_row\n(N" + values + b"K\x00tR"


def attacks() -> list[bytes]:
    """Whole encoded values, codec first, that want to do harm."""
    deep = b")\x01" * 200_000 + b"N"
    bombs = b"\xa9\x00" + b"".join(
        b"\xa9\x02" + 2 * (b"r" + struct.pack("<i", n)) for n in range(60)
    )
    tuples = b"\x80\x05)" + b"\x85" * 200_000 + b"."
    laughs = b"\x80\x05)\x94" + b"".join(b"h" + bytes([n]) + b"h" + bytes([n]) + b"\x86\x94"
                                         for n in range(120)) + b"."  # fmt: skip
    rows = (
        b"\x80\x05"
        + _row(b")")
        + b"".join(b"\x94" + _row(b"](" + 2 * (b"h" + bytes([n])) + b"e") for n in range(60))
    )
    pairs = OrderedDict((n * (2**61 - 1), 0) for n in range(1, 20_000))
    return [
        b"p" + rows + b"\x94}h\x3cNs.",
        b"p" + pickle.dumps(Called(OrderedDict, list(pairs.items()))),
        b"p" + pickle.dumps(Called(Decimal, 1 << 3_000_000)),
        b"p" + pickle.dumps(Bomb()),
        b"p" + pickle.dumps({"put": {1: Bomb()}, "del": []}),
        b"pcos\nsystem\n(Vtouch exploded\ntR.",
        b"pcbuiltins\nexec\n(Vopen('exploded','w')\ntR.",
        b"pcmillrace.cli.main\nmain\n)R.",
        b"pcbuiltins\nbytearray\n(\x8a\x05\xff\xff\xff\xff\x00tR.",
        b"p\x80\x05\x96" + struct.pack("<Q", 1 << 50) + b"x.",
        b"p\x80\x05r" + struct.pack("<I", (1 << 32) - 1) + b".",
        b"p" + tuples,
        b"p" + laughs,
        MARSHAL + marshal.dumps((lambda: os.system("touch exploded")).__code__),
        MARSHAL + deep,
        MARSHAL + bombs,
        MARSHAL + b"[\xff\xff\xff\x7f",
        MARSHAL + b"s\xff\xff\xff\x7f",
        MARSHAL + b"l\xff\xff\xff\x7f",
        MARSHAL + marshal.dumps({n * (2**61 - 1): 0 for n in range(1, 2000)}),
    ]


ATTACKS = attacks()
INTERESTING = [b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\x80", b"\x80\x05"]


class Tamper:
    """Changes bytes and plain values at random."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def data(self, data: bytes) -> bytes:
        """The bytes with some changed, or others altogether."""
        chance = self.chance
        if chance.random() < 0.15:
            return chance.choice(ATTACKS)
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 5, 20))):
            self._change(changed)
        return bytes(changed)

    def _change(self, changed: bytearray) -> None:
        chance = self.chance
        at = chance.randrange(len(changed) + 1)
        kind = chance.randrange(6)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == 1 and at < len(changed):
            changed[at] = chance.randrange(256)
        elif kind == 2:
            del changed[at : at + chance.randrange(1, 9)]
        elif kind == 3:
            changed[at : at + 4] = chance.choice(INTERESTING)
        elif kind == 4:
            changed[at:at] = changed[at : at + chance.randrange(1, 60)] * chance.randrange(1, 4)
        else:
            changed[at:at] = chance.choice(ATTACKS)[1:]

    def value(self, value: Any) -> Any:
        """Plain data with one part of it replaced."""
        chance = self.chance
        if isinstance(value, dict) and value and chance.random() < 0.9:
            key = chance.choice(list(value))
            return {**value, key: self.value(value[key])}
        if isinstance(value, (list, tuple)) and value and chance.random() < 0.9:
            place = chance.randrange(len(value))
            parts = [*value[:place], self.value(value[place]), *value[place + 1 :]]
            return type(value)(parts)
        if isinstance(value, bytes) and chance.random() < 0.8:
            return self.data(value)
        return chance.choice([None, -1, 1 << 62, "", "../../../../dev/zero", b"x", (), [], {}, 1.5])


@dataclass
class Original:
    """The savepoint in its parts."""

    content: dict[str, Any]
    """Of its manifest, without layer files."""
    layers: list[tuple[str, int, Layer]]
    """With their bytes inside."""

    @staticmethod
    def of(path: str) -> Original:
        snapshot = open_snapshot(path)
        reader = SnapshotReader(snapshot, SAFE)
        manifest = snapshot.manifest
        content = {f.name: getattr(manifest, f.name) for f in dataclasses.fields(Manifest)}
        layers = [
            (stage, subtask, dataclasses.replace(layer, data=reader._load(layer)))
            for stage, subtask in reader.subtasks()
            for layer in reader.layers(stage, subtask)
        ]
        return Original(content, layers)

    def written(self, directory: Path, content: Any, layers: list[LayerEntry]) -> LayerFile:
        """Write a savepoint of these parts."""
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "shared").mkdir(parents=True)
        file = write_layer_file(directory, "state.layers", layers, durable=False)
        if isinstance(content, dict) and content.get("layer_files") == ():
            content = {**content, "layer_files": [dataclasses.astuple(file.ref)]}
        (directory / "_metadata").write_bytes(seal(_MAGIC, FORMAT_VERSION, content))
        return file


class Case:
    """One tampered savepoint."""

    def __init__(self, original: Original, directory: Path, chance: random.Random) -> None:
        self.original = original
        self.directory = directory
        self.chance = chance
        self.tamper = Tamper(chance)

    def make(self) -> str:
        """Write it; tells what was tampered with."""
        content = {**self.original.content, "layer_files": ()}
        layers = list(self.original.layers)
        makers: list[Callable[[dict[str, Any], list[LayerEntry]], Any]] = [
            self.manifest_value, self.manifest_bytes, self.payload, self.delta, self.piece,
            self.index, self.file,
        ]  # fmt: skip
        maker = self.chance.choice(makers)
        maker(content, layers)
        return maker.__name__

    def manifest_value(self, content: dict[str, Any], layers: list[LayerEntry]) -> None:
        self.original.written(self.directory, self.tamper.value(content), layers)

    def manifest_bytes(self, content: dict[str, Any], layers: list[LayerEntry]) -> None:
        self.original.written(self.directory, content, layers)
        path = self.directory / "_metadata"
        data = path.read_bytes()
        body = self.tamper.data(data[22:])
        head = struct.pack(">8sHQ", _MAGIC, FORMAT_VERSION, len(body))
        crc = zlib.crc32(body, zlib.crc32(head))
        path.write_bytes(head + struct.pack(">I", crc) + body)

    def payload(self, content: dict[str, Any], layers: list[LayerEntry]) -> None:
        self._with_payload(content, layers, self.tamper.data)

    def piece(self, content: dict[str, Any], layers: list[LayerEntry]) -> None:
        def change(payload: bytes) -> bytes:
            pieces = [bytes(piece) for piece in split(payload)]
            return b"".join(framed(self.tamper.data(piece)) for piece in pieces)

        self._with_payload(content, layers, change)

    def delta(self, content: dict[str, Any], layers: list[LayerEntry]) -> None:
        def change(payload: bytes) -> bytes:
            pieces = [self.tamper.value(SAFE.decode(piece)) for piece in split(payload)]
            return b"".join(framed(SAFE.encode(piece)) for piece in pieces)

        self._with_payload(content, layers, change)

    def _with_payload(
        self, content: dict[str, Any], layers: list[LayerEntry], change: Callable[[bytes], bytes]
    ) -> None:
        place = self.chance.randrange(len(layers))
        stage, subtask, layer = layers[place]
        assert isinstance(layer.data, bytes)
        layers[place] = (stage, subtask, dataclasses.replace(layer, data=change(layer.data)))
        self.original.written(self.directory, content, layers)

    def index(self, content: dict[str, Any], layers: list[LayerEntry]) -> None:
        file = self.original.written(self.directory, content, layers)
        path = self.directory / file.ref.path
        data = path.read_bytes()
        index = self.tamper.data(data[file.ref.index_offset : -28])
        crc = zlib.crc32(index)
        footer = struct.pack(">8sQQI", b"MRLAYERS", file.ref.index_offset, len(index), crc)
        whole = data[: file.ref.index_offset] + index + footer
        path.write_bytes(whole)
        ref = dataclasses.replace(file.ref, length=len(whole), index_crc=crc)
        content = {**content, "layer_files": [dataclasses.astuple(ref)]}
        (self.directory / "_metadata").write_bytes(seal(_MAGIC, FORMAT_VERSION, content))

    def file(self, content: dict[str, Any], layers: list[LayerEntry]) -> None:
        file = self.original.written(self.directory, content, layers)
        path = self.directory / self.chance.choice(["_metadata", file.ref.path])
        path.write_bytes(self.tamper.data(path.read_bytes()))


# -- reading -----------------------------------------------------------------------


def read_everything(directory: Path) -> None:
    """As a job that goes on from it does, and whoever looks into it."""
    snapshot = open_snapshot(directory)
    for step in (read_states, read_entries, read_driver_part):
        with contextlib.suppress(MillraceError):
            step(snapshot)


def read_states(snapshot: Snapshot) -> None:
    """As subtasks do, with what the program declares."""
    reader = SnapshotReader(snapshot, SAFE)
    owners = {"all": StateOwner("Everything", KEYS)}
    for stage, subtask in reader.subtasks():
        state = SubtaskState(owners=owners, codec=SAFE)
        state.restore("v", reader.layers(stage, subtask), reader._load)
        for name, (kind, type_info) in TYPES.items():
            if name in state.tables:
                state.table(name, kind, type_info)
        whole = SubtaskState(owners=owners, codec=SAFE)
        layers = reader.layers(stage, subtask)
        whole.take(
            layers, reader._load, lambda name, kind: True, lambda key: key_group_of(key, 128) < 64
        )
        whole.adopt("v")
        whole.snapshot(1 << 40, "w")


def read_entries(snapshot: Snapshot) -> None:
    """As those do who have no program."""
    reader = SnapshotReader(snapshot, SAFE)
    for info in reader.states():
        try:
            for entry in reader.entries(info):
                repr(entry)
        except (MillraceError, AttributeError, KeyError, TypeError, ValueError):
            pass


def read_driver_part(snapshot: Snapshot) -> None:
    """Positions of sources, committables."""
    manifest = snapshot.manifest
    for data in manifest.sources.values():
        SAFE.decode(data)
    for item in (item for items in manifest.pending.values() for item in items):
        SAFE.decode(item)


class Guard:
    """Notes what must not happen while something is read."""

    FORBIDDEN = frozenset(
        {
            "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen",
            "code.__new__", "function.__new__", "pickle.find_class", "socket.connect", "os.remove",
            "os.rename", "shutil.rmtree", "compile",
        }
    )  # fmt: skip

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event in self.FORBIDDEN:
            self.seen.append(event)


def cases(directory: Path, seed: int) -> Iterator[Case]:
    original = Original.of(savepoint(directory / "made"))
    chance = random.Random(seed)
    while True:
        yield Case(original, directory / "tampered", chance)


def main() -> int:
    directory, seed, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    os.chdir(directory)
    found = cases(directory, seed)
    case = next(found)
    case.original.written(case.directory, {**case.original.content, "layer_files": ()},
                          case.original.layers)  # fmt: skip
    read_everything(case.directory)  # everything is imported now
    guard = Guard()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    end, count = time.monotonic() + seconds, 0
    for case in found:
        what = case.make()
        faulthandler.dump_traceback_later(CASE_SECONDS, exit=True)
        guard.on = True
        try:
            read_everything(case.directory)
        except MillraceError:
            pass
        except BaseException:
            print(f"seed {seed}, case {count} ({what}):")
            traceback.print_exc(file=sys.stdout)
            return 1
        finally:
            guard.on = False
            faulthandler.cancel_dump_traceback_later()
        if guard.seen or Path("exploded").exists():
            print(f"seed {seed}, case {count} ({what}) ran something: {guard.seen}")
            return 1
        count += 1
        if time.monotonic() > end:
            break
    print(f"{count} tampered savepoints")
    return 0


if __name__ == "__main__":
    sys.exit(main())
