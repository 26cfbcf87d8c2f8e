"""Result of a check: its severity, and the remedy."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

__all__ = ["Diagnosis", "Severity", "failure", "ok", "warning"]


class Severity(Enum):
    """Severity of a problem."""

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
    """The remedy, in a sentence; None if none is needed."""

    def to_dict(self) -> dict[str, Any]:
        """The diagnosis as a JSON object."""
        return {**asdict(self), "severity": self.severity.value}


def ok(check: str, found: str) -> Diagnosis:
    """Diagnosis of a check without a problem."""
    return Diagnosis(check, Severity.OK, found)


def warning(check: str, found: str, fix: str) -> Diagnosis:
    """Diagnosis of a check whose problem does not keep jobs from running."""
    return Diagnosis(check, Severity.WARNING, found, fix)


def failure(check: str, found: str, fix: str) -> Diagnosis:
    """Diagnosis of a check whose problem keeps jobs from running."""
    return Diagnosis(check, Severity.FAILURE, found, fix)
