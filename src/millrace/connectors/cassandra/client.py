"""Connections to a Cassandra cluster, with errors that name the server and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from millrace.common.installation import missing_package
from millrace.connectors.errors import ConnectorError

__all__ = [
    "CassandraConnection",
    "CassandraError",
    "CassandraUnavailableError",
    "connect",
    "import_cassandra",
    "is_passing",
]

_RECONNECT_S = 1.0
_PROTOCOL = 4
"""The first with values that are not set; from Cassandra 2.2 to 5 all speak it."""


class CassandraError(ConnectorError):
    """A write to Cassandra is not possible."""


class CassandraUnavailableError(CassandraError):
    """No node accepts writes now, or too few replicas do; a retry may succeed."""


@dataclass(frozen=True)
class CassandraConnection:
    """Address of the cluster and the user who writes. The password is not in the `repr`."""

    hosts: tuple[str, ...] = ()
    port: int = 9042
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    local_datacenter: str | None = None
    request_timeout_ms: int = 10_000
    cluster: Callable[[], Any] | None = field(default=None, repr=False)
    """Makes a ``Cluster`` of the driver instead."""

    def __str__(self) -> str:
        return f"Cassandra at {', '.join(self.hosts)}:{self.port}" if self.hosts else "Cassandra"


def import_cassandra() -> Any:
    """Import the module cassandra.

    Raises:
        CassandraError: it is not installed.
    """
    try:
        import cassandra
        import cassandra.cluster
    except ImportError as error:
        raise CassandraError(
            missing_package(
                "the Cassandra connector needs", "cassandra-driver", "cassandra", on_workers=True
            )
        ) from error
    return cassandra


def connect(connection: CassandraConnection) -> Any:
    """A session, which reconnects by itself when nodes come back.

    Raises:
        CassandraUnavailableError: no node answers.
        CassandraError: the nodes refuse user or password.
    """
    cassandra = import_cassandra()
    try:
        cluster = (connection.cluster or (lambda: _cluster(connection)))()
    except cassandra.UnresolvableContactPoints:
        raise CassandraError(
            f"the name of a host of {connection} cannot be resolved: is it right, and known on "
            "every worker? See set_host()"
        ) from None
    try:
        return cluster.connect()
    except cassandra.cluster.NoHostAvailable as error:
        cluster.shutdown()
        refused = [
            one for one in error.errors.values() if isinstance(one, cassandra.AuthenticationFailed)
        ]
        if refused:
            raise CassandraError(
                f"{connection} refuses the user or the password: see set_credentials()"
            ) from None
        raise CassandraUnavailableError(
            f"{connection} does not answer: {_reasons(error)}; is it running, and reachable from "
            "every worker?"
        ) from error


def _cluster(connection: CassandraConnection) -> Any:
    from cassandra.auth import PlainTextAuthProvider
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
    from cassandra.policies import (
        ConstantReconnectionPolicy,
        DCAwareRoundRobinPolicy,
        TokenAwarePolicy,
    )

    credentials = None
    if connection.username is not None:
        credentials = PlainTextAuthProvider(connection.username, connection.password)
    near = DCAwareRoundRobinPolicy(connection.local_datacenter or "")
    profile = ExecutionProfile(
        TokenAwarePolicy(near), request_timeout=connection.request_timeout_ms / 1000
    )
    return Cluster(
        list(connection.hosts),
        port=connection.port,
        protocol_version=_PROTOCOL,
        auth_provider=credentials,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        reconnection_policy=ConstantReconnectionPolicy(_RECONNECT_S, None),
        application_name="millrace",
    )


def is_passing(error: Any) -> bool:
    """Whether an error is temporary, so that a repeated request may succeed."""
    cassandra = import_cassandra()
    from cassandra.connection import ConnectionException
    from cassandra.protocol import IsBootstrappingErrorMessage, OverloadedErrorMessage

    return isinstance(
        error,
        (
            cassandra.OperationTimedOut,
            cassandra.Unavailable,
            cassandra.Timeout,
            cassandra.WriteFailure,
            cassandra.cluster.NoHostAvailable,
            ConnectionException,
            IsBootstrappingErrorMessage,
            OverloadedErrorMessage,
        ),
    )


def _reasons(error: Any) -> str:
    return "; ".join(sorted({str(one) for one in error.errors.values()})) or str(error.args[0])
