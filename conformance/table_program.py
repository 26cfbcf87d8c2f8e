"""The programs of the Table API: functions written for PyFlink, read for either package.

A page is a module in ``conformance/table``. Each of its functions whose first parameter is
``t_env`` is a program; it returns a ``Table``, a ``TableResult``, or a list of texts. Decorators
say what else there is to know: ``@in_batch``, ``@changelog`` (the changes are compared one by one),
``@setting(key, value)`` and ``@differs(reason)``. A program with a parameter ``directory`` gets an
empty one of its own.

By ``@twin(statements)`` each program names the SQL that has the same plan, or ``@no_twin(reason)``
says why there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from conformance.program import HOME as CONFORMANCE
from conformance.program import WRITTEN_FOR

HOME = CONFORMANCE / "table"
PREFIX = "table-"
_IMPORTS = re.compile(rf"^(\s*from ){WRITTEN_FOR}\b", re.MULTILINE)
_NOTES = "conformance_notes"


@dataclass(frozen=True)
class Twin:
    """What does the same in SQL.

    Attributes:
        statements: the last one is a query. Python objects that the program makes a table of are
            the table ``elements``.
        functions: of the page, under the names by which the statements call them.
    """

    statements: tuple[str, ...]
    functions: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Notes:
    """What decorators say about a program."""

    is_batch: bool = False
    is_changelog: bool = False
    settings: tuple[tuple[str, str], ...] = ()
    difference: str = ""
    twin: Twin | None = None
    reason_without_twin: str = ""


@dataclass(frozen=True)
class TableProgram:
    """A function that is called with a table environment of its own."""

    page: str
    name: str
    notes: Notes
    goes_on: bool = False

    @property
    def path(self) -> str:
        """``page/name``."""
        return f"{self.page}/{self.name}"

    @property
    def source(self) -> str:
        """The file as the documents call it."""
        return f"conformance/table/{self.page.removeprefix(PREFIX)}.py"

    @property
    def is_batch(self) -> bool:
        """It runs in batch mode."""
        return self.notes.is_batch

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Options of its environment."""
        return self.notes.settings

    @property
    def difference(self) -> str:
        """Why millrace's result is another than Flink's; empty: it is the same."""
        return self.notes.difference

    @property
    def is_changelog(self) -> bool:
        """What is compared are the changes one by one."""
        return self.notes.is_changelog

    def steps(self, directory: Path) -> Iterator[Callable[[Any], Any]]:
        """One step: the function as it reads for the package of this process."""
        function = vars(_module(self.page))[self.name]
        wants_directory = "directory" in function.__code__.co_varnames
        yield partial(_run, partial(function, directory=directory) if wants_directory else function)


def in_batch(function: Any) -> Any:
    """The program runs in batch mode."""
    return _noted(function, is_batch=True)


def changelog(function: Any) -> Any:
    """The changes of the program are compared one by one."""
    return _noted(function, is_changelog=True)


def setting(key: str, value: str) -> Callable[[Any], Any]:
    """The program runs with this option."""
    return lambda function: _noted(function, settings=(*_notes(function).settings, (key, value)))


def differs(reason: str) -> Callable[[Any], Any]:
    """Millrace gives another result than Flink, for this reason."""
    return partial(_noted, difference=reason)


def twin(statements: str, **functions: Any) -> Callable[[Any], Any]:
    """The program has this twin in SQL; statements end with a semicolon at the end of a line."""
    return partial(_noted, twin=Twin(tuple(statements.split(";\n")), tuple(functions.items())))


def no_twin(reason: str) -> Callable[[Any], Any]:
    """The program has no twin in SQL, for this reason."""
    return partial(_noted, reason_without_twin=reason)


def pages() -> list[str]:
    """Names of all pages, sorted."""
    return sorted(PREFIX + path.stem for path in HOME.glob("*.py"))


def load(page: str) -> list[TableProgram]:
    """The programs of a page, in their order."""
    return [
        TableProgram(page, name, _notes(value))
        for name, value in vars(_module(page)).items()
        if not name.startswith("_") and _is_program(page, value)
    ]


def _is_program(page: str, value: Any) -> bool:
    if not isinstance(value, FunctionType):
        return False
    code = value.__code__
    return code.co_filename == str(_file(page)) and code.co_varnames[:1] == ("t_env",)


@cache
def _module(page: str) -> ModuleType:
    """The page for this process's package. It is not importable by name, so its functions are sent
    by value."""
    path = _file(page)
    # the interpreter of PyFlink's environment has no millrace
    package = "millrace" if find_spec("millrace") else WRITTEN_FOR
    source = _IMPORTS.sub(rf"\1{package}", path.read_text())
    module = ModuleType(f"conformance_{page.replace('-', '_')}")
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


def _file(page: str) -> Path:
    return HOME / f"{page.removeprefix(PREFIX)}.py"


def _run(function: Callable[[Any], Any], t_env: Any) -> Any:
    found = function(t_env)
    return found.execute() if hasattr(found, "execute") else found


def _notes(function: Any) -> Notes:
    notes: Notes = getattr(function, _NOTES, Notes())
    return notes


def _noted(function: Any, **changes: Any) -> Any:
    setattr(function, _NOTES, replace(_notes(function), **changes))
    return function
