"""Runs every program of tables (SQL, Table API) on PyFlink and on millrace, compares the results.

    python -m conformance.run_sql [--executor epochs|resident] [--spark] [--write] [--committed]
        [PAGE[/PROGRAM]...]

As `conformance.run` does with the programs of the DataStream API. A program that differs for a
reason says so in its text; millrace's result is then kept beside Flink's. What both sides refuse
agrees.

Resident tasks run the programs that are not in batch mode. Their changelogs agree if they amount to
the same table: which changes are folded into one depends on what comes together. Both changelogs
are printed if they are not the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.millrace_sql_side import run_in_process, run_on_resident_tasks, run_on_spark
from conformance.pyflink_process import run_pyflink
from conformance.relational import RelationalProgram, programs
from conformance.sql_outputs import folded, same

from conformance import expected_sql

COLUMNS = 60
PAGES_PER_PROCESS = 4
EXECUTORS = ("epochs", "resident")
Results = dict[str, tuple[list[Any] | None, str]]
"""The rows and the error of each program, by its path."""


def on_pyflink(programs: list[RelationalProgram]) -> Results:
    """All programs in the peer's interpreter, some pages per process: each of Flink's jobs leaves
    something behind that makes the next one slower."""
    wanted = sorted({program.page for program in programs})
    found = []
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "results.jsonl"
        for first in range(0, len(wanted), PAGES_PER_PROCESS):
            pages = wanted[first : first + PAGES_PER_PROCESS]
            some = [program.path for program in programs if program.page in pages]
            run_pyflink("conformance.pyflink_sql_side", [str(out), *some], len(some))
            found += [json.loads(line) for line in out.read_text().splitlines()]
    results = {each["program"]: (each["results"], each["error"]) for each in found}
    return {each.path: results.get(each.path, (None, "it never ended")) for each in programs}


def on_millrace(
    programs: list[RelationalProgram], run: Callable[[RelationalProgram], tuple[list[Any], str]]
) -> Results:
    """All programs, one after the other."""
    return {program.path: run(program) for program in programs}


def resident_verdict(
    program: RelationalProgram, theirs: list[Any] | None, ours: list[Any]
) -> tuple[bool, str]:
    """Whether a program passes on resident tasks, and what to print."""
    wanted = expected_sql.read(program, "millrace") if program.difference else theirs
    if wanted is None:
        return False, "PyFlink gave nothing"
    if same(ours, wanted):
        return True, "agree"
    both = f"\n  wanted:    {wanted}\n  resident:  {ours}"
    if program.is_changelog and same(folded(ours), folded(wanted)):
        return True, f"agree as tables{both}"
    return False, both


def verdict(
    program: RelationalProgram, theirs: list[Any] | None, ours: list[Any]
) -> tuple[bool, str]:
    """Whether the program passes, and what to print."""
    if theirs is None:
        return False, "PyFlink gave nothing"
    if program.difference:
        if same(ours, theirs):
            return False, f"differs no more: {program.difference}"
        kept = expected_sql.read(program, "millrace")
        good = kept is None or same(kept, ours)
        return good, f"listed: {program.difference}" if good else f"listed, but changed: {ours}"
    if not same(ours, theirs):
        return False, f"\n  Flink:    {theirs}\n  millrace: {ours}"
    return True, "both refuse" if "refused" in ours else "agree"


def main() -> int:
    options = _arguments()
    chosen = programs(options.programs)
    if options.committed or options.executor == "resident":
        theirs: Results = {p.path: (expected_sql.read(p), "") for p in chosen}
    else:
        theirs = on_pyflink(chosen)
    sides = {}
    if options.executor != "resident":
        sides["epochs"] = on_millrace(chosen, run_in_process)
    if options.spark:
        sides["on Spark"] = on_millrace(chosen, run_on_spark)
    if options.write and "epochs" in sides:
        expected_sql.write(chosen, "pyflink", theirs)
        listed = [program for program in chosen if program.difference]
        expected_sql.write(listed, "millrace", sides["epochs"])
    failed = 0
    for side, ours in sides.items():
        for program in chosen:
            good, text = verdict(program, theirs[program.path][0], ours[program.path][0] or [])
            errors = (theirs[program.path][1], ours[program.path][1])
            failed += _told(program, side, good, text, errors)
    if options.executor != "epochs":
        for program in chosen:
            if not program.is_batch:
                given, error = run_on_resident_tasks(program)
                good, text = resident_verdict(program, theirs[program.path][0], given)
                failed += _told(program, "resident", good, text, (error,))
    print(f"{len(chosen)} programs of tables, {failed} unlisted disagreements")
    return 1 if failed else 0


def _told(
    program: RelationalProgram, side: str, good: bool, text: str, errors: tuple[str, ...]
) -> bool:
    """Print a verdict. Returns whether the program failed."""
    print(f"{'ok  ' if good else 'FAIL'} {program.path:<{COLUMNS}} {side:<10} {text}")
    if not good:
        print("\n".join("  " + _cause(error) for error in errors if error))
    return not good


def _cause(error: str) -> str:
    """The last cause of a Java error, or the end of any other."""
    causes = [line for line in error.splitlines() if "Caused by: " in line]
    return " ".join((causes[-1] if causes else error).split())[-500:]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("programs", nargs="*", metavar="PATH", help="only those that begin so")
    parser.add_argument("--executor", choices=EXECUTORS, help="only this one of millrace's")
    parser.add_argument("--spark", action="store_true", help="run millrace on Spark too")
    parser.add_argument("--write", action="store_true", help="keep the results")
    parser.add_argument("--committed", action="store_true", help="do not run PyFlink")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
