"""`Endpoint`: the address at which workers of a Spark Connect server reach a job's driver."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from dataclasses import dataclass

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobExecutionError
from millrace.runtime.resident.connection import listening, tcp_address
from millrace.spark.connect.remote import Remote

__all__ = ["Endpoint", "endpoint_of"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address of the driver.

    Args:
        host: address that workers use.
        bind: address of this machine at which the driver listens.
        port: port at which it listens; 0 for any.
    """

    host: str
    bind: str
    port: int = 0

    def listen(self) -> tuple[socket.socket, str]:
        """Create a socket that listens, and its address for workers.

        Raises:
            JobExecutionError: this machine does not have the address, or the port is taken.
        """
        try:
            server, port = listening(self.bind, self.port)
        except OSError as error:
            raise JobExecutionError(
                f"the job cannot listen for its workers at {self.bind}, port {self.port or 'any'}: "
                f"{error}. {options.JOBMANAGER_BIND_HOST.key} is an address of this machine, and "
                f"{options.JOBMANAGER_PORT.key} a free port of it"
            ) from error
        return server, tcp_address(self.host, port)

    @property
    def is_loopback(self) -> bool:
        """Whether the address can be reached only from this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def endpoint_of(configuration: Configuration, server: Remote | str) -> Endpoint:
    """The endpoint that the configuration names. By default, the address from which this process
    connects to the server.

    Args:
        server: the server, or the host of that of the program's own session, whose port is unknown.

    Raises:
        JobExecutionError: the server accepts no connection.
    """
    host = configuration.get(options.JOBMANAGER_ADDRESS)
    if host is None:
        host = _address_towards(server) if isinstance(server, str) else _own_address(server)
    bind = configuration.get(options.JOBMANAGER_BIND_HOST) or host
    return Endpoint(host, bind, configuration.get(options.JOBMANAGER_PORT))


def _own_address(remote: Remote) -> str:
    try:
        return remote.own_address()
    except OSError as error:
        raise JobExecutionError(
            f"the Spark Connect server {remote} does not answer: {error}. Start it, or name "
            "another one with --remote or SPARK_REMOTE"
        ) from error


def _address_towards(host: str) -> str:
    """Address of this machine in the network of another one, to which nothing is sent."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as link:
            link.connect((host, 9))
            return str(link.getsockname()[0])
    return "127.0.0.1"
