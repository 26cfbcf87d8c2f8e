"""Opens tampered canonical savepoints, one after the other.

Usage: fuzz_savepoint.py DIRECTORY SEED CASES

Over and over, one part of a savepoint with many kinds of state is changed (checksums are made right
again in most cases) and everything in it is read. The process must come to its end: not crash, not
hang, not use up its memory, not run anything. It ends with 1 and says what it did when something
else than an error of ours came out.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import json
import os
import random
import resource
import shutil
import sys
import traceback
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from millrace.common.errors import MillraceError
from millrace.state.checkpoint.snapshot import Snapshot, open_snapshot
from millrace.state.key_groups import key_group_of
from millrace.state.serialization.payload import decode
from millrace.state.snapshot_diff import diff_snapshots
from millrace.state.snapshot_reader import SnapshotReader
from millrace.state.store import SubtaskState

ORIGINAL = Path(__file__).parents[2] / "fixtures" / "savepoint-v2" / "savepoint"
CASE_SECONDS = 120
STATES_PER_CASE = 4
MEMORY = 4 << 30
FORBIDDEN = frozenset(
    {
        "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen",
        "code.__new__", "function.__new__", "pickle.find_class", "socket.connect", "os.remove",
        "os.rename", "shutil.rmtree", "compile",
    }
)  # fmt: skip
WRONG: list[Any] = [
    None, -1, 1 << 62, "", "../../../../dev/zero", "gA==", "dIGkJHBpY2tsZcQB", [], {}, 1.5, True,
    ["LIST", "LONG"], "ARRAY<BIGINT>", "STRUCTURED<'python:union', `$` RAW('a', 'b'), f0 BIGINT>",
    "STRUCTURED<'python:tuple', `$` ROW<f0 RAW('object', 'pickle')>>", "STRUCTURED<'python:set'>",
    "ROW<" * 500, "CANONICAL", "NATIVE", "timers",
]  # fmt: skip


class Case:
    """One tampered savepoint."""

    def __init__(self, directory: Path, chance: random.Random) -> None:
        self.directory = directory
        self.chance = chance
        self.manifest: dict[str, Any] = json.loads((ORIGINAL / "_metadata").read_bytes())
        del self.manifest["checksum"]
        self.manifest["states"] = chance.sample(self.manifest["states"], STATES_PER_CASE)

    def make(self) -> str:
        """Write it; tells what was done."""
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.copytree(ORIGINAL, self.directory)
        kinds = (self.bytes_of_a_file, self.page_of_nulls, self.field, self.bytes_of_manifest)
        return self.chance.choice(kinds)()

    def bytes_of_a_file(self) -> str:
        """Flipped, cut out or doubled, with or without a checksum that fits."""
        file = self.a_file()
        path = self.directory / file["path"]
        path.write_bytes(self.changed(path.read_bytes()))
        fits = self.chance.random() < 0.9
        if fits:
            self.seal(file, path)
        return f"bytes of {file['path']}, checksum right: {fits}"

    def page_of_nulls(self) -> str:
        """The right columns, and far too many rows of them, in various encodings."""
        file = self.a_file()
        path = self.directory / file["path"]
        schema = pq.read_schema(path)
        file["rows"] = self.chance.choice((0, 1, 100_000, 3_000_000))
        table = pa.table([pa.nulls(file["rows"], f.type) for f in schema], schema=schema)
        options: dict[str, Any] = {
            "compression": self.chance.choice(("none", "zstd", "snappy", "gzip")),
            "use_dictionary": self.chance.random() < 0.3,
            "data_page_version": self.chance.choice(("1.0", "2.0")),
        }
        pq.write_table(table, path, **options)
        self.seal(file, path)
        return f"{file['rows']} rows of nulls in {file['path']}, {options}"

    def field(self) -> str:
        """Change a field of the manifest, at some depth."""
        place, holder = "", self.manifest
        while True:
            names = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            name = self.chance.choice(names)
            place += f"/{name}"
            inner = holder[name]
            if not isinstance(inner, (dict, list)) or not inner or self.chance.random() < 0.15:
                break
            holder = inner
        holder[name] = self.chance.choice(WRONG)
        self.seal()
        return f"manifest {place} = {holder[name]!r}"

    def bytes_of_manifest(self) -> str:
        """With a checksum that fits."""
        body = json.dumps(self.manifest).removesuffix("}").encode()
        self.write(self.changed(body))
        return "bytes of the manifest"

    def a_file(self) -> dict[str, Any]:
        state = self.chance.choice(self.manifest["states"])
        found: dict[str, Any] = self.chance.choice(state["files"])
        return found

    def seal(self, file: dict[str, Any] | None = None, path: Path | None = None) -> None:
        """Make the checksums right."""
        if file is not None and path is not None:
            file["length"] = path.stat().st_size
            file["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        self.write(json.dumps(self.manifest).removesuffix("}").encode())

    def write(self, body: bytes) -> None:
        end = b',\n "checksum": "crc32:%08x"\n}\n' % zlib.crc32(body)
        (self.directory / "_metadata").write_bytes(body + end)

    def changed(self, data: bytes) -> bytes:
        chance, found = self.chance, bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 5))):
            start = chance.randrange(len(found) + 1)
            end = min(len(found), start + chance.choice((1, 1, 2, 8, 100)))
            found[start:end] = chance.choice(
                (b"", bytes(found[start:end]) * 2, chance.randbytes(end - start), b"\xff" * 4)
            )
        return bytes(found)


def read_everything(directory: Path) -> None:
    """As a job that goes on from it does, and whoever looks into it."""
    snapshot = open_snapshot(directory)
    for step in (read_states, read_entries, read_driver_part):
        with contextlib.suppress(MillraceError):
            step(snapshot)


def read_states(snapshot: Snapshot) -> None:
    """As subtasks do."""
    reader = SnapshotReader(snapshot)
    for stage, subtask in reader.subtasks():
        state = SubtaskState()
        deltas = reader.deltas(stage, subtask)
        keep = lambda key: key_group_of(key, 128) < 64  # noqa: E731 (short)
        with contextlib.suppress(MillraceError):
            state.take(deltas, reader._load, lambda name, kind: True, keep, groups=range(64))


def read_entries(snapshot: Snapshot) -> None:
    """As those do who have no program."""
    reader = SnapshotReader(snapshot)
    for info in reader.states():
        try:
            for entry in reader.entries(info):
                repr(entry)
        except (MillraceError, AttributeError, KeyError, TypeError, ValueError):
            pass
    diff_snapshots(reader, reader)


def read_driver_part(snapshot: Snapshot) -> None:
    """Positions of sources."""
    manifest = snapshot.manifest
    for data in manifest.sources.values():
        decode(data)


class Guard:
    """Notes what must not happen while something is read."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event in FORBIDDEN:
            self.seen.append(event)


def main() -> int:
    directory, seed, cases = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    os.chdir(directory)
    read_everything(ORIGINAL)  # everything is imported now
    chance, guard = random.Random(seed), Guard()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for count in range(cases):
        case = Case(directory / "tampered", chance)
        what = case.make()
        faulthandler.dump_traceback_later(CASE_SECONDS, exit=True)
        guard.on = True
        try:
            read_everything(case.directory)
        except MillraceError:
            pass
        except BaseException:
            guard.on = False
            print(f"case {count}: {what}")
            traceback.print_exc()
            return 1
        guard.on = False
        faulthandler.cancel_dump_traceback_later()
        if guard.seen:
            print(f"case {count}: {what} did {guard.seen}")
            return 1
    print(cases, "cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
