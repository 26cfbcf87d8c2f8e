"""The programs: each is written for PyFlink, and read for the package that is to run it.

A program defines ``build(env)``, which returns the stream whose records count, or several. It may
set ``RECORDS_PER_EPOCH = 1``: it then depends on a watermark after every record (on PyFlink, whose
watermarks follow the clock, such a program also waits between its records).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

HOME = Path(__file__).resolve().parent
PROGRAMS = HOME / "programs"
WRITTEN_FOR = "pyflink"


@dataclass(frozen=True)
class Program:
    """One program, ready to be built with the package it was read for."""

    name: str
    build: Callable[[Any], Any]
    records_per_epoch: int | None
    has_pauses: bool
    """Whether the program waits between its records, as it depends on their order in time."""

    def stream(self, env: Any) -> Any:
        """The one stream to collect: several become one of pairs, numbered from 0."""
        built = self.build(env)
        if not isinstance(built, tuple):
            return built
        first, *others = [s.map(_numbered(i)) for i, s in enumerate(built)]
        return first.union(*others)


def _numbered(number: int) -> Callable[[Any], tuple[int, Any]]:
    return lambda value: (number, value)


def names(wanted: Iterable[str] = ()) -> list[str]:
    """Names of all programs, or of those that begin with one of ``wanted``, sorted."""
    prefixes = tuple(wanted)
    found = sorted(path.stem for path in PROGRAMS.glob("*.py"))
    return [name for name in found if not prefixes or name.startswith(prefixes)]


def _no_pause(seconds: float) -> None:
    """In place of ``time.sleep``."""


def load(name: str, package: str, pauses: bool = True) -> Program:
    """Read a program for ``package``: nothing differs but the prefix of its imports.

    The module is not importable by name, so both sides send its functions by value. Without
    ``pauses`` its ``time.sleep`` returns at once: for where the clock does not matter.
    """
    path = PROGRAMS / f"{name}.py"
    source = path.read_text().replace(f"from {WRITTEN_FOR}.", f"from {package}.")
    module = ModuleType(f"conformance_program_{name}")
    exec(compile(source, str(path), "exec"), module.__dict__)
    has_pauses = hasattr(module, "time")
    if has_pauses and not pauses:
        vars(module)["time"] = SimpleNamespace(sleep=_no_pause)
    return Program(name, module.build, getattr(module, "RECORDS_PER_EPOCH", None), has_pauses)
