"""Runs every program on PyFlink and on millrace and compares what they put out.

    python -m conformance.run [--no-spark] [--write] [--committed] [PREFIX...]

PyFlink runs in a process of its own (`pyflink_process`). Millrace runs in this one, on epochs and
on resident tasks, and on Spark.
Exits 1 if a program that docs/deviations.md does not name gives another output. --write keeps the
outputs in conformance/expected; --committed takes PyFlink's from there and does not run it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from conformance.millrace_side import run_in_process, run_on_resident_tasks, run_on_spark
from conformance.outputs import difference
from conformance.program import names
from conformance.pyflink_process import run_pyflink

from conformance import expected_output

COLUMNS = 30


@dataclass(frozen=True)
class Output:
    """What a program put out on one side: lines, or the error that it failed with."""

    lines: list[str] | None
    error: str = ""


def on_pyflink(programs: list[str]) -> dict[str, Output]:
    """All programs in one process of the peer's interpreter."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "outputs.jsonl"
        run_pyflink("conformance.pyflink_side", [str(out), *programs], len(programs))
        found = [json.loads(line) for line in out.read_text().splitlines()]
    outputs = {f["name"]: Output(f.get("outputs"), f.get("error", "")) for f in found}
    return {name: outputs.get(name, Output(None, "it never ended")) for name in programs}


def on_millrace(programs: list[str], run: Callable[[str], list[str]]) -> dict[str, Output]:
    """All programs, one after the other."""
    return {name: _output(name, run) for name in programs}


def _output(name: str, run: Callable[[str], list[str]]) -> Output:
    try:
        return Output(run(name))
    except Exception as error:
        return Output(None, f"{type(error).__name__}: {error}")


def verdict(name: str, theirs: Output, ours: Output, is_listed: bool) -> tuple[bool, str]:
    """Whether the program passes, and what to print."""
    if ours.lines is None:
        return False, f"millrace failed: {_short(ours.error)}"
    if is_listed:
        kept = expected_output.read(name, "millrace")
        if kept is not None and difference(kept, ours.lines):
            return False, f"listed, but changed: {difference(kept, ours.lines)}"
        return True, "listed in docs/deviations.md"
    if theirs.lines is None:
        return False, f"PyFlink failed: {_short(theirs.error)}"
    differs = difference(theirs.lines, ours.lines)
    return not differs, differs or f"{len(ours.lines)} records agree"


def _short(error: str) -> str:
    return " ".join(error.split())[-200:]


def main() -> int:
    options = _arguments()
    programs = names(options.programs)
    if options.committed:
        theirs = {name: Output(expected_output.read(name), "no output kept") for name in programs}
    else:
        theirs = on_pyflink(programs)
    sides = {
        "epochs": on_millrace(programs, run_in_process),
        "resident": on_millrace(programs, run_on_resident_tasks),
    }
    if options.spark:
        sides["on Spark"] = on_millrace(programs, run_on_spark)
    listed = expected_output.listed()
    if options.write:
        for name in programs:
            expected_output.write(name, "pyflink", theirs[name].lines)
            kept = sides["epochs"][name].lines if name in listed else None
            expected_output.write(name, "millrace", kept)
    failed = 0
    for side, ours in sides.items():
        for name in programs:
            good, text = verdict(name, theirs[name], ours[name], name in listed)
            failed += not good
            print(f"{'ok  ' if good else 'FAIL'} {name:<{COLUMNS}} {side:<10} {text}")
    print(f"{len(programs)} programs, {failed} unlisted disagreements")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("programs", nargs="*", metavar="PREFIX", help="only these programs")
    parser.add_argument(
        "--spark", action=argparse.BooleanOptionalAction, default=True, help="run on Spark, too"
    )
    parser.add_argument("--write", action="store_true", help="keep the outputs")
    parser.add_argument("--committed", action="store_true", help="do not run PyFlink")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
