"""Configuration of a schema registry client: addresses, credentials and timeouts.

The keys are those of Confluent's clients, which Flink's registry configuration takes.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from millrace.common.errors import JobDefinitionError

__all__ = ["RegistryConfig"]

_USER_INFO = ("basic.auth.user.info", "schema.registry.basic.auth.user.info")
_TOKEN = ("bearer.auth.token", "schema.registry.bearer.auth.token")
_SOURCES = (
    *("basic.auth.credentials.source", "schema.registry.basic.auth.credentials.source"),
    *("bearer.auth.credentials.source", "schema.registry.bearer.auth.credentials.source"),
)
_CA = ("ssl.ca.location", "schema.registry.ssl.ca.location")
_PATIENCE = "request.patience.ms"


@dataclass(frozen=True)
class RegistryConfig:
    """Settings of a registry client. Its `repr` leaves out secrets.

    Attributes:
        urls: without user and password, to be tried in this order.
        authorizations: value of the header ``Authorization`` for each URL; empty if there is none.
        ca_location: file of trusted certificates; None for those of the system.
        patience: seconds for which a registry that does not answer is asked again.
    """

    urls: tuple[str, ...]
    authorizations: tuple[str, ...] = field(repr=False)
    ca_location: str | None = None
    patience: float = 30.0

    @staticmethod
    def create(url: str, properties: Mapping[str, str] | None = None) -> RegistryConfig:
        """The configuration.

        Args:
            url: one or more addresses, separated by commas.
            properties: ``basic.auth.user.info`` (user:password), ``bearer.auth.token``,
                ``ssl.ca.location`` (a file), ``request.patience.ms``; each but the last also behind
                ``schema.registry.``, as Flink has it.

        Raises:
            JobDefinitionError: a URL is none, or a property is unknown or contradicts another.

        Example:
            >>> RegistryConfig.create("http://ada:secret@localhost:8081")
            RegistryConfig(urls=('http://localhost:8081',), ca_location=None, patience=30.0)
        """
        given = dict(properties or {})
        known = {*_USER_INFO, *_TOKEN, *_SOURCES, *_CA, _PATIENCE}
        unknown = [key for key in given if key not in known]
        if unknown:
            raise JobDefinitionError(
                f"a schema registry has no property {unknown[0]!r}; known are "
                f"{', '.join(sorted(known))}"
            )
        urls, infos = _urls(url)
        info, token = _first(given, _USER_INFO), _first(given, _TOKEN)
        if info:
            infos = (info,) * len(urls)
        if any(infos) and token:
            raise JobDefinitionError(
                "a schema registry is asked either with basic.auth.user.info (or a user in its "
                "URL) or with bearer.auth.token, not with both"
            )
        return RegistryConfig(
            urls,
            tuple(_authorization(user_info, token) for user_info in infos),
            _first(given, _CA) or None,
            _patience(given),
        )


def _first(given: Mapping[str, str], keys: tuple[str, ...]) -> str:
    return next((given[key] for key in keys if given.get(key)), "")


def _authorization(info: str, token: str) -> str:
    if info:
        if ":" not in info:
            raise JobDefinitionError("basic.auth.user.info is user:password; the colon is missing")
        return f"Basic {b64encode(info.encode()).decode()}"
    return f"Bearer {token}" if token else ""


def _patience(given: Mapping[str, str]) -> float:
    text = given.get(_PATIENCE, "30000")
    try:
        patience = int(text) / 1000
    except ValueError:
        patience = -1.0
    if patience < 0:
        raise JobDefinitionError(f"{_PATIENCE} is a number of milliseconds, not {text!r}")
    return patience


def _urls(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Addresses without user information, and the user information of each address; empty for an
    address that has none."""
    urls, infos = [], []
    for url in filter(None, (part.strip() for part in str(text).split(","))):
        if not _is_address(url):
            raise JobDefinitionError(  # without it: it may have a password anywhere
                "the address of a schema registry begins with http:// or https://, as "
                "http://localhost:8081 does; in user and password characters such as #, / and ? "
                "are written as %23, %2F and %3F"
            )
        parts = urlsplit(url)
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        infos.append("" if parts.username is None else f"{user}:{password}")
        host = parts.netloc.rpartition("@")[2]
        urls.append(urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", "")))
    if not urls:
        raise JobDefinitionError(
            "a schema registry needs an address, such as http://localhost:8081"
        )
    return tuple(urls), tuple(infos)


def path_part(text: str) -> str:
    """A subject as a quoted part of a URL path."""
    return quote(text, safe="")


def _is_address(url: str) -> bool:
    """Whether the URL clearly separates the host from user and password. An unquoted ``#`` in
    user or password would cut the host off."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return fits and url.count("@") == parts.netloc.count("@")
