"""Servers for a session of tests: started when the first test asks, and what could not be had."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeVar

import pytest
from service import Service, ServiceUnavailableError, is_required

ServiceT = TypeVar("ServiceT", bound=Service)

unavailable: dict[str, str] = {}
"""Servers that could not be had, by name, with the reason: the summary at the end shows them."""


def running(kind: type[ServiceT], factory: pytest.TempPathFactory) -> Iterator[ServiceT]:
    """What a session fixture yields: a running server. Its tests are skipped if it cannot be had,
    and fail if it is required (`is_required`)."""
    service = kind(factory.mktemp(kind.__name__))
    try:
        service.__enter__()
    except ServiceUnavailableError as error:
        unavailable[kind.name] = str(error)
        say = pytest.fail if is_required(kind.name) else pytest.skip
        say(f"no {kind.name}: {error}")
    try:
        yield service
    finally:
        service.stop()


def fixture_of(kind: type[Service], scope: Literal["session", "module"] = "session") -> Any:
    """A fixture: `running`. Its name is that of the variable that it is assigned to."""

    @pytest.fixture(scope=scope)
    def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
        yield from running(kind, tmp_path_factory)

    return server
