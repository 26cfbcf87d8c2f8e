"""Names of topics, short or full, and the selection of topics for a source."""

from __future__ import annotations

import json
import re
import ssl
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.pulsar.client import (
    ADMIN_URL,
    CERTIFICATES,
    INSECURE,
    PulsarError,
    PulsarProperties,
    explained,
    token_of,
)

__all__ = ["TopicNames", "ask_administration", "full_name"]

_DOMAIN = re.compile(r"(persistent|non-persistent)://")
_PARTITION = re.compile(r"-partition-\d+$")
_SYSTEM = re.compile(r".*/(__[^/]*|[^/]*/__[^/]*)$")
"""Topics of the brokers' own, which no pattern means."""
_TIMEOUT_S = 30.0


def full_name(name: str) -> str:
    """A topic's name with domain, tenant and namespace.

    >>> full_name("orders")
    'persistent://public/default/orders'
    """
    if _DOMAIN.match(name):
        return name
    place = name if name.count("/") == 2 else f"public/default/{name}"
    return f"persistent://{place}"


@dataclass(frozen=True)
class TopicNames:
    """Topics by name, or by a pattern for full names."""

    names: tuple[str, ...] = ()
    pattern: str | None = None

    def partitions(self, client: Any, properties: PulsarProperties) -> list[str]:
        """Full names of the partitions that exist now.

        Raises:
            PulsarError: a topic that was named is not there, or nobody answers.
        """
        if self.pattern is not None:
            return _matching(self.pattern, properties)
        partitions: list[str] = []
        for name in self.names:
            try:
                partitions += client.get_topic_partitions(name)
            except Exception as error:  # whatever kinds the client has
                raise explained(error, name, "find the partitions of") from error
        return list(dict.fromkeys(partitions))


def _matching(pattern: str, properties: PulsarProperties) -> list[str]:
    full = full_name(pattern)
    domain, _, rest = full.partition("://")
    tenant, namespace, _ = rest.split("/", 2)
    listed: Sequence[str] = ask_administration(properties, f"{domain}/{tenant}/{namespace}")
    wanted = re.compile(full)
    return sorted(
        name
        for name in listed
        if wanted.fullmatch(_PARTITION.sub("", name)) and not _SYSTEM.match(name)
    )


def ask_administration(properties: PulsarProperties, path: str) -> Any:
    """Send a GET request to the brokers' admin interface and return the response.

    Args:
        path: path below ``/admin/v2/``.

    Raises:
        PulsarError: it refuses, or does not answer.
    """
    url = f"{properties.values[ADMIN_URL].rstrip('/')}/admin/v2/{path}"
    token = token_of(properties)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        request = urllib.request.Request(url, headers=headers)
        tls = _tls(properties) if url.startswith("https:") else None
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=tls) as answer:
            return json.load(answer)
    except (OSError, ValueError) as error:
        raise PulsarError(
            f"the administration of Pulsar at {url} does not answer: {error}; "
            "set_admin_url() has the form http://HOST:8080"
        ) from error


def _tls(properties: PulsarProperties) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=properties.values.get(CERTIFICATES))
    if properties.true(INSECURE):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
