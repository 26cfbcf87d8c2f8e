"""Gives damaged snapshots and job directories to the commands, one after the other.

Usage: fuzz_commands.py DIRECTORY SEED CASES

A canonical savepoint, a native one and the directory of a job are changed in one place (a file's
bytes, what a name stands for, a field of JSON) and given to commands that only look. Whatever was
changed, a command must end with one of its exit codes and say what is wrong in its own words,
within some seconds and some hundred megabytes. Ends with 1 and tells what it did otherwise.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import random
import resource
import shutil
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fuzz_savepoint import ORIGINAL, WRONG

from millrace.cli.main import main as millrace
from millrace.common import Types
from millrace.common.types.short_values import shown
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from millrace.state.checkpoint.pin import Pin
from millrace.state.checkpoint.savepoint import write_savepoint
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.testing import CollectingSink, run_local

CASE_SECONDS = 120
MEMORY = 3 << 30
GROWTH = 600 << 10
"""Kilobytes that the process may need more than for looking at what is undamaged."""
SPARSE = 5 << 30
VALUES: list[Any] = [
    *WRONG, float("nan"), float("inf"), 10**5000, -(10**5000), 1 << 63, "\ud800", "a\0b",
    "/etc/passwd", "../../x", "shared/..", "shared/a\0b", {"$pickle": "eA=="}, [[[[[]]]]],
    "x" * 100_000,
    {"$tuple": {"$tuple": 1}}, [None] * 1000, -1, 0,
]  # fmt: skip


class Keep(KeyedProcessFunction):
    """Has state that is inline, of several kinds."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.STRING()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(value)
        ctx.timer_service().register_event_time_timer(10_000)
        yield value


def make_originals(directory: Path) -> None:
    """``canonical``, ``native`` and ``jobs/<job>``."""
    with run_local(checkpoint_dir=str(directory / "jobs"), epoch_records=2):
        env = StreamExecutionEnvironment.get_execution_environment()
        words = env.from_collection(list("abacbd")).name("words").uid("words")
        kept = words.key_by(lambda word: word).process(Keep()).name("keep").uid("keep")
        kept.sink_to(CollectingSink())
        env.execute("count")
    [job_dir] = (directory / "jobs").iterdir()
    found = open_snapshot(job_dir, trusted=True)
    pin = Pin(found.manifest, found.deltas.by_subtask(), lambda: None)
    write_savepoint(str(directory / "native"), str(job_dir), pin)
    shutil.copytree(ORIGINAL, directory / "canonical")


class Case:
    """One damaged thing."""

    def __init__(self, originals: Path, place: Path, chance: random.Random) -> None:
        self.place = place
        self.chance = chance
        self.what = chance.choice(("canonical", "native", "jobs"))
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(originals / self.what, place / self.what)
        self.files = sorted(path for path in place.rglob("*") if path.is_file())

    def make(self) -> str:
        """Damage it; tells what was done."""
        kinds: tuple[Callable[[Path], str], ...] = (
            self.bytes, self.bytes, self.kind_of_file, self.swapped, self.field, self.field,
        )  # fmt: skip
        path = self.chance.choice(self.files)
        if self.chance.random() < 0.4:
            path = self.chance.choice([p for p in self.files if p.name == "_metadata"])
        return f"{path.relative_to(self.place)}: {self.chance.choice(kinds)(path)}"

    def bytes(self, path: Path) -> str:
        """Flipped, cut or doubled."""
        found, chance = bytearray(path.read_bytes()), self.chance
        if chance.random() < 0.3:
            del found[chance.randrange(len(found) + 1) :]
        for _ in range(chance.choice((1, 1, 2, 5))):
            start = chance.randrange(len(found) + 1)
            end = min(len(found), start + chance.choice((1, 1, 2, 8, 100)))
            found[start:end] = chance.choice(
                (b"", bytes(found[start:end]) * 2, chance.randbytes(end - start), b"\xff" * 4)
            )
        data = bytes(found)
        if path.name == "_metadata" and chance.random() < 0.7:
            data = sealed(data.rpartition(b',\n "checksum"')[0] or data)
        path.write_bytes(data)
        return "bytes"

    def kind_of_file(self, path: Path) -> str:
        """Something else of that name."""
        what = self.chance.choice(
            ("missing", "directory", "fifo", "zero", "loop", "outside", "sparse", "empty", "parent")
        )
        path.unlink()
        if what == "directory":
            path.mkdir()
        elif what == "fifo":
            os.mkfifo(path)
        elif what == "zero":
            path.symlink_to("/dev/zero")
        elif what == "loop":
            path.symlink_to(path)
        elif what == "outside":
            path.symlink_to("/etc/hosts")
        elif what == "sparse":
            path.touch()
            os.truncate(path, SPARSE)
        elif what == "empty":
            path.touch()
        elif what == "parent":
            shutil.rmtree(path.parent)
            path.parent.write_bytes(b"x")
        return what

    def swapped(self, path: Path) -> str:
        """With another file."""
        other = self.chance.choice(self.files)
        mine, its = path.read_bytes(), other.read_bytes()
        path.write_bytes(its)
        other.write_bytes(mine)
        return f"swapped with {other.name}"

    def field(self, path: Path) -> str:
        """Change a field of JSON, at some depth; checksums are made right."""
        try:
            tree = json.loads(path.read_bytes())
        except ValueError:
            return self.bytes(path)
        place, holder = "", tree
        while isinstance(holder, (dict, list)) and holder:
            names: list[Any] = (
                list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            )
            name = self.chance.choice(names)
            place += f"/{name}"
            inner = holder[name]
            if not isinstance(inner, (dict, list)) or not inner or self.chance.random() < 0.2:
                if self.chance.random() < 0.1:
                    del holder[name]
                else:
                    holder[name] = self.chance.choice(VALUES)
                    place += f" = {shown(holder[name])}"
                break
            holder = inner
        is_manifest = isinstance(tree, dict) and tree.pop("checksum", None) is not None
        text = dumped(tree)
        path.write_bytes(sealed(text.removesuffix(b"}")) if is_manifest else text)
        return f"field {place}"

    def commands(self) -> list[list[str]]:
        """What to give it to; ``{}`` stands for the damaged thing."""
        place = self.place
        if self.what == "jobs":
            [job] = (place / "jobs").iterdir()
            own = ["--checkpoint-dir", str(place / "jobs")]
            return [
                ["list", *own], ["list", "--json", *own], ["status", "count", *own],
                ["status", "--json", str(job), *own], ["stacks", "count", *own],
                *snapshot_commands(str(job)), ["savepoint", "show", "--allow-pickle", str(job)],
            ]  # fmt: skip
        path = str(place / self.what)
        trusted = [[*command, "--allow-pickle"] for command in snapshot_commands(path)]
        return [
            *snapshot_commands(path), *(trusted if self.what == "native" else []),
            ["savepoint", "list", str(place)], ["savepoint", "tree", str(place)],
            ["savepoint", "list", "--json", str(place)],
            ["savepoint", "dispose", "--yes", path],
        ]  # fmt: skip


def snapshot_commands(path: str) -> list[list[str]]:
    """Those that look into a snapshot."""
    return [
        ["savepoint", "show", path], ["savepoint", "show", "--json", "--all", path],
        ["savepoint", "diff", "--all", path, str(ORIGINAL)],
        ["savepoint", "diff", "--json", str(ORIGINAL), path],
        ["savepoint", "sql", path, "SHOW TABLES"], ["savepoint", "sql", "--json", path],
    ]  # fmt: skip


def dumped(tree: Any) -> bytes:
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(tree).encode()
    finally:
        sys.set_int_max_str_digits(4300)


def sealed(body: bytes) -> bytes:
    """A manifest with the right checksum."""
    return body + b',\n "checksum": "crc32:%08x"\n}\n' % zlib.crc32(body)


def outcome(command: list[str]) -> str:
    """What is wrong with how a command ended; empty: nothing."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = millrace(command)
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:
            return traceback.format_exc()
    said = err.getvalue()
    if code not in (0, 1, 2):
        return f"exit code {code}"
    if code and "millrace: " not in said:
        return f"exit code {code} without a word: {said}"
    if "Traceback" in said or "Traceback" in out.getvalue():
        return f"a traceback: {said}"
    try:
        (out.getvalue() + said).encode()
    except UnicodeEncodeError as error:
        return f"what a terminal cannot show: {error}"
    if len(said) > 20_000:
        return f"{len(said)} characters of complaint"
    return ""


def peak() -> int:
    """Highest resident memory, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> int:
    directory, seed, cases = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    os.environ["XDG_STATE_HOME"] = str(directory / "state")
    originals = directory / "originals"
    make_originals(originals)
    chance = random.Random(seed)
    for command in snapshot_commands(str(ORIGINAL)):
        assert not outcome(command)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    allowed, bad = peak() + GROWTH, set()
    for count in range(cases):
        case = Case(originals, directory / "place", chance)
        what = case.make()
        for command in case.commands():
            faulthandler.dump_traceback_later(CASE_SECONDS, exit=True)
            print(f"case {count}: {what}; {command}", file=sys.stderr) if "-v" in sys.argv else None
            before = time.process_time()
            problem = outcome(command)
            if peak() > allowed:
                problem = f"{peak()} KB of memory instead of {allowed}; {problem}"
                allowed = peak() + 100_000
            took = time.process_time() - before
            if took > 5:
                problem += f" took {took:.1f} s"
            faulthandler.cancel_dump_traceback_later()
            if problem:
                if "--all-problems" not in sys.argv:
                    print(f"case {count}: {what}; {command}: {problem}")
                    return 1
                last = problem.strip().splitlines()
                key = (last[-1][:60], last[-3:-2][0].strip() if len(last) > 2 else "")
                if key not in bad:
                    bad.add(key)
                    print(f"case {count}: {what}; {command[:3]}: {problem[-1500:]}\n", flush=True)
    print(cases, "cases")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
