"""Components of a ``module.yaml``: endpoints of functions, ingresses and egresses."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Container
from dataclasses import dataclass, field
from itertools import repeat
from typing import TypeAlias
from urllib.parse import quote, unquote, urlsplit

from millrace.common.errors import JobDefinitionError
from millrace.statefun.address import FunctionType, split_typename

__all__ = [
    "AwsCredentials",
    "AwsRegion",
    "Component",
    "HttpEndpoint",
    "KafkaEgress",
    "KafkaIngress",
    "KinesisEgress",
    "KinesisIngress",
    "Module",
    "PlaygroundEgress",
    "PlaygroundIngress",
    "Routed",
    "StartupPosition",
    "Transport",
]

ANY_NAME = "*"
UNIX_SCHEMES = ("http+unix", "https+unix")
FUNCTION_NAME = "{function.name}"
"""Place in a URL template that stands for the function's name."""
Properties: TypeAlias = tuple[tuple[str, str], ...]
_MOST = 1 << 53
_LEAST = {
    "call_ms": 1,
    "connect_ms": 1,
    "read_ms": 1,
    "write_ms": 1,
    "pool_ttl_ms": 0,
    "pool_size": 1,
    "payload_max_bytes": 1,
}
"""Least values of a transport's limits."""


@dataclass(frozen=True)
class Transport:
    """Calls of an endpoint: time limits in milliseconds, connections, certificates.

    Attributes:
        retries_all: whether every failed attempt is repeated, as the asynchronous transport does.
            If not, the answer decides, as with OkHttp.
        call_ms: budget of a call with all its attempts.
        connect_ms: limit of a connection attempt.
        read_ms, write_ms: limits of one read or write; None if only the budget limits them.
        pool_ttl_ms: time for which an idle connection is kept; 0: connections are not kept.
        pool_size: most connections to the endpoint.
        payload_max_bytes: most bytes of a request or reply.
        trust_cacerts, client_cert, client_key, client_key_password: paths of PEM files.

    Raises:
        JobDefinitionError: a limit is out of its range, or one of certificate and key is missing.
    """

    retries_all: bool = True
    call_ms: int = 120_000
    connect_ms: int = 20_000
    read_ms: int | None = None
    write_ms: int | None = None
    pool_ttl_ms: int = 15_000
    pool_size: int = 1024
    payload_max_bytes: int = 32 << 20
    trust_cacerts: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    client_key_password: str | None = None

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= _MOST:
                raise JobDefinitionError(
                    f"{name} of a transport is a number from {least} to {_MOST}, got {value}"
                )
        if (self.client_cert is None) != (self.client_key is None):
            raise JobDefinitionError(
                "client_cert and client_key of a transport must be set together: set both "
                "or neither"
            )

    @property
    def first_backoff_ms(self) -> int:
        """Pause after the first failed attempt. It doubles with every further one."""
        return 4 if self.retries_all else 10


@dataclass(frozen=True, repr=False)
class HttpEndpoint:
    """Endpoint of remote functions: one function, or all of a namespace.

    Attributes:
        name: name of the function, or ``*``.
        url_template: URL, in which ``{function.name}`` stands for the function's name. A user and
            password in it are sent as Basic authorization. ``http+unix:///run/f.sock/path`` is a
            path of the server that listens on a socket of the worker's host.

    Raises:
        JobDefinitionError: no URL can be made of the template, the functions have no name, or a
            request would have no message.
    """

    namespace: str
    name: str
    url_template: str
    max_num_batch_requests: int = 1000
    transport: Transport = Transport()

    def __post_init__(self) -> None:
        _check_template(self.url_template)
        split_typename(f"{self.namespace}/{self.name}")
        if not 1 <= self.max_num_batch_requests <= _MOST:
            raise JobDefinitionError(
                f"max_num_batch_requests of an endpoint is a number from 1 to {_MOST}, "
                f"got {self.max_num_batch_requests}"
            )

    def __repr__(self) -> str:
        return f"HttpEndpoint({self.namespace}/{self.name} at {self.shown_template})"

    def serves(self, function: FunctionType) -> bool:
        """Whether the endpoint serves the given function."""
        return function.namespace == self.namespace and self.name in (ANY_NAME, function.name)

    @property
    def shown_template(self) -> str:
        """The template without user and password."""
        parts = urlsplit(self.url_template)
        if "@" not in parts.netloc:
            return self.url_template
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    @property
    def authorization(self) -> str | None:
        """Value of the header ``Authorization``; None if the template has no user."""
        parts = urlsplit(self.url_template)
        if parts.username is None:
            return None
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return f"Basic {b64encode(pair.encode()).decode()}"

    def url(self, function: FunctionType) -> str:
        """URL of a function, without user and password. The function's name is escaped, so that
        it stays one segment of the URL: senders choose the names."""
        return self.shown_template.replace(FUNCTION_NAME, quote(function.name, safe=""))

    def can_name(self, function: FunctionType) -> bool:
        """Whether a URL can contain the function's name. Servers and proxies resolve ``.`` and
        ``..`` to another path, even if they are percent-encoded.
        """
        segments = urlsplit(self.shown_template).path.split("/")
        named = (s.replace(FUNCTION_NAME, function.name) for s in segments if FUNCTION_NAME in s)
        return not any(segment in (".", "..") for segment in named)


def _check_template(text: str) -> None:
    """Check that URLs can be made of a template. Messages do not show it: it may have a password.

    Raises:
        JobDefinitionError: none can.
    """
    try:
        url = urlsplit(text.replace(FUNCTION_NAME, "name"))
        host, _ = url.hostname, url.port
        if host is not None:
            host.encode("idna")
    except ValueError:  # a UnicodeError is one
        raise JobDefinitionError(
            "the URL of the endpoint is malformed: check its host and port, and write special "
            "characters of a password percent-encoded"
        ) from None
    if url.scheme in UNIX_SCHEMES:
        # a sender's choice of a name must not choose the socket
        socket, _ = socket_and_path(urlsplit(text).path)
        if url.netloc or not socket or FUNCTION_NAME in socket:
            raise JobDefinitionError(
                "the URL of a socket has no host, and a file without placeholders that ends with "
                ".sock: write http+unix:///run/functions.sock/{function.name}"
            )
    elif url.scheme not in ("http", "https") or not host:
        raise JobDefinitionError(f"the endpoint has no http or https URL: {_without_user(text)!r}")
    if not text.isascii() or any(c.isspace() or not c.isprintable() for c in text):
        raise JobDefinitionError(
            "the URL of the endpoint has spaces or characters beyond ASCII: write them "
            "percent-encoded, and a host in Punycode"
        )
    if "{" in (rest := url.netloc + url.path + url.query) or "}" in rest:
        raise JobDefinitionError(
            f"{_without_user(text)!r} is not a valid URL: the only possible placeholder is "
            f"{FUNCTION_NAME}"
        )


def socket_and_path(path: str) -> tuple[str, str]:
    """Path of a socket file and the path for its server, from the path of a URL. The socket file
    ends with the first segment that ends with ``.sock``; it is empty if there is none.
    """
    segments = path.split("/")
    for end, segment in enumerate(segments, 1):
        if segment.endswith(".sock"):
            return "/".join(segments[:end]), "".join(f"/{below}" for below in segments[end:])
    return "", path


def _without_user(text: str) -> str:
    return text.rpartition("@")[2]


@dataclass(frozen=True)
class Routed:
    """Topic or stream of an ingress, with the functions that get each of its records.

    Attributes:
        value_type: type name of the records' bytes.
        places: file, document and line of each target, for messages.
    """

    topic: str
    value_type: str
    targets: tuple[FunctionType, ...]
    places: tuple[str, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class StartupPosition:
    """Position at which an ingress begins to read.

    Attributes:
        type: ``group-offsets``, ``earliest``, ``latest``, ``specific-offsets`` or ``date``.
        offsets: topic, partition and offset for ``specific-offsets``.
        epoch_ms: time for ``date``, in ms since 1970.
    """

    type: str
    offsets: tuple[tuple[str, int, int], ...] = ()
    epoch_ms: int | None = None


@dataclass(frozen=True)
class KafkaIngress:
    """Topics of Kafka whose records become messages."""

    id: FunctionType
    address: str
    topics: tuple[Routed, ...]
    consumer_group_id: str | None = None
    startup_position: StartupPosition = StartupPosition("group-offsets")
    auto_offset_reset_position: str = "latest"
    properties: Properties = ()

    @property
    def routed(self) -> tuple[Routed, ...]:
        """The topics that the ingress reads, with the functions that get their records."""
        return self.topics


@dataclass(frozen=True)
class KafkaEgress:
    """Records that functions write to Kafka.

    Attributes:
        semantic: ``none``, ``at-least-once`` or ``exactly-once``.
    """

    id: FunctionType
    address: str
    semantic: str = "at-least-once"
    transaction_timeout_ms: int | None = None
    properties: Properties = ()


@dataclass(frozen=True)
class AwsRegion:
    """Region of AWS: the default region, or a given one, to which an endpoint may be added."""

    type: str = "default"
    id: str | None = None
    endpoint: str | None = None


@dataclass(frozen=True, repr=False)
class AwsCredentials:
    """Credentials for AWS: the default ones, a pair of keys, or a profile."""

    type: str = "default"
    access_key_id: str | None = None
    secret_access_key: str | None = None
    profile_name: str | None = None
    profile_path: str | None = None

    def __repr__(self) -> str:
        return f"AwsCredentials({self.type!r})"


@dataclass(frozen=True)
class KinesisIngress:
    """Streams of Kinesis whose records become messages."""

    id: FunctionType
    streams: tuple[Routed, ...]
    region: AwsRegion = AwsRegion()
    credentials: AwsCredentials = AwsCredentials()
    startup_position: StartupPosition = StartupPosition("latest")
    properties: Properties = ()

    @property
    def routed(self) -> tuple[Routed, ...]:
        """The streams that the ingress reads, with the functions that get their records."""
        return self.streams


@dataclass(frozen=True)
class KinesisEgress:
    """Records that functions write to Kinesis."""

    id: FunctionType
    region: AwsRegion = AwsRegion()
    credentials: AwsCredentials = AwsCredentials()
    max_outstanding_records: int = 1000
    properties: Properties = ()


@dataclass(frozen=True)
class PlaygroundIngress:
    """HTTP port to which ``PUT /<namespace>/<function type>/<id>`` sends a message."""

    port: int


@dataclass(frozen=True)
class PlaygroundEgress:
    """HTTP port on which ``GET /<topic>`` takes the next message of a topic."""

    port: int
    topics: tuple[str, ...]

    @property
    def id(self) -> FunctionType:
        """Type by which functions name this egress."""
        return FunctionType("io.statefun.playground", "egress")


Component: TypeAlias = (
    HttpEndpoint
    | KafkaIngress
    | KafkaEgress
    | KinesisIngress
    | KinesisEgress
    | PlaygroundIngress
    | PlaygroundEgress
)


@dataclass(frozen=True)
class Module:
    """All components of an application."""

    components: tuple[Component, ...]

    @property
    def endpoints(self) -> tuple[HttpEndpoint, ...]:
        """Endpoints of functions."""
        return tuple(c for c in self.components if isinstance(c, HttpEndpoint))

    def endpoint(self, function: FunctionType) -> HttpEndpoint | None:
        """Endpoint of a function. An endpoint for the function's name takes precedence over one
        for its namespace."""
        serving = [endpoint for endpoint in self.endpoints if endpoint.serves(function)]
        return min(serving, key=lambda endpoint: endpoint.name == ANY_NAME, default=None)

    def unserved_targets(self, embedded: Container[FunctionType] = ()) -> list[str]:
        """Warnings about targets of ingresses that no endpoint serves. The first message to such a
        target would fail the job.

        Args:
            embedded: functions that run in the workers.
        """
        return [
            f"{place}: the ingress {ingress.id} sends to {target}, which no endpoint serves"
            for ingress in self.components
            if isinstance(ingress, KafkaIngress | KinesisIngress)
            for routed in ingress.routed
            for target, place in zip(
                routed.targets, routed.places or repeat("the module"), strict=False
            )
            if target not in embedded and self.endpoint(target) is None
        ]
