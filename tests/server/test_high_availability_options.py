"""Which options make which kind of election, and which do not go together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError
from millrace.server.high_availability import create_leadership
from millrace.server.lock_leadership import LockLeadership, RegistryTakenError, SoleLeadership
from millrace.server.sql_registry import SqlRegistry

PREFIX = "high-availability"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[SqlRegistry]:
    made = SqlRegistry(f"sqlite:///{tmp_path}/registry.db")
    yield made
    made.close()


def leadership(registry: SqlRegistry, **options: str) -> object:
    settings = {f"{PREFIX}.{key.replace('__', '.')}": value for key, value in options.items()}
    return create_leadership(Configuration(settings), registry, "http://here:8081")


def test_a_server_that_is_alone(registry: SqlRegistry, tmp_path: Path) -> None:
    first = leadership(registry)
    assert isinstance(first, SoleLeadership)
    first.start()
    assert (first.token(), first.leader().address) == (1, "http://here:8081")
    other = SqlRegistry(f"sqlite:///{tmp_path}/registry.db")
    with pytest.raises(RegistryTakenError, match="high-availability.type waits"):
        leadership(other).start()
    other.close()


def test_servers_of_one_machine_take_turns(registry: SqlRegistry) -> None:
    first, second = leadership(registry, type="file"), leadership(registry, type="file")
    assert isinstance(first, LockLeadership)
    first.start()
    second.step()
    registry.enter(first.token())
    assert (first.token(), second.token()) == (1, None)
    assert second.leader() == first.leader() == second.is_left_to()
    first.close()
    assert second.leader() is None
    second.step()
    assert (first.token(), second.token()) == (None, 2)
    second.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"type": "postgresql"}, "needs a registry in PostgreSQL; .*type: file"),
        ({"type": "zookeeper"}, "needs high-availability.zookeeper.quorum"),
        ({"type": "kubernetes"}, "kubernetes"),
    ],
)
def test_what_does_not_go_together(registry: SqlRegistry, options, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        leadership(registry, **options)


def test_a_lease_that_cannot_be_renewed_in_time(postgresql) -> None:
    url = postgresql.url(postgresql.create_database()).replace("postgresql:", "postgresql+psycopg:")
    registry = SqlRegistry(url)
    election = f"{PREFIX}.postgresql.leader-election"
    settings = {f"{PREFIX}.type": "postgresql", f"{election}.lease-duration": "2 s"}
    with pytest.raises(ConfigurationError, match="make it at least 3000 ms"):
        create_leadership(Configuration(settings), registry, "")
    with pytest.raises(ConfigurationError, match="type: file needs a registry in SQLite"):
        create_leadership(Configuration({f"{PREFIX}.type": "file"}), registry, "")
    registry.close()
