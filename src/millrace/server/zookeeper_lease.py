"""A lease in ZooKeeper: the server with the oldest ephemeral node leads, for as long as its
session.

Its fencing token is the node's ``czxid``, the number of the transaction that made it: the node
of the next leader was made later.
"""

from __future__ import annotations

from typing import Any

from millrace.common.errors import ConfigurationError, StateError
from millrace.common.installation import install_command
from millrace.server.leadership import ServerIdentity
from millrace.server.lease_leadership import LeaseRow

__all__ = ["ZooKeeperLease"]

PATIENCE = 2.0
"""Seconds in which ZooKeeper must answer."""


class ZooKeeperLease:
    """The nodes of all servers below one path; each node holds the identity of its server. The
    lease lasts as long as the server's session, so ``milliseconds`` has no effect.

    Args:
        quorum: ``host:port``, several with commas between them.
        path: path of the parent of all servers' nodes.
        identity: identity of this server.
        session_timeout: timeout in milliseconds; the ensemble may choose another within its limits.

    Raises:
        ConfigurationError: kazoo is not installed, or the quorum cannot be read.
    """

    def __init__(
        self, quorum: str, path: str, identity: ServerIdentity, session_timeout: int
    ) -> None:
        try:
            from kazoo.client import KazooClient
        except ImportError:
            raise ConfigurationError(
                f"high-availability.type: zookeeper needs kazoo: {install_command('zookeeper')}"
            ) from None
        try:
            self._client: Any = KazooClient(hosts=quorum, timeout=session_timeout / 1000)
        except ValueError as error:
            raise ConfigurationError(
                f"high-availability.zookeeper.quorum: {quorum!r} cannot be read: {error}"
            ) from None
        self._path = path
        self._identity = identity
        self._own: str | None = None
        """Name of the node with which this server last became the leader."""
        self._client.start_async()

    def close(self) -> None:
        """End the session, which also ends the lease."""
        self._client.stop()
        self._client.close()

    def read(self) -> LeaseRow:
        for name in self._names():
            data, stat = self._found(self._client.get_async(f"{self._path}/{name}"))
            if stat is not None:  # else its session has ended meanwhile
                return LeaseRow(stat.czxid, ServerIdentity.decoded(data), self._is_ours(name, stat))
        return LeaseRow(0, None, True)

    def take(self, holder: ServerIdentity, milliseconds: int, dead: int | None) -> int | None:
        if dead is not None:
            self.give_back(dead)
        if not any(map(self._token_of, self._names())):
            made = self._client.create_async(
                f"{self._path}/{holder.id}-",
                holder.encoded().encode(),
                ephemeral=True,
                sequence=True,
                makepath=True,
            )
            self._answer(made)
        names = self._names()
        token = self._token_of(names[0]) if names else None
        if token is not None:
            self._own = names[0]
        return token

    def extend(self, token: int, milliseconds: int) -> bool:
        return self._own is not None and self._token_of(self._own) == token

    def give_back(self, token: int) -> None:
        for name in self._names()[:1]:
            _, stat = self._found(self._client.get_async(f"{self._path}/{name}"))
            if stat is not None and stat.czxid == token:
                self._found(self._client.delete_async(f"{self._path}/{name}"))

    def _names(self) -> list[str]:
        """The names of the servers' nodes, the oldest first."""
        children, _ = self._found(self._client.get_children_async(self._path))
        return sorted(children or (), key=lambda name: name[-10:])

    def _token_of(self, name: str) -> int | None:
        """The token of a node of this server and session; None if it belongs to another server
        or is gone."""
        if not name.startswith(f"{self._identity.id}-"):
            return None
        stat = self._answer(self._client.exists_async(f"{self._path}/{name}"))
        return stat.czxid if stat is not None and self._is_ours(name, stat) else None

    def _is_ours(self, name: str, stat: Any) -> bool:
        session = self._client.client_id
        same = session is not None and stat.ephemeralOwner == session[0]
        return same and name.startswith(f"{self._identity.id}-")

    def _found(self, request: Any) -> tuple[Any, Any]:
        """A node's data and status; None for both if the node does not exist."""
        from kazoo.exceptions import NoNodeError

        try:
            answer = self._answer(request)
        except StateError as error:
            if isinstance(error.__cause__, NoNodeError):
                return None, None
            raise
        return answer if isinstance(answer, tuple) else (answer, None)

    def _answer(self, request: Any) -> Any:
        from kazoo.exceptions import KazooException

        try:
            return request.get(timeout=PATIENCE)
        except (KazooException, self._client.handler.timeout_exception) as error:
            why = str(error) or type(error).__name__
            raise StateError(f"ZooKeeper cannot be used: {why}") from error
