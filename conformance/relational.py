"""The programs of tables, for both sides: those in SQL, and those of the Table API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from conformance import sql_program, table_program

Step = Callable[[Any], Any]
"""Does something in the table environment of a side: gives a result to compare, or None."""


class RelationalProgram(Protocol):
    """A program that is run in a table environment of its own."""

    @property
    def page(self) -> str:
        """The file that it stands in."""

    @property
    def name(self) -> str:
        """Its name within the page."""

    @property
    def path(self) -> str:
        """``page/name``."""

    @property
    def source(self) -> str:
        """The file as the documents call it."""

    @property
    def is_batch(self) -> bool:
        """It runs in batch mode."""

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Options of its environment."""

    @property
    def difference(self) -> str:
        """Why millrace's result is another than Flink's; empty: it is the same."""

    @property
    def goes_on(self) -> bool:
        """Steps behind one that is refused are run, too."""

    @property
    def is_changelog(self) -> bool:
        """What is compared are the changes one by one."""

    def steps(self, directory: Path) -> Iterator[Step]:
        """What it does, with an empty directory."""


def pages() -> list[str]:
    """Names of all pages, sorted; one page of each kind may have the same name but for its
    prefix."""
    return [*sql_program.pages(), *table_program.pages()]


def load(page: str) -> list[RelationalProgram]:
    """The programs of a page, in their order."""
    kind = table_program if page in table_program.pages() else sql_program
    return [*kind.load(page)]


def programs(wanted: Iterable[str] = ()) -> list[RelationalProgram]:
    """All programs, or those whose path ``page/name`` begins with one of ``wanted``."""
    prefixes = tuple(wanted)
    found = [program for page in pages() for program in load(page)]
    return [each for each in found if not prefixes or each.path.startswith(prefixes)]
