"""Work of a server that begins when the server becomes the leader, and ends with its leadership."""

from __future__ import annotations

import logging
from functools import partial
from threading import Event, Thread

from millrace.common.errors import StateError
from millrace.server.job_server import JobServer
from millrace.server.leadership import Leadership
from millrace.server.sql_registry import SqlRegistry

__all__ = ["TermOfOffice"]

log = logging.getLogger(__name__)

PERIOD = 0.1
"""Seconds between two checks of the leadership."""


class TermOfOffice:
    """Runs a server's duties while it leads.

    When it leads no more, processes of jobs go on only where the new leader can adopt them: on this
    machine. All others end: at once when another one leads, and as soon as it cannot be told any
    more whether another one does.
    """

    def __init__(self, leadership: Leadership, registry: SqlRegistry, server: JobServer) -> None:
        self._leadership = leadership
        self._registry = registry
        self._server = server
        self._token: int | None = None
        self._left = False
        """Whether this server has lost the leadership, and processes of its jobs may still run."""
        self._closed = Event()
        self._thread = Thread(target=self._run, name="millrace-term", daemon=True)

    def start(self) -> None:
        """Stand for election.

        Raises:
            StateError: this server certainly cannot lead.
        """
        self._leadership.start()
        self.step()
        self._thread.start()

    def close(self) -> None:
        """Stop the duties and let another server lead; the processes keep running."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()
        self._server.stand_by()
        self._registry.leave()
        self._leadership.close()

    def step(self) -> None:
        """Check whether this server leads, and start or stop its duties accordingly."""
        token = self._leadership.token()
        if self._token is not None and token != self._token:
            log.warning("this server no longer leads")
            self._server.stand_by()
            self._registry.leave()
            self._token, self._left = None, True
        if token is not None and self._token is None:
            self._begin(token)
        elif self._left:
            self._end_what_is_nobodys()

    def _begin(self, token: int) -> None:
        self._registry.enter(token)
        self._token, self._left = token, False
        self._server.lead(token, partial(self._still_leads, token))

    def _still_leads(self, token: int) -> bool:
        return self._leadership.token() == token

    def _end_what_is_nobodys(self) -> None:
        try:
            leader = self._leadership.is_left_to()
        except StateError as error:
            log.warning("it is unknown whether another server leads: %s", error)
        else:
            if leader is None:
                return  # it can be told when that changes
            self._left = False
            if leader.is_on_this_machine:
                return
        self._left = False
        self._server.end_processes()

    def _run(self) -> None:
        while not self._closed.wait(PERIOD):
            try:
                self.step()
            except Exception:  # of the database, or another one leads already: both show next time
                log.exception("this server cannot lead now")
