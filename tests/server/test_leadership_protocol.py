"""Servers that pause, die, lose their database and have clocks that drift: never do two write."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from sqlalchemy import event, literal_column

from millrace.common.errors import StateError
from millrace.server import leadership
from millrace.server.leadership import ServerIdentity
from millrace.server.lease_leadership import LeaseLeadership, LeaseRow
from millrace.server.registry import LeadershipLostError, RegisteredJob, Submission
from millrace.server.sql_lease import SqlLease
from millrace.server.sql_registry import SqlRegistry

LIFETIME = 8_000
JOB = RegisteredJob("a" * 32, Submission("job.py"))
SERVERS = st.integers(0, 2)
TIMES = st.sampled_from([0, 1_000, 2_600, 4_000, 6_000, 7_900, 8_001, 9_000, 11_000, 30_000])


class Unsteady:
    """A store on a bad network: it cannot be reached, or takes its time on either way."""

    def __init__(self, store: SqlLease) -> None:
        self._store = store
        self.is_reached = True
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None

    def _ask(self, ask: Callable[[], object]) -> object:
        if not self.is_reached:
            raise StateError("unreachable")
        before, self.before = self.before, lambda: None
        after, self.after = self.after, lambda: None
        before()
        answer = ask()
        after()
        if not self.is_reached:
            raise StateError("the answer was lost")
        return answer

    def read(self) -> LeaseRow:
        return self._ask(self._store.read)

    def take(self, *arguments: object) -> int | None:
        return self._ask(lambda: self._store.take(*arguments))

    def extend(self, *arguments: object) -> bool:
        return self._ask(lambda: self._store.extend(*arguments))

    def give_back(self, *arguments: object) -> None:
        self._ask(lambda: self._store.give_back(*arguments))

    def close(self) -> None:
        pass


class Server:
    """One start of a server, with a clock of its own."""

    def __init__(self, number: int, url: str, now: Callable[[], int], speed: float) -> None:
        self.number = number
        self.registry = SqlRegistry(url)
        event.listen(self.registry.engine, "connect", clock_of(now))
        self.registry.engine.dispose()  # what is connected has no clock
        identity = ServerIdentity(f"server-{number}", "", "host", number, "space")
        self.store = Unsteady(SqlLease(self.registry.engine, literal_column("clock_ms()")))
        self.leadership = LeaseLeadership(
            self.store, identity, LIFETIME, clock=lambda: int(now() * speed) + number * 10**6
        )
        self.entered: int | None = None
        self.led: int | None = None
        self.over: set[int] = set()


def clock_of(now: Callable[[], int]) -> Callable[..., None]:
    def give(connection, record) -> None:
        connection.create_function("clock_ms", 0, now)
        connection.execute("PRAGMA synchronous=OFF")

    return give


class LeadershipProtocol(RuleBasedStateMachine):
    """Time passes only when a rule says so."""

    template: Path

    def __init__(self) -> None:
        super().__init__()
        self.time = 1_000_000
        self.directory = Path(tempfile.mkdtemp())
        shutil.copy(self.template, self.directory / "registry.db")
        self.url = f"sqlite:///{self.directory}/registry.db"
        self.servers: dict[int, Server] = {}
        self.dead: set[int] = set()
        self.started = 0
        self.entered: list[int] = []
        leadership.has_died = lambda space, pid: pid in self.dead
        for place, speed in enumerate((1.0, 0.8, 1.2)):
            self.begin(place, speed)

    def begin(self, place: int, speed: float) -> None:
        self.started += 1
        self.servers[place] = Server(self.started, self.url, lambda: self.time, speed)

    @rule(milliseconds=TIMES)
    def time_passes(self, milliseconds: int) -> None:
        self.time += milliseconds

    @rule(place=SERVERS)
    def a_server_asks(self, place: int) -> None:
        try:
            self.servers[place].leadership.step()
        except StateError:
            assert not self.servers[place].store.is_reached

    @rule(place=SERVERS, other=SERVERS, before=TIMES, after=TIMES)
    def a_server_is_stopped_while_it_asks(
        self, place: int, other: int, before: int, after: int
    ) -> None:
        """Others go on meanwhile; when it wakes, it does first what it was about to do."""

        def pause(milliseconds: int) -> None:
            self.time += milliseconds
            if other != place:
                self.a_server_asks(other)
                self.a_server_writes(other)
            self.two_do_not_lead()

        self.servers[place].store.before = lambda: pause(before)
        self.servers[place].store.after = lambda: pause(after)
        self.a_server_asks(place)

    @rule(place=SERVERS, is_reached=st.booleans())
    def the_network(self, place: int, is_reached: bool) -> None:
        self.servers[place].store.is_reached = is_reached

    @rule(place=SERVERS, speed=st.sampled_from([0.8, 1.0, 1.2]))
    def a_server_dies_and_another_starts(self, place: int, speed: float) -> None:
        self.dead.add(self.servers[place].number)
        self.servers[place].registry.close()
        self.begin(place, speed)

    @rule(place=SERVERS)
    def a_server_ends(self, place: int) -> None:
        self.servers[place].leadership.close()
        self.a_server_dies_and_another_starts(place, 1.0)

    @rule(place=SERVERS)
    def a_server_writes(self, place: int) -> None:
        """As a leader does: it enters when it has been elected."""
        server = self.servers[place]
        token = server.leadership.token()
        if token is None:
            return
        if token != server.entered:
            assert token > max(self.entered, default=0), "a leader has a greater token than all"
            server.registry.enter(token)
            server.entered = token
            self.entered.append(token)
        server.registry.put_job(JOB)

    @precondition(lambda self: self.entered)
    @rule(place=SERVERS)
    def a_server_writes_that_does_not_know_better(self, place: int) -> None:
        """It was stopped after it had looked whether it leads."""
        server = self.servers[place]
        if server.entered == self.entered[-1]:
            server.registry.put_job(JOB)
            return
        with pytest.raises(LeadershipLostError):
            server.registry.put_job(JOB)
        if server.entered is not None:
            with pytest.raises(LeadershipLostError):
                server.registry.enter(server.entered)

    @invariant()
    def two_do_not_lead(self) -> None:
        leading = [s.number for s in self.servers.values() if s.leadership.token() is not None]
        assert len(leading) <= 1
        for server in self.servers.values():
            token = server.leadership.token()
            assert token not in server.over, "who has said that it leads no more leads no more"
            if token != server.led and server.led is not None:
                server.over.add(server.led)
            server.led = token

    def teardown(self) -> None:
        """Once all is well again, one of them leads within the time that is promised."""
        try:
            for server in self.servers.values():
                server.store.is_reached = True
            for _ in range(LIFETIME // 1_000 + 1):
                self.time += 1_000
                for place in self.servers:
                    self.a_server_asks(place)
                    self.two_do_not_lead()
            assert any(s.leadership.token() is not None for s in self.servers.values())
        finally:
            for server in self.servers.values():
                server.registry.close()
            shutil.rmtree(self.directory)


def test_two_servers_never_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leadership, "has_died", leadership.has_died)  # put back afterwards
    SqlRegistry(f"sqlite:///{tmp_path}/registry.db").close()
    monkeypatch.setattr(LeadershipProtocol, "template", tmp_path / "registry.db", raising=False)
    machine = LeadershipProtocol.TestCase
    machine.settings = settings(
        max_examples=15,
        stateful_step_count=30,
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    machine().runTest()
