"""`ModuleEntry`: a module of functions, and whether it is in use. PyFlink: ``ModuleEntry``."""

from __future__ import annotations

from millrace.missing_modules import explain_missing_names

__all__ = ["ModuleEntry"]

explain_missing_names(__name__)


class ModuleEntry:
    """A module of functions and whether it is in use."""

    def __init__(self, name: str, used: bool) -> None:
        self._name, self._used = name, used

    def name(self) -> str:
        """Name of the module."""
        return self._name

    def used(self) -> bool:
        """Whether the module's functions can be called."""
        return self._used

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleEntry) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __lt__(self, other: ModuleEntry) -> bool:
        return self._name < other._name

    def __repr__(self) -> str:
        return f"ModuleEntry(name={self._name!r}, used={self._used})"
