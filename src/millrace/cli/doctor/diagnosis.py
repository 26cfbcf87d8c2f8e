"""What a check found: whether it is well, and otherwise what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

__all__ = ["Diagnosis", "Severity", "failure", "ok", "warning"]


class Severity(Enum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    """Jobs run, but not as well or as safely as they could."""
    FAILURE = "failure"
    """Jobs do not run, or lose what they have stored."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of one check."""

    check: str
    severity: Severity
    found: str
    fix: str | None = None
    """What to do, in a sentence; None: nothing."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "severity": self.severity.value}


def ok(check: str, found: str) -> Diagnosis:
    """All is well."""
    return Diagnosis(check, Severity.OK, found)


def warning(check: str, found: str, fix: str) -> Diagnosis:
    """It works, but."""
    return Diagnosis(check, Severity.WARNING, found, fix)


def failure(check: str, found: str, fix: str) -> Diagnosis:
    """It does not work."""
    return Diagnosis(check, Severity.FAILURE, found, fix)
