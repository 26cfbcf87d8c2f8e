"""Election by a real ZooKeeper: leases, their tokens, sessions that are lost, killed leaders."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from server_group import ServerGroup, await_that

from millrace.common.errors import StateError
from millrace.server.leadership import ServerIdentity
from millrace.server.lease_leadership import LeaseLeadership
from millrace.server.zookeeper_lease import ZooKeeperLease

pytestmark = pytest.mark.connectors
SESSION = 2_000
"""Milliseconds."""


class Candidate:
    """A server that stands for election; it does only what a test says."""

    def __init__(self, quorum: str, path: str) -> None:
        self.quorum = quorum
        self.identity = ServerIdentity(uuid.uuid4().hex, "http://here", "host", 1, "elsewhere")
        self.store = ZooKeeperLease(quorum, path, self.identity, SESSION)
        self.time = 0
        self.leadership = LeaseLeadership(
            self.store, self.identity, SESSION, clock=lambda: self.time
        )
        await_that(self.is_connected, "a connection with ZooKeeper")

    def is_connected(self) -> bool:
        return bool(self.store._client.connected)

    def step(self) -> int | None:
        self.leadership.step()
        return self.leadership.token()

    def lose_session(self) -> None:
        """As when ZooKeeper has not heard of it for too long: the session is ended from outside."""
        session = self.store._client.client_id
        other = KazooClient(self.quorum, client_id=session)
        other.start()
        other.stop()
        other.close()
        await_that(
            lambda: self.is_connected() and self.store._client.client_id[0] != session[0],
            "a new session",
        )


@pytest.fixture
def candidate(zookeeper) -> Iterator[Callable[[], Candidate]]:
    path = f"/tests/{uuid.uuid4().hex}/leader"
    made: list[Candidate] = []

    def make() -> Candidate:
        made.append(Candidate(zookeeper.quorum, path))
        return made[-1]

    yield make
    for one in made:
        one.leadership.close()


def test_one_leads_until_it_gives_it_back(candidate: Callable[[], Candidate]) -> None:
    first, second = candidate(), candidate()
    token = first.step()
    assert token is not None
    assert (second.step(), second.leadership.leader()) == (None, first.identity)
    assert second.leadership.is_left_to() == first.identity
    first.time += SESSION * 2 // 3  # it has not asked for so long that another one may lead
    assert first.leadership.token() is None
    assert first.step() == token, "its node is still there"
    assert (first.step(), second.step()) == (token, None)
    first.leadership.close()
    later = second.step()
    assert later is not None
    assert later > token


def test_a_lost_session_is_a_lost_lease(candidate: Callable[[], Candidate]) -> None:
    first, second = candidate(), candidate()
    token = first.step()
    first.lose_session()
    later = second.step()
    assert later is not None
    assert token is not None
    assert later > token
    assert first.step() is None
    assert first.step() is None
    assert first.leadership.leader() == second.identity


def test_a_lost_session_that_nobody_has_seen(candidate: Callable[[], Candidate]) -> None:
    """The same server leads again, under a new token: meanwhile another one might have led."""
    only = candidate()
    token = only.step()
    only.lose_session()
    assert only.step() is None
    later = only.step()
    assert token is not None
    assert later is not None
    assert later > token


def test_a_dead_holder_is_not_awaited(candidate: Callable[[], Candidate]) -> None:
    first, second = candidate(), candidate()
    token = first.step()
    assert token is not None
    assert second.store.take(second.identity, SESSION, token - 1) is None, "another one is meant"
    taken = second.store.take(second.identity, SESSION, token)
    assert taken is not None
    assert taken > token
    assert not first.store.extend(token, SESSION)


def test_nobody_leads_while_zookeeper_is_silent(candidate, zookeeper) -> None:
    first = candidate()
    token = first.step()
    zookeeper.pause()
    try:
        with pytest.raises(StateError, match="ZooKeeper cannot be used"):
            first.step()
        assert first.leadership.token() == token, "until its time is over"
        first.time += SESSION * 2 // 3
        assert first.leadership.token() is None
    finally:
        zookeeper.resume()
    await_that(first.is_connected, "a connection with ZooKeeper")
    await_that(lambda: leads(first), "an election")


def test_tokens_grow_though_zookeeper_dies(candidate, zookeeper) -> None:
    first = candidate()
    token = first.step()
    zookeeper.kill()
    zookeeper.start_again()
    first.leadership.close()
    second = candidate()
    await_that(lambda: leads(second), "an election")
    later = second.leadership.token()
    assert token is not None
    assert later is not None
    assert later > token


def leads(one: Candidate) -> bool:
    try:
        return one.step() is not None
    except StateError:
        return False


@pytest.mark.fault
def test_a_standby_takes_over_from_a_killed_leader(zookeeper, postgresql, tmp_path: Path) -> None:
    registry = postgresql.url(postgresql.create_database())
    registry = registry.replace("postgresql:", "postgresql+psycopg:")
    prefix = "high-availability.zookeeper"
    group = ServerGroup(
        tmp_path,
        f"{prefix}.quorum={zookeeper.quorum}",
        f"{prefix}.path.root=/tests/{uuid.uuid4().hex}",
        f"{prefix}.client.session-timeout={SESSION} ms",
    )
    try:
        first = group.start(registry, "zookeeper")
        await_that(first.leads, "the first election")
        second = group.start(registry, "zookeeper")
        job = group.count(first)
        job.await_progress()
        assert second.get("/health").json()["leader-address"] == first.url
        first.signal(signal.SIGKILL)
        assert await_that(second.leads, "the takeover") < 30
        job.await_progress()
        job.stop(second)
        job.require_exactly_once()
    finally:
        group.close()
