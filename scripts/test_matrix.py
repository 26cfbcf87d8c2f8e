"""Runs the smoke suite for each pair of a PySpark and a Python version, in environments of its
own.

``make test-matrix`` runs all pairs, ``make test-matrix ARGS="4.1 4.3:3.12"`` those of PySpark 4.1
and one more. ``--write`` puts what ran into the table of docs/install.md, and ``--remove`` deletes
the environments.

An interpreter is taken from the variable ``PYTHON_3_14`` (and so on), pyenv or the search path.
There is one environment for each Python and one directory for each PySpark, which pairs share: a
PySpark is half a gigabyte, and the same for every Python. Its wheel is built once
(``pyspark_wheel.py``).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark_wheel import pyspark_wheel, remove_wheels

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".matrix"
RESULTS = PLACE / "results.json"
PAGE = ROOT / "docs" / "install.md"
SUITE = ROOT / "tests" / "matrix"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SPARKS = {"4.0": ("3.11",), "4.1": ("3.12",), "4.2": ("3.13",), "4.3": PYTHONS}
"""Versions of Python for each PySpark."""
EXTRAS = ("connect", "graph", "server", "sql", "statefun")
TESTS = ("pytest>=8.3", "flink-statefun>=3.5")
TIMEOUT = 1500
"""Seconds of one pair."""
BEGIN, END = "<!-- matrix: begin -->", "<!-- matrix: end -->"
NOT_RUN = "not run here: no interpreter"


@dataclass(frozen=True)
class Pair:
    """A PySpark and a Python version."""

    spark: str
    python: str

    def __str__(self) -> str:
        return f"{self.spark}:{self.python}"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", nargs="*", help="PySpark versions, or pairs such as 4.3:3.12")
    parser.add_argument("--write", action="store_true", help="write the table of docs/install.md")
    parser.add_argument("--remove", action="store_true", help="delete the environments")
    arguments = parser.parse_args()
    if arguments.remove:
        shutil.rmtree(PLACE, ignore_errors=True)
        remove_wheels()
        return 0
    PLACE.mkdir(exist_ok=True)
    outcomes = []
    for pair in chosen(arguments.pairs):
        outcomes.append(run(pair))
        note(pair, outcomes[-1])
        print(f"PySpark {pair.spark}, Python {pair.python}: {outcomes[-1]}", flush=True)
    if arguments.write:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), noted()), encoding="utf-8")
    return int(any("failed" in each for each in outcomes))


def noted() -> dict[str, str]:
    """Outcomes of this and earlier calls."""
    found: dict[str, str] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return found


def note(pair: Pair, outcome: str) -> None:
    """Note an outcome beside those of earlier calls."""
    RESULTS.write_text(json.dumps({**noted(), str(pair): outcome}, indent=2))


def chosen(names: list[str]) -> Iterator[Pair]:
    """The pairs that a command line names; all if it names none."""
    pairs = [Pair(spark, python) for spark, pythons in SPARKS.items() for python in pythons]
    named = [name for name in names if not any(name in (str(p), p.spark) for p in pairs)]
    if named:
        sys.exit(f"there is no pair {named[0]}; there are {', '.join(map(str, pairs))}")
    for pair in pairs:
        if not names or str(pair) in names or pair.spark in names:
            yield pair


def run(pair: Pair) -> str:
    """Run the suite for a pair, and return the outcome for people."""
    interpreter = interpreter_of(pair.python)
    if interpreter is None:
        return NOT_RUN
    python = environment_of(pair.python, interpreter)
    spark = directory_of(pair.spark, python)
    beside = ROOT / "tests" / "spark" / "connect"
    paths = [str(path) for path in (spark, ROOT / "src", SUITE, beside)]
    log = PLACE / f"{pair.spark}-{pair.python}.log"
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": str(python)}
    variables.pop("SPARK_HOME", None)
    pytest = ["-m", "pytest", "--noconftest", "-c", os.devnull, "--rootdir", str(ROOT), "-q"]
    with log.open("wb") as output:
        try:
            subprocess.run(
                [str(python), *pytest, "-p", "no:cacheprovider", str(SUITE)],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=PLACE,
                env=variables,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"failed: not ended after {TIMEOUT} s, see {log.name}"
    return outcome(log.read_text(encoding="utf-8", errors="replace"), version(python, spark))


def outcome(log: str, versions: str) -> str:
    """The outcome, from the log of pytest."""
    failed = re.findall(r"^(?:FAILED|ERROR) \S*?(test_\w+(?:\[\w+\])?)(?: |$)", log, re.MULTILINE)
    counts = re.findall(r"^=*\s*((?:\d+ \w+(?:, )?)+) in [\d.]+s", log, re.MULTILINE)
    if failed or not counts:
        return f"failed: {', '.join(failed) or 'the suite did not end'} ({versions})"
    told = [count for count in counts[-1].split(", ") if "warning" not in count]
    return f"{', '.join(told)} ({versions})"


def version(python: Path, spark: Path) -> str:
    """Exact versions of a pair."""
    code = "import platform, pyspark; print(pyspark.__version__, platform.python_version())"
    variables = {**os.environ, "PYTHONPATH": str(spark)}
    told = subprocess.run(
        [str(python), "-c", code], env=variables, capture_output=True, text=True, check=True
    )
    first, second = told.stdout.split()
    return f"PySpark {first}, Python {second}"


def interpreter_of(python: str) -> str | None:
    """Path of an interpreter; None if this machine has none."""
    named = os.environ.get(f"PYTHON_{python.replace('.', '_')}")
    if named is not None:
        return named
    below = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    of_pyenv = sorted(below.glob(f"{python}.*/bin/python"))
    return str(of_pyenv[-1]) if of_pyenv else shutil.which(f"python{python}")


def environment_of(python: str, interpreter: str) -> Path:
    """Interpreter of the environment of a Python, which is made if there is none. It has the
    dependencies of the suite, but PySpark."""
    directory = PLACE / f"python-{python}"
    made = directory / "bin" / "python"
    stamp = directory / "ready"
    wanted = "\n".join(requirements())
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([interpreter, "-m", "venv", "--clear", str(directory)], check=True)
        install(made, *requirements())
        stamp.write_text(wanted)
    return made


def requirements() -> list[str]:
    """What the suite needs, but PySpark."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *TESTS, *(item for name in EXTRAS for item in extras[name])]
    return sorted({item for item in named if not item.startswith("pyspark")})


def directory_of(spark: str, python: Path) -> Path:
    """Directory with a PySpark, which is installed if it is not there."""
    directory = PLACE / f"pyspark-{spark}"
    if not (directory / "pyspark" / "version.py").exists():
        wheel = pyspark_wheel(f"{spark}.*")
        install(python, str(wheel), "--no-cache-dir", "--target", str(directory))
    return directory


def install(python: Path, *words: str) -> None:
    """Install packages with pip."""
    subprocess.run([str(python), "-m", "pip", "install", "-q", "--no-input", *words], check=True)


def with_table(page: str, results: dict[str, str]) -> str:
    """The page with the table of what ran; pairs without a result keep their row."""
    before, _, rest = page.partition(BEGIN)
    table, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{PAGE} has no lines {BEGIN} and {END}")
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| (.+) \|$", table, re.MULTILINE)
    known = {str(Pair(spark, python)): told for spark, python, told in rows} | results
    pairs = [Pair(spark, python) for spark, pythons in SPARKS.items() for python in pythons]
    lines = ["| PySpark | Python | smoke suite |", "| --- | --- | --- |"]
    lines += [f"| {p.spark} | {p.python} | {known.get(str(p), 'not run here')} |" for p in pairs]
    return "\n".join([f"{before}{BEGIN}", "", *lines, "", f"{END}{after}"])


if __name__ == "__main__":
    sys.exit(main())
