"""Connection settings of a RabbitMQ server. Flink docs: "RabbitMQ Connector"."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from millrace.common.errors import JobDefinitionError
from millrace.common.installation import missing_package
from millrace.connectors.errors import ConnectorError

__all__ = ["RMQConnectionConfig", "RabbitMQError", "import_pika"]


class RabbitMQError(ConnectorError):
    """RabbitMQ is not reachable, readable or writable."""


def import_pika() -> Any:
    """Import the module pika.

    Raises:
        RabbitMQError: it is not installed.
    """
    try:
        import pika
    except ImportError as error:
        raise RabbitMQError(
            missing_package("the RabbitMQ connector needs", "pika", "rabbitmq", on_workers=True)
        ) from error
    log = logging.getLogger("pika")
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL)  # it writes pages for what comes as an error, too
    return pika


@dataclass(frozen=True)
class _Settings:
    uri: str | None = None
    host: str | None = None
    port: int = 5672
    virtual_host: str = "/"
    user_name: str = "guest"
    password: str = "guest"
    prefetch_count: int = 10_000
    heartbeat: int | None = None
    frame_max: int | None = None
    channel_max: int | None = None
    connection_timeout: int | None = None
    network_recovery_interval: int | None = None
    automatic_recovery: bool = True
    topology_recovery: bool = True


class RMQConnectionConfig:
    """Server, virtual host, user and limits; made by `RMQConnectionConfig.Builder`.

    Example:
        >>> config = RMQConnectionConfig.Builder().set_host("localhost").build()
        >>> config
        RMQConnectionConfig(localhost:5672)
    """

    def __init__(self, settings: _Settings) -> None:
        self._settings = settings

    def __repr__(self) -> str:
        return f"RMQConnectionConfig({self.place})"

    @property
    def place(self) -> str:
        """Host and port of the server, without user and password."""
        settings = self._settings
        if settings.uri is None:
            return f"{settings.host}:{settings.port}"
        return urlsplit(settings.uri).netloc.rpartition("@")[2]

    @property
    def prefetch_count(self) -> int:
        """Maximum number of unacknowledged messages of a consumer."""
        return self._settings.prefetch_count

    def parameters(self) -> Any:
        """Pika's connection parameters."""
        pika, settings = import_pika(), self._settings
        if settings.uri is not None:
            parameters = pika.URLParameters(settings.uri)
        else:
            credentials = pika.PlainCredentials(settings.user_name, settings.password)
            parameters = pika.ConnectionParameters(
                settings.host, settings.port, settings.virtual_host, credentials
            )
        for name in ("heartbeat", "frame_max", "channel_max"):
            if (value := getattr(settings, name)) is not None:
                setattr(parameters, name, value)
        if settings.connection_timeout is not None:
            parameters.socket_timeout = parameters.stack_timeout = (
                settings.connection_timeout / 1000
            )
        return parameters

    def get_uri(self) -> str | None:
        """The URI; None if it was not set."""
        return self._settings.uri

    def get_host(self) -> str | None:
        """The server's host."""
        return self._settings.host

    def get_port(self) -> int:
        """The server's port."""
        return self._settings.port

    def get_virtual_host(self) -> str:
        """The virtual host."""
        return self._settings.virtual_host

    def get_user_name(self) -> str:
        """Name of the user."""
        return self._settings.user_name

    def get_password(self) -> str:
        """The user's password."""
        return self._settings.password

    def get_connection_timeout(self) -> int | None:
        """Connection timeout in milliseconds; None means the client's default."""
        return self._settings.connection_timeout

    def get_requested_heartbeat(self) -> int | None:
        """Requested heartbeat in seconds; None means the server's default."""
        return self._settings.heartbeat

    def get_requested_frame_max(self) -> int | None:
        """Maximum frame size in bytes; None means the client's default."""
        return self._settings.frame_max

    def get_requested_channel_max(self) -> int | None:
        """Maximum number of channels; None means the client's default."""
        return self._settings.channel_max

    def get_network_recovery_interval(self) -> int | None:
        """Recovery interval in milliseconds; kept for Flink programs."""
        return self._settings.network_recovery_interval

    def is_automatic_recovery(self) -> bool:
        """Kept for Flink programs: a job recovers by its restart strategy."""
        return self._settings.automatic_recovery

    def is_topology_recovery(self) -> bool:
        """Kept for Flink programs: a job recovers by its restart strategy."""
        return self._settings.topology_recovery

    class Builder:
        """Collects the settings; names as in PyFlink."""

        def __init__(self) -> None:
            self._settings = _Settings()

        def set_uri(self, uri: str) -> RMQConnectionConfig.Builder:
            """Set the URI instead of the separate settings:
            ``amqp://user:password@host:port/virtual-host``, or ``amqps://`` with TLS."""
            if not isinstance(uri, str) or not _is_address(uri):
                raise JobDefinitionError(  # without it: it may have a password anywhere
                    "the URI of a RabbitMQ server is amqp://user:...@host/vhost; in user and "
                    "password characters such as #, / and ? are written as %23, %2F and %3F"
                )
            return self._with(uri=uri)

        def set_host(self, host: str) -> RMQConnectionConfig.Builder:
            """Set the server's name or address."""
            return self._with(host=host)

        def set_port(self, port: int) -> RMQConnectionConfig.Builder:
            """Set the server's port, by default 5672."""
            return self._with(port=port)

        def set_virtual_host(self, vhost: str) -> RMQConnectionConfig.Builder:
            """Set the virtual host, by default ``/``."""
            return self._with(virtual_host=vhost)

        def set_user_name(self, user_name: str) -> RMQConnectionConfig.Builder:
            """Set the user, by default ``guest``."""
            return self._with(user_name=user_name)

        def set_password(self, password: str) -> RMQConnectionConfig.Builder:
            """Set the password, by default ``guest``."""
            return self._with(password=password)

        def set_prefetch_count(self, prefetch_count: int) -> RMQConnectionConfig.Builder:
            """Set the maximum number of unacknowledged messages of a consumer, by default
            10,000; it limits the messages read between two checkpoints."""
            if not isinstance(prefetch_count, int) or not 0 < prefetch_count < 65_536:
                raise JobDefinitionError(
                    f"the prefetch count must be a number from 1 to 65535, not {prefetch_count!r}"
                )
            return self._with(prefetch_count=prefetch_count)

        def set_connection_timeout(self, connection_timeout: int) -> RMQConnectionConfig.Builder:
            """Set the connection timeout in milliseconds."""
            return self._with(connection_timeout=connection_timeout)

        def set_requested_heartbeat(self, requested_heartbeat: int) -> RMQConnectionConfig.Builder:
            """Set the requested heartbeat in seconds."""
            return self._with(heartbeat=requested_heartbeat)

        def set_requested_frame_max(self, requested_frame_max: int) -> RMQConnectionConfig.Builder:
            """Set the maximum frame size in bytes."""
            return self._with(frame_max=requested_frame_max)

        def set_requested_channel_max(
            self, requested_channel_max: int
        ) -> RMQConnectionConfig.Builder:
            """Set the maximum number of channels."""
            return self._with(channel_max=requested_channel_max)

        def set_network_recovery_interval(
            self, network_recovery_interval: int
        ) -> RMQConnectionConfig.Builder:
            """Accepted for Flink programs, without effect: the restart strategy sets the time of
            retries."""
            return self._with(network_recovery_interval=network_recovery_interval)

        def set_automatic_recovery(self, automatic_recovery: bool) -> RMQConnectionConfig.Builder:
            """Accepted for Flink programs, without effect: a job recovers by its restart
            strategy."""
            return self._with(automatic_recovery=automatic_recovery)

        def set_topology_recovery_enabled(
            self, topology_recovery_enabled: bool
        ) -> RMQConnectionConfig.Builder:
            """Accepted for Flink programs, without effect: a job recovers by its restart
            strategy."""
            return self._with(topology_recovery=topology_recovery_enabled)

        def build(self) -> RMQConnectionConfig:
            """The configuration with all settings made so far.

            Raises:
                JobDefinitionError: there is neither URI nor host.
            """
            if self._settings.uri is None and not self._settings.host:
                raise JobDefinitionError("an RMQConnectionConfig needs set_uri() or set_host()")
            return RMQConnectionConfig(self._settings)

        def _with(self, **changes: Any) -> RMQConnectionConfig.Builder:
            self._settings = replace(self._settings, **changes)
            return self


def _is_address(uri: str) -> bool:
    """Whether the URI clearly separates the host from user and password: an unquoted ``#`` in
    these would cut the host off."""
    try:
        parts = urlsplit(uri)
        fits = parts.scheme in ("amqp", "amqps") and parts.port != 0
    except ValueError:
        return False
    return fits and uri.count("@") == parts.netloc.count("@")
