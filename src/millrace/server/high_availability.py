"""Leader election of a server, put together from its configuration."""

from __future__ import annotations

import uuid
from pathlib import Path

from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError
from millrace.server import high_availability_options as options
from millrace.server.leadership import Leadership, ServerIdentity
from millrace.server.lease_leadership import LeaseLeadership
from millrace.server.lock_leadership import LockLeadership, SoleLeadership
from millrace.server.sql_lease import SqlLease
from millrace.server.sql_registry import SqlRegistry
from millrace.server.zookeeper_lease import ZooKeeperLease

__all__ = ["create_leadership"]


def create_leadership(
    configuration: Configuration, registry: SqlRegistry, address: str
) -> Leadership:
    """The server's leader election, created from its configuration.

    Args:
        configuration: the options ``high-availability.*`` of it.
        address: the URL under which the other servers' users reach this one.

    Raises:
        ConfigurationError: the options do not go together, or with the registry.
    """
    kind = configuration.get(options.HA_TYPE)
    identity = ServerIdentity.of_this_process(uuid.uuid4().hex, address)
    url = registry.engine.url
    if kind == "zookeeper":
        return _by_zookeeper(configuration, identity)
    if kind == "postgresql":
        if url.get_backend_name() != "postgresql":
            raise ConfigurationError(
                "high-availability.type: postgresql needs a registry in PostgreSQL; for servers of "
                "one machine with a registry in SQLite there is high-availability.type: file"
            )
        lifetime = configuration.get(options.POSTGRESQL_LEASE_DURATION).to_millis()
        period = configuration.get(options.POSTGRESQL_RETRY_PERIOD).to_millis()
        _require_time_to_renew(options.POSTGRESQL_LEASE_DURATION.key, lifetime, period)
        return LeaseLeadership(SqlLease(registry.engine), identity, lifetime, period)
    if kind == "file":
        if url.get_backend_name() != "sqlite" or url.database is None:
            raise ConfigurationError(
                "high-availability.type: file needs a registry in SQLite; for one in PostgreSQL "
                "there is high-availability.type: postgresql"
            )
        path = Path(f"{url.database}.lock")
        return LockLeadership(path, identity, registry.last_token)
    return SoleLeadership(registry, identity)


def _by_zookeeper(configuration: Configuration, identity: ServerIdentity) -> Leadership:
    quorum = configuration.get(options.ZOOKEEPER_QUORUM)
    if quorum is None:
        raise ConfigurationError(
            "high-availability.type: zookeeper needs high-availability.zookeeper.quorum, "
            "as host:port,host:port"
        )
    lifetime = configuration.get(options.ZOOKEEPER_SESSION_TIMEOUT).to_millis()
    root = configuration.get(options.ZOOKEEPER_ROOT).strip("/")
    cluster = configuration.get(options.HA_CLUSTER_ID).strip("/")
    store = ZooKeeperLease(quorum, f"/{root}/{cluster}/leader", identity, lifetime)
    return LeaseLeadership(store, identity, lifetime, min(1_000, lifetime // 6))


def _require_time_to_renew(key: str, lifetime: int, period: int) -> None:
    if period * 3 > lifetime:
        raise ConfigurationError(
            f"{key}: {lifetime} ms leaves too little time to renew it every {period} ms; "
            f"make it at least {period * 3} ms, or the retry-period shorter"
        )
