"""Leadership by a lease in a database: a row with the leader and the end of its lease.

How long it holds is told by the database's clock alone. The server that has it counts from before
it asked, by a clock of its own that nobody sets, and stops well before: clocks need only run
equally fast, to a third.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import NamedTuple, Protocol

from millrace.common.errors import StateError
from millrace.server.leadership import ServerIdentity, monotonic_ms

__all__ = ["LeaseLeadership", "LeaseRow", "LeaseStore"]

log = logging.getLogger(__name__)


class LeaseRow(NamedTuple):
    """The row of the lease in a store."""

    token: int
    holder: ServerIdentity | None
    is_over: bool
    """Whether the lease has ended by the store's clock."""


class LeaseStore(Protocol):
    """Storage of a lease. All methods raise StateError if the storage cannot be reached."""

    def read(self) -> LeaseRow:
        """The current lease."""

    def take(self, holder: ServerIdentity, milliseconds: int, dead: int | None) -> int | None:
        """Take the lease if it has ended, and return its new token; None if another server has it.

        Args:
            dead: the token of a holder that has died, whose end need not be awaited.
        """

    def extend(self, token: int, milliseconds: int) -> bool:
        """Extend the lease by a time from now; False if it has ended or another server has it."""

    def give_back(self, token: int) -> None:
        """End the lease, if its holder still has this token."""

    def close(self) -> None:
        """Release the connection."""


class LeaseLeadership:
    """Leadership for as long as the server holds the lease of a store.

    Args:
        lifetime: lifetime of the lease, in milliseconds.
        period: milliseconds between two renewals, or attempts to take it.
        clock: milliseconds since whenever.
    """

    def __init__(
        self,
        store: LeaseStore,
        identity: ServerIdentity,
        lifetime: int = 8_000,
        period: int = 1_000,
        clock: Callable[[], int] = monotonic_ms,
    ) -> None:
        self._store = store
        self._identity = identity
        self._lifetime = lifetime
        self._period = period
        self._clock = clock
        self._held: tuple[int, int] | None = None
        """Token and end of the lease that this server holds; None if it holds none."""
        self._other: ServerIdentity | None = None
        self._steps = Lock()
        self._closed = Event()
        self._thread = Thread(target=self._run, name="millrace-leadership", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(self._lifetime / 1000)
        held, self._held = self._held, None
        if held is not None:
            try:
                self._store.give_back(held[0])
            except StateError as error:
                log.warning("the lease could not be released, so it expires later: %s", error)
        self._store.close()

    def token(self) -> int | None:
        held = self._held
        return held[0] if held is not None and self._clock() < held[1] else None

    def leader(self) -> ServerIdentity | None:
        return self._identity if self.token() is not None else self._other

    def is_left_to(self) -> ServerIdentity | None:
        row = self._store.read()
        return None if row.is_over or row.holder == self._identity else row.holder

    def step(self) -> None:
        """Renew the lease, or try to get it.

        Raises:
            StateError: the store cannot be reached.
        """
        with self._steps:
            if (token := self.token()) is not None:
                self._renew(token)
            else:
                self._held = None
                self._try()

    def _renew(self, token: int) -> None:
        asked = self._clock()
        extended = self._store.extend(token, self._lifetime)
        if extended and self.token() is not None:
            self._held = (token, self._end_of(asked))
            return
        self._held = None
        log.warning("the lease with the fencing token %d was lost", token)
        if extended:  # too late: this server has said already that it leads no more
            self._store.give_back(token)

    def _try(self) -> None:
        row = self._store.read()
        dead = row.token if row.holder is not None and row.holder.has_died else None
        if row.is_over or dead is not None:
            asked = self._clock()
            token = self._store.take(self._identity, self._lifetime, dead)
            if token is not None:
                self._held = (token, self._end_of(asked))
                log.info("this server leads, with the fencing token %d", token)
                return
        self._other = None if row.is_over or row.holder == self._identity else row.holder

    def _end_of(self, asked: int) -> int:
        return asked + self._lifetime * 2 // 3

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                self.step()
            except StateError as error:
                log.warning("the leading server cannot be determined: %s", error)
                if self.token() is None:
                    self._other = None
            self._closed.wait(self._period / 1000)
