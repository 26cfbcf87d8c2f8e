"""`Remote`: the Spark Connect server that PySpark is configured to use. This module does not import
PySpark.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from millrace.common.config.shown_settings import shown_value
from millrace.common.errors import ConfigurationError

__all__ = ["SETTING", "VARIABLE", "Remote", "remote_in"]

SETTING = "spark.remote"
VARIABLE = "SPARK_REMOTE"
_DEFAULT_PORT = 15002
_SCHEME = "sc://"
_PATIENCE = 5.0
"""Seconds in which the server must accept a connection."""


@dataclass(frozen=True, slots=True)
class Remote:
    """Address of a Spark Connect server.

    Example:
        >>> remote = Remote("sc://spark.example.com/;token=secret")
        >>> remote
        sc://spark.example.com:15002
    """

    url: str
    """The address as PySpark takes it, which may contain a token."""

    def __repr__(self) -> str:
        return f"{_SCHEME}{self.host}:{self.port}"

    @property
    def host(self) -> str:
        """Name or address of the server's machine."""
        return urlsplit(self.url).hostname or "localhost"

    @property
    def port(self) -> int:
        """Port of the server."""
        return urlsplit(self.url).port or _DEFAULT_PORT

    def own_address(self) -> str:
        """Address of this machine in the server's network.

        Raises:
            OSError: the server accepts no connection.
        """
        with socket.create_connection((self.host, self.port), _PATIENCE) as link:
            return str(link.getsockname()[0])


def remote_in(
    settings: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> Remote | None:
    """The Spark Connect server that settings or the environment name. None if they name none. A
    Spark master in the settings has precedence over the environment.

    Raises:
        ConfigurationError: the address is not one of a Spark Connect server.

    Example:
        >>> remote_in({}, {"SPARK_REMOTE": "sc://spark.example.com:15002"})
        sc://spark.example.com:15002
        >>> remote_in({"spark.master": "local[2]"}, {"SPARK_REMOTE": "sc://spark.example.com"})
    """
    url, origin = settings.get(SETTING), SETTING
    if url is None and "spark.master" not in settings:
        url, origin = environment.get(VARIABLE), f"the environment variable {VARIABLE}"
    if not url:
        return None
    if not url.startswith(_SCHEME):
        shown = shown_value(url.partition(";")[0])
        raise ConfigurationError(
            f"{origin} is {shown!r}, which is not the address of a Spark Connect server, such as "
            f"{_SCHEME}host:{_DEFAULT_PORT}. For Spark on this machine, or on a cluster that this "
            "process can join, leave it out and set --master or spark.master"
        )
    remote = Remote(url)
    try:
        _ = remote.port
    except ValueError as error:
        raise ConfigurationError(f"{origin} is no address: {error}") from error
    return remote
