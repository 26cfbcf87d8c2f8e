"""Makes and checks a release: ``make release``.

``dist/`` gets the wheel, the source distribution, the release notes, the list of components (SBOM,
in the format of CycloneDX) and the digests. Nothing is uploaded. Each check runs in an empty
environment, in an empty directory, from the wheel alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pyspark_wheel import pyspark_wheel
from release_parts import (
    EXTRAS_BESIDE,
    archive_faults,
    archive_files,
    digests,
    modules_of_extra,
    page_programs,
    release_notes,
)

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
CONSTRAINTS = ROOT / "constraints.txt"
TWINE = "twine>=6.1"
CYCLONEDX = "cyclonedx-bom>=7"
NOT_RELEASED = ("dev",)
"""Extras that only a checkout is of use with."""
PATIENCE = 180.0
"""Seconds in which a server must have done what it was told."""
SERVED = """\
from millrace.common import Time, WatermarkStrategy
from millrace.connectors import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
source = NumberSequenceSource(1, 10**12)
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
numbers.key_by(lambda n: n % 10).reduce(max).map(lambda n: n).name("largest")
numbers.filter(lambda n: n % 10**9 == 0).print()
env.execute("release")
"""


class ReleaseError(Exception):
    """A release that must not be published."""


def say(text: str) -> None:
    print(f"release: {text}", flush=True)


def uv() -> str:
    """The program uv, which the environment of developers has.

    Raises:
        ReleaseError: it is missing.
    """
    beside = Path(sys.executable).parent / "uv"
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise ReleaseError("uv is missing: pip install uv")
    return found


def outer_environment() -> dict[str, str]:
    """The variables of this process without those of a Python environment."""
    prefixes = ("PYTHON", "VIRTUAL_ENV")
    return {key: value for key, value in os.environ.items() if not key.startswith(prefixes)}


def run(command: Sequence[str | Path], directory: Path, **environment: str) -> str:
    """Run a program without anything of this checkout in its environment; its output.

    Raises:
        ReleaseError: it fails.
    """
    kept = outer_environment()
    done = subprocess.run(
        [str(word) for word in command],
        cwd=directory,
        env={**kept, "XDG_STATE_HOME": str(directory / "state"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        words = " ".join(map(str, command))
        raise ReleaseError(f"{words} failed:\n{done.stdout[-4_000:]}{done.stderr[-8_000:]}")
    return done.stdout


@cache
def pyspark_wheels() -> Path:
    """The directory of PySpark's wheel.

    Raises:
        ReleaseError: it cannot be built.
    """
    try:
        return pyspark_wheel().parent
    except subprocess.CalledProcessError as error:
        raise ReleaseError(f"PySpark's wheel cannot be built: {error}") from None


class Environment:
    """A virtual environment with the wheel and some extras, and an empty directory."""

    def __init__(self, directory: Path, wheel: Path, extras: Sequence[str]) -> None:
        self.bin = directory / "env" / "bin"
        self.work = directory / "work"
        self.work.mkdir(parents=True)
        run([uv(), "venv", "--quiet", "--python", sys.executable, directory / "env"], self.work)
        wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
        self.install(wanted)

    def install(self, *wanted: str) -> None:
        """Install packages; files are linked to those of the cache."""
        command = [uv(), "pip", "install", "--quiet", "--link-mode", "hardlink"]
        options: list[str | Path] = [
            "--python",
            self.bin / "python",
            "--constraint",
            CONSTRAINTS,
            "--find-links",
            pyspark_wheels(),
        ]
        run([*command, *options, *wanted], self.work)

    def python(self, program: str) -> str:
        """Run a program, without anything but the environment on its path; its output."""
        return run([self.bin / "python", "-I", "-c", program], self.work)

    def millrace(self, *words: str | Path) -> str:
        """Run the command ``millrace``; its output."""
        return run([self.bin / "millrace", *words], self.work)


@contextmanager
def environment(wheel: Path, *extras: str) -> Iterator[Environment]:
    """An environment that is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="millrace-release-") as directory:
        yield Environment(Path(directory), wheel, extras)


# -- what is made ----------------------------------------------------------------------------------


def version() -> str:
    """The version, from the one place where it stands."""
    text = (ROOT / "src/millrace/__init__.py").read_text(encoding="utf-8")
    found: list[str] = re.findall(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    return found[0]


def build() -> tuple[Path, Path]:
    """The wheel and the source distribution in an empty ``dist/``."""
    shutil.rmtree(DIST, ignore_errors=True)
    run([uv(), "build", "--quiet", "--sdist", "--wheel", "--out-dir", DIST, ROOT], ROOT)
    [wheel], [sdist] = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    (DIST / ".gitignore").unlink(missing_ok=True)
    return wheel, sdist


def write_notes(number: str) -> Path:
    """The release notes, from the changelog."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    path = DIST / f"millrace-{number}-notes.md"
    path.write_text(f"# Millrace {number}\n\n{release_notes(changelog, number)}", encoding="utf-8")
    return path


def write_components(made: Environment, number: str) -> Path:
    """The components of an environment (SBOM) in the format of CycloneDX."""
    path = DIST / f"millrace-{number}.cdx.json"
    tool = [uv(), "tool", "run", "--quiet", "--from", CYCLONEDX, "cyclonedx-py"]
    options = ["--mc-type", "library", "--of", "JSON", "--output-reproducible"]
    project: list[str | Path] = ["--pyproject", ROOT / "pyproject.toml", "-o", path]
    run([*tool, "environment", *options, *project, made.bin / "python"], made.work)
    document = json.loads(path.read_text(encoding="utf-8"))
    for component in document["components"]:
        references = component.get("externalReferences", [])
        # where the wheel was while it was checked
        kept = [each for each in references if not each["url"].startswith("file:")]
        component["externalReferences"] = kept
    component = document["metadata"]["component"]
    component["version"] = number
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    check_components(document, number)
    return path


def check_components(document: dict[str, Any], number: str) -> None:
    """Check that the list has the package, its version and what it needs.

    Raises:
        ReleaseError: something is missing.
    """
    names = {component["name"] for component in document["components"]}
    missing = {"cloudpickle", "msgspec", "numpy", "pyarrow", "pyspark"} - names
    if missing:
        raise ReleaseError(f"the list of components lacks {', '.join(sorted(missing))}")
    if document["metadata"]["component"]["version"] != number:
        raise ReleaseError("the list of components is of another version")


def write_digests() -> None:
    """The digests of all files, in the form of sha256sum."""
    files = {path.name: path.read_bytes() for path in sorted(DIST.iterdir())}
    lines = [f"{digest}  {name}\n" for name, digest in digests(files).items()]
    (DIST / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


# -- what is checked -------------------------------------------------------------------------------


def check_archives(wheel: Path, sdist: Path) -> None:
    """Check what is in the archives, and that the source makes the same wheel.

    Raises:
        ReleaseError: something is wrong.
    """
    run([uv(), "tool", "run", "--quiet", "--from", TWINE, "twine", "check", "--strict",
         wheel, sdist], ROOT)  # fmt: skip
    host = socket.gethostname()
    # a short name is part of words
    machine = [str(ROOT), str(Path.home()) + "/", *([host] if len(host) > 7 else [])]
    faults = [
        fault
        for path in (wheel, sdist)
        for fault in archive_faults(path.name, archive_files(path), machine)
    ]
    if faults:
        raise ReleaseError("\n".join(faults))
    with tempfile.TemporaryDirectory() as directory:
        run([uv(), "build", "--quiet", "--wheel", "--out-dir", directory, sdist], ROOT)
        [again] = Path(directory).glob("*.whl")
        one, other = digests(archive_files(wheel)), digests(archive_files(again))
        different = sorted(name for name in one | other if one.get(name) != other.get(name))
    if different:
        raise ReleaseError(f"the source makes another wheel: {', '.join(different[:10])}")


def check_imports(made: Environment, modules: Sequence[str]) -> None:
    """Check that modules can be imported, Millrace's from the environment."""
    lines = ["import sys, millrace", *(f"import {module}" for module in modules)]
    place = made.python("\n".join([*lines, "print(millrace.__file__)"])).strip()
    if not Path(place).is_relative_to(made.bin.parent):
        raise ReleaseError(f"millrace was imported from {place}")


def check_extra_is_added(wheel: Path) -> None:
    """Check that the command in error messages adds an extra to the Millrace that is there,
    without asking an index for Millrace."""
    with environment(wheel) as made:
        made.install("pip", "sqlglot")
        pip = ["-m", "pip", "install", "--quiet", "--no-index"]
        run([made.bin / "python", *pip, "millrace[sql]"], made.work)
        check_imports(made, modules_of_extra("sql"))


def check_page(made: Environment, page: Path) -> None:
    """Run the programs of a page, and compare what they print.

    Raises:
        ReleaseError: there is none, or one prints something else.
    """
    programs = list(page_programs(page.read_text(encoding="utf-8")))
    if not programs:
        raise ReleaseError(f"{page.name} has no program with its output")
    for program in programs:
        path = made.work / program.name
        path.write_text(program.source, encoding="utf-8")
        printed = made.millrace("run", path)
        if sorted(printed.split("\n")) != sorted([*program.output.strip("\n").split("\n"), ""]):
            raise ReleaseError(f"{page.name}: {program.name} printed\n{printed}")


def check_server(made: Environment) -> None:
    """Start a server, submit a job, stop it with a savepoint, and end the server.

    Raises:
        ReleaseError: something does not happen.
    """
    job = made.work / "release.py"
    job.write_text(SERVED, encoding="utf-8")
    log = made.work / "server.out"
    command = [str(made.bin / "millrace"), "server", "--port", "0", "--allow-uploads"]
    state = {"XDG_STATE_HOME": str(made.work / "state")}
    with log.open("wb") as out:
        server = subprocess.Popen(
            command, cwd=made.work, stdout=out, stderr=out, env={**outer_environment(), **state}
        )
    try:
        [url] = _await(lambda: re.findall(r"server is at (\S+)", log.read_text()), "the server")
        id = made.millrace("run", "--server", url, "-d", job).split()[-1]

        def has(state: str) -> bool:
            return f'"{state}"' in made.millrace("list", "--server", url, "--json")

        _await(lambda: has("RUNNING"), "the job")
        time.sleep(2)
        stopped = made.millrace("stop", "--server", url, id)
        _await(lambda: has("FINISHED"), f"the end: {stopped}")
    finally:
        server.terminate()
        server.wait(60)


def _await(condition: Any, what: str) -> Any:
    until = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > until:
            raise ReleaseError(f"{what} did not come within {PATIENCE:.0f} s")
        time.sleep(0.2)
    return found


def check_core(wheel: Path, number: str) -> None:
    """Check the wheel without extras."""
    with environment(wheel) as made:
        check_imports(made, ["millrace.datastream", "millrace.connectors", "millrace.cep"])
        if number not in made.millrace("--version"):
            raise ReleaseError("millrace --version tells another version")
        check_page(made, ROOT / "docs/getting-started.md")


def check_extras(wheel: Path, extras: Sequence[str]) -> None:
    """Check each extra in an environment of its own."""
    for extra in extras:
        with environment(wheel, extra, *EXTRAS_BESIDE.get(extra, ())) as made:
            check_imports(made, modules_of_extra(extra))
            if extra == "sql":
                check_page(made, ROOT / "docs/sql/index.md")
            elif extra == "server":
                check_server(made)
        say(f"extra {extra}: well")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make and check a release; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="extras to check, separated by commas (default: all)")
    args = parser.parse_args(arguments)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    every = [extra for extra in project["optional-dependencies"] if extra not in NOT_RELEASED]
    chosen = args.only.split(",") if args.only is not None else every
    number = version()
    try:
        wheel, sdist = build()
        notes = write_notes(number)
        say(f"built {wheel.name}, {sdist.name}, {notes.name}")
        check_archives(wheel, sdist)
        say("the archives are well")
        check_core(wheel, number)
        say("the core is well")
        check_extra_is_added(wheel)
        check_extras(wheel, [extra for extra in chosen if extra])
        with environment(wheel, *(extra for extra in every if extra != "demo")) as made:
            made.install("flink-statefun")  # the SDK of one of the programs
            check_page(made, ROOT / "docs/index.md")
            say("the first page is well")
            write_components(made, number)
        write_digests()
    except (ReleaseError, ValueError) as error:
        say(f"NOT to be published: {error}")
        return 1
    say(f"millrace {number} is in {DIST}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
