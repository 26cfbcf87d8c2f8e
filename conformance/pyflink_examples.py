"""Runs PyFlink's own examples here, with nothing but the prefix of their imports replaced.

    python -m conformance.pyflink_examples [--executor resident] [NAME...]

The wheel of PyFlink carries them. It is fetched without its dependencies into a cache outside the
repository (``$MILLRACE_PYFLINK_WHEELS``, or ``pyflink-wheels`` in the user's cache); the programs
are copied to a temporary directory and run there on Spark, first as their author would run them,
and then on resident tasks, unless they are in BATCH mode. With ``--executor resident``, they run on
resident tasks only. Exits 1 unless every program of the wheel either puts out what is expected, or
waits for a part of Millrace and says so.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.example_outputs import (
    BATCH,
    BROKEN,
    ENDLESS,
    EXPECTED,
    INPUT,
    SERVERS,
    WAITING,
    Expected,
)

ROOT = Path(__file__).resolve().parents[1]
PIN = "apache-flink==2.3.0"
FOLDER = "pyflink/examples/"
LOGGED = re.compile(r"executor (epochs|resident): ")
"""Lines of Millrace's log, which some programs send to the standard output."""
SECONDS = 180
"""A program may take so long, Spark's start included."""
FIRST = 10
"""So many results of a program without an end are looked at."""
COLUMNS = 50
PREFIX = re.compile(r"^(\s*(?:from|import)\s+)pyflink\b", re.MULTILINE)


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it printed."""

    code: int
    output: list[str]
    errors: str


def wheel() -> Path:
    """The wheel, which pip fetches when the cache does not have it."""
    home = os.environ.get("MILLRACE_PYFLINK_WHEELS")
    cache = Path(home) if home else _user_cache() / "pyflink-wheels"
    cache.mkdir(parents=True, exist_ok=True)
    pattern = f"apache_flink-{PIN.rpartition('=')[2]}-*.whl"
    if not any(cache.glob(pattern)):
        # the examples are the same on every platform
        platform = ["--python-version", "3.11", "--platform", "manylinux2014_x86_64"]
        only = ["--no-deps", "--only-binary", ":all:"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", *only, *platform]
        subprocess.run([*command, "--dest", str(cache), PIN], check=True)
    return next(cache.glob(pattern))


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "millrace"


def unpacked(archive: Path, directory: Path) -> list[str]:
    """Copy the programs, their prefix replaced; returns their names."""
    names = []
    with zipfile.ZipFile(archive) as packed:
        for entry in packed.namelist():
            if entry.startswith(FOLDER) and entry.endswith(".py"):
                names.append(entry.removeprefix(FOLDER))
                target = directory / names[-1]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(with_prefix_replaced(packed.read(entry).decode()))
    return sorted(names)


def with_prefix_replaced(source: str) -> str:
    """The program for Millrace: only what its import statements begin with is another word.

    >>> with_prefix_replaced("from pyflink.common import Row\\nword = 'pyflink'")
    "from millrace.common import Row\\nword = 'pyflink'"
    """
    return PREFIX.sub(r"\1millrace", source)


def environment() -> dict[str, str]:
    """In which programs find Millrace."""
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path.strip(os.pathsep)}


def on_resident_tasks(program: Path, checkpoints: Path) -> list[str]:
    """Command that runs a program on resident tasks, without its arguments."""
    setting = "millrace.executor=resident"
    command = [sys.executable, "-u", "-m", "millrace", "run", "--no-progress"]
    return [*command, "--conf", setting, "--checkpoint-dir", str(checkpoints), program.name]


def run(program: Path, arguments: tuple[str, ...], command: list[str] | None = None) -> Ended:
    """Run a program as its author would, in its own directory; or by another ``command``."""
    try:
        done = subprocess.run(
            [*(command or [sys.executable, program.name]), *arguments],
            cwd=program.parent,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ended(-1, [], f"stopped after {SECONDS} s")
    lines = [line for line in done.stdout.splitlines() if not LOGGED.match(line)]
    return Ended(done.returncode, lines, done.stderr)


def waiting_problem(ended: Ended, sentence: str) -> str:
    """Why a waiting program is not one; empty if it said what it waits for."""
    last = (ended.errors.strip().splitlines() or [""])[-1]
    if ended.code == 0:
        return "it runs: give its expected output"
    return "" if sentence in last else f"it failed otherwise: {last}"


def broken_problem(ended: Ended, sentence: str) -> str:
    """What is wrong with a program that fails in PyFlink, too; empty if it fails in that way."""
    if ended.code == 0:
        return "it runs: give its expected output"
    return "" if sentence in ended.errors else "it failed otherwise"


def problems(name: str, directory: Path, only_resident: bool = False) -> Iterator[tuple[str, str]]:
    """Per run of a program, how it was run and what is wrong; empty if nothing is."""
    program = directory / name
    if name in WAITING:
        yield f"waits: {WAITING[name]}", waiting_problem(run(program, ()), WAITING[name])
    if name in BROKEN:
        how = f"fails as in PyFlink: {BROKEN[name]}"
        yield how, broken_problem(run(program, ()), BROKEN[name])
    for number, expected in enumerate(EXPECTED.get(name, ())):
        scratch = directory.parent / f"run-{number}"
        scratch.mkdir(exist_ok=True)
        if not only_resident:
            yield expected.described(), _problem(program, scratch / Path(name).stem, expected)
        if name not in BATCH:
            command = on_resident_tasks(program, scratch / "checkpoints")
            place = scratch / f"{Path(name).stem}-resident"
            how = f"{expected.described()}, on resident tasks"
            yield how, _problem(program, place, expected, command)
    if name in ENDLESS:
        if not only_resident:
            yield "until it is stopped", _problem_of_endless(program, ENDLESS[name])
        command = on_resident_tasks(program, directory.parent / "checkpoints")
        how = "until it is stopped, on resident tasks"
        yield how, _problem_of_endless(program, ENDLESS[name], command)
    if name in SERVERS:
        yield f"not run: needs {SERVERS[name]}", ""
    elif name not in (WAITING.keys() | BROKEN.keys() | EXPECTED.keys() | ENDLESS.keys()):
        yield "unknown", "a new program: give its expected output, or the part it waits for"


def _problem(
    program: Path, scratch: Path, expected: Expected, command: list[str] | None = None
) -> str:
    given, output = scratch.with_suffix(".txt"), scratch.with_suffix(".out")
    given.write_text(INPUT)
    places = {"INPUT": str(given), "OUTPUT": str(output)}
    ended = run(program, tuple(places.get(word, word) for word in expected.arguments), command)
    if ended.code != 0:
        return f"exit code {ended.code}: {' '.join(ended.errors.split())[-300:]}"
    lines = ended.output
    if "OUTPUT" in expected.arguments:
        parts = [part for part in output.rglob("prefix*.ext") if part.is_file()]
        lines = [line for part in parts for line in part.read_text().splitlines()]
    return expected.difference(lines)


def _problem_of_endless(program: Path, line: str, command: list[str] | None = None) -> str:
    """What is wrong with the first results of a program that does not end."""
    with subprocess.Popen(
        command or [sys.executable, "-u", program.name],
        cwd=program.parent,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as running:
        assert running.stdout is not None
        overdue = threading.Timer(SECONDS, running.kill)
        overdue.start()
        try:
            return endless_problem(running.stdout, line)
        finally:
            overdue.cancel()
            running.kill()


def endless_problem(output: Iterable[str], line: str) -> str:
    """What is wrong with a program of which `FIRST` lines are as expected; empty if nothing is."""
    printed = (one.strip() for one in output if not LOGGED.match(one))
    results = (one for one in printed if not one.startswith("Printing result"))
    found = list(itertools.islice(results, FIRST))
    if len(found) < FIRST:
        return f"it ended, or was stopped after {SECONDS} s, after {len(found)} results"
    return next((f"unexpected: {one}" for one in found if not re.fullmatch(line, one)), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only programs that begin so")
    parser.add_argument("--executor", choices=["resident"], help="only on this executor")
    options = parser.parse_args()
    chosen = tuple(options.names) or ("",)
    failed = counted = 0
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "examples"
        for name in unpacked(wheel(), directory):
            if not name.startswith(chosen):
                continue
            counted += 1
            for how, problem in problems(name, directory, options.executor == "resident"):
                failed += bool(problem)
                verdict = "FAIL" if problem else "ok  "
                print(f"{verdict} {name:<{COLUMNS}} {problem or how}", flush=True)
    print(f"{counted} programs of {PIN}, {failed} problems")
    return 1 if failed or not counted else 0


if __name__ == "__main__":
    sys.exit(main())
