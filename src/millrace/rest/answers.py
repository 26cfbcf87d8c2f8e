"""Answers of the endpoint: a status and a body that is JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

__all__ = ["Answer", "failure", "unknown"]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a request."""

    status: HTTPStatus
    body: Any
    """Body of dicts, lists and plain values, for JSON."""
    headers: Mapping[str, str] = field(default_factory=dict)


def failure(status: HTTPStatus, error: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Answer to a request that cannot be answered, with the reason."""
    return Answer(status, {"error": error}, headers or {})


def unknown(part: str, name: str, known: Iterable[Any], **more: Any) -> Answer:
    """Answer 404 for an unknown part of the path; it names the known values."""
    listed = list(known)
    body = {"error": f"there is no {part} '{name}'", "unknown": part, "known": listed, **more}
    return Answer(HTTPStatus.NOT_FOUND, body)
