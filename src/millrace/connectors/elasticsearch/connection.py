"""Connection settings of a cluster: hosts, credentials, timeouts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from millrace.common.errors import JobDefinitionError

__all__ = ["Connection", "require_hosts"]

_HTTP_PORT = 9200


@dataclass(frozen=True)
class Connection:
    """Address of the cluster and the user who writes. Secrets are not in the `repr`."""

    hosts: tuple[str, ...]
    """URLs without a path."""
    path_prefix: str = ""
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    api_key: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ca_certificates: str | None = None
    connect_timeout_ms: int = 10_000
    socket_timeout_ms: int = 30_000

    @property
    def identity(self) -> str:
        """Description of the user that the job authenticates as."""
        if self.api_key is not None:
            return "the API key"
        if self.token is not None:
            return "the token"
        return "requests without credentials" if self.username is None else f"'{self.username}'"


def require_hosts(hosts: Any) -> tuple[str, ...]:
    """URLs of nodes, with ``http://`` added if the scheme is missing.

    Raises:
        JobDefinitionError: there are none, or one is no address.
    """
    given = [hosts] if isinstance(hosts, str) else hosts
    if not isinstance(given, (list, tuple)) or not given:
        raise JobDefinitionError(f"set_hosts() takes 'http://host:9200' or a list, not {hosts!r}")
    return tuple(_host(one) for one in given)


def _host(host: Any) -> str:
    if not isinstance(host, str):
        raise JobDefinitionError(
            f"set_hosts() takes texts such as 'http://host:9200', not {host!r}"
        )
    if "@" in host:  # do not repeat it: it has a password
        raise JobDefinitionError(
            "set_hosts() takes addresses without user and password: use set_connection_username() "
            "and set_connection_password()"
        )
    try:
        parts = urlsplit(host if "://" in host else f"http://{host}")
        port = parts.port or _HTTP_PORT
    except ValueError as error:
        raise JobDefinitionError(f"{host!r} is not the address of a host: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise JobDefinitionError(
            f"set_hosts() takes 'http://host:9200' or 'https://...', not {host!r}"
        )
    if parts.path not in ("", "/"):
        raise JobDefinitionError(
            f"{host!r} has a path: a prefix of all paths is set_connection_path_prefix()"
        )
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{name}:{port}"
