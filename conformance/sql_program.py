"""The SQL programs: a file of statements per page of Flink's documentation, for both sides.

A line ``-- program: name`` begins a program, which lasts to the next; ``-- program: name (batch)``
one that runs in batch mode. What precedes the first program of a file is run before each of them.
Below the name, ``-- differs: reason`` says why millrace's result is another one, and
``-- set: key = value`` sets an option, ``-- goes on`` lets it go on behind what is refused, and
``-- changelog`` compares the changes of a query (by its first column, in their order) instead of
what they amount to.
Statements end with a semicolon at the end of a line.
``${data}`` is the directory of the data that the programs share, ``${directory}`` an empty one of
the program's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

HOME = Path(__file__).resolve().parent / "sql"
DATA = HOME / "data"
_READS = ("select", "with", "values", "(", "show", "desc", "explain")
_BEGINS = re.compile(r"-- program: (?P<name>\w+)(?P<batch> \(batch\))?")
_SET = re.compile(r"^-- set: (?P<key>\S+) = (?P<value>.+)", re.MULTILINE)
_GOES_ON = re.compile(r"^-- goes on$", re.MULTILINE)
_CHANGELOG = re.compile(r"^-- changelog$", re.MULTILINE)
_DIFFERS = re.compile(r"-- differs: (?P<reason>.+)")


@dataclass(frozen=True)
class SqlProgram:
    """Statements that are run one after the other in a table environment of their own."""

    page: str
    name: str
    is_batch: bool
    statements: tuple[str, ...]
    settings: tuple[tuple[str, str], ...] = ()
    difference: str = ""
    """Why millrace's result is another than Flink's; empty: it is the same."""
    goes_on: bool = False
    """Statements behind one that is refused are run, too."""
    is_changelog: bool = False
    """What is compared are the changes one by one."""

    @property
    def path(self) -> str:
        """``page/name``."""
        return f"{self.page}/{self.name}"

    @property
    def source(self) -> str:
        """The file as the documents call it."""
        return f"conformance/sql/{self.page}.sql"

    def steps(self, directory: Path) -> Iterator[Callable[[Any], Any]]:
        """A step per statement, with the paths of the data put in."""
        for statement in self.statements:
            text = Template(statement).safe_substitute(data=DATA, directory=directory)
            yield partial(_execute, text)


def pages() -> list[str]:
    """Names of all pages, sorted."""
    return sorted(path.stem for path in HOME.glob("*.sql"))


def load(page: str) -> list[SqlProgram]:
    """The programs of a page, in their order."""
    shared, *parts = re.split(r"^(?=-- program: )", (HOME / f"{page}.sql").read_text(), flags=re.M)
    before = _statements(shared)
    programs = [_program(page, part, before) for part in parts]
    names = [program.name for program in programs]
    assert len(names) == len(set(names)), f"two programs of {page} have one name"
    return programs


def _program(page: str, text: str, before: tuple[str, ...]) -> SqlProgram:
    begins = _BEGINS.match(text)
    assert begins is not None, f"{page}: {text.splitlines()[0]}"
    differs = _DIFFERS.search(text)
    return SqlProgram(
        page,
        begins["name"],
        begins["batch"] is not None,
        before + _statements(text),
        tuple((found["key"], found["value"].strip()) for found in _SET.finditer(text)),
        differs["reason"] if differs else "",
        _GOES_ON.search(text) is not None,
        _CHANGELOG.search(text) is not None,
    )


def _execute(statement: str, t_env: Any) -> Any:
    """The result of a statement that reads; None for a job that writes, which is waited for."""
    result = t_env.execute_sql(statement)
    if result.get_job_client() and not statement.lower().startswith(_READS):
        result.wait()
        return None
    return result


def _statements(text: str) -> tuple[str, ...]:
    lines = [line for line in text.splitlines() if not line.startswith("-- ")]
    found = re.split(r";[ ]*$", "\n".join(lines), flags=re.M)
    return tuple(statement.strip() for statement in found if statement.strip())
