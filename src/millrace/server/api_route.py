"""The declaration of a route: path, method, role, parameters and answer, from which the application
and its OpenAPI document are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from http import HTTPStatus
from typing import Any

import msgspec

from millrace.common.errors import MillraceError

__all__ = [
    "ApiError",
    "ApiReply",
    "ApiRequest",
    "ApiRoute",
    "EmptyAnswer",
    "ErrorsAnswer",
    "QueryParameter",
    "AccessRole",
    "UploadedFile",
]


class AccessRole(IntEnum):
    """Role of a token's owner; the greater role includes the smaller."""

    NOBODY = 0
    """Role of clients without a token."""
    READ = 1
    OPERATE = 2


class ApiError(MillraceError):
    """A request that the server refuses, with the HTTP status of the refusal."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = HTTPStatus(status)


class EmptyAnswer(msgspec.Struct, frozen=True):
    """The answer ``{}``."""


class ErrorsAnswer(msgspec.Struct, frozen=True):
    """The answer to a request that the server refused."""

    errors: list[str]


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A parameter in the query of a URL."""

    name: str
    kind: type = str
    """Type of the value: `str`, `int` or `bool`."""
    description: str = ""
    required: bool = False
    minimum: int | None = None
    choices: tuple[str, ...] = ()

    def parsed(self, text: str) -> Any:
        """Value of the parameter, parsed from text.

        Raises:
            ApiError: 400, it is none.
        """
        if self.kind is bool:
            if text.lower() not in ("true", "false"):
                raise ApiError(400, f"{self.name} must be true or false, not {text!r}")
            return text.lower() == "true"
        if self.kind is int:
            return self._number(text)
        if self.choices and text not in self.choices:
            raise ApiError(
                400, f"{self.name} must be one of {', '.join(self.choices)}, not {text!r}"
            )
        return text

    def _number(self, text: str) -> int:
        digits = text[1:] if text[:1] == "-" else text
        if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
            raise ApiError(400, f"{self.name} must be a whole number, not {text[:40]!r}")
        if self.minimum is not None and int(text) < self.minimum:
            raise ApiError(400, f"{self.name} must be at least {self.minimum}, not {text}")
        return int(text)


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file of a form that a client sent."""

    name: str
    """Name of the file on the sender's machine."""
    path: str
    """Path of the file until the request is answered."""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request, parsed as its route declares."""

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    upload: UploadedFile | None = None
    address: str = ""
    """URL by which the client reached the server, such as ``http://localhost:8081``."""
    raw_path: str = ""
    """Path of the URL as received, with percent-encoded characters."""
    raw_query: str = ""
    role: AccessRole = AccessRole.OPERATE
    """Role of the client."""


@dataclass(frozen=True, slots=True)
class ApiReply:
    """An answer other than status 200 with JSON."""

    body: Any
    status: int = 200
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[Any, ApiRequest], Any]
"""Function that answers a request in a thread of its own, from the job server and the request. Its
result is converted to JSON, unless it is an `ApiReply`."""


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """A route of the REST API."""

    method: str
    path: str
    """Path of the URL, with parameter names in braces."""
    handler: Handler
    summary: str
    answer: Any
    """Type of the result of `handler`; `str` stands for plain text."""
    role: AccessRole = AccessRole.READ
    query: tuple[QueryParameter, ...] = ()
    body: Any = None
    """Type of the request's JSON body; None if there is no body."""
    status: int = 200
    takes_file: bool = False
    """Whether the body is a form with a file."""
    ends_in_path: bool = False
    """Whether the last parameter of the path may contain slashes."""
    waits_for_nothing: bool = False
    """Whether `handler` reads neither disk nor registry. Such a handler is called in the event
    loop: no free thread is needed while all threads are busy."""
    is_kept: bool = False
    """Whether the answer may be half a second old, and shared by clients with the same role. It
    must depend only on path, query, role, registry and the reports of jobs."""
