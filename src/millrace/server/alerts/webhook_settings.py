"""The settings of webhooks: ``millrace.alerts.webhook.<name>.<parameter>``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError
from millrace.common.similar_names import did_you_mean
from millrace.common.time.amounts import Duration
from millrace.server.alerts.alert import AlertKind
from millrace.server.server_options import WEBHOOK_PREFIX

__all__ = ["WebhookSettings", "webhooks_in"]

PARAMETERS = ("attempts", "kinds", "secret", "timeout", "url")


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """A receiver of alerts."""

    name: str
    url: str
    kinds: frozenset[AlertKind] = frozenset(AlertKind)
    """Kinds of alerts that it receives."""
    secret: str | None = None
    """Key of the signature; None for requests without one."""
    timeout: float = 10.0
    """Seconds in which the receiver must answer."""
    attempts: int = 8
    """Most requests for one alert."""


def webhooks_in(configuration: Configuration) -> list[WebhookSettings]:
    """The webhooks of a server, sorted by name.

    Raises:
        ConfigurationError: a parameter is unknown, missing or wrong.
    """
    names: set[str] = set()
    for key in configuration.key_set():
        if not key.startswith(WEBHOOK_PREFIX):
            continue
        name, _, parameter = key.removeprefix(WEBHOOK_PREFIX).partition(".")
        if not name:
            raise ConfigurationError(
                f"{key} has no name of a webhook, as in {WEBHOOK_PREFIX}ops.url"
            )
        if parameter not in PARAMETERS:
            hint = did_you_mean(parameter, PARAMETERS, f"there are {', '.join(PARAMETERS)}")
            raise ConfigurationError(f"unknown configuration key {key!r}{hint}")
        names.add(name)
    return [_webhook(configuration, name) for name in sorted(names)]


def _webhook(configuration: Configuration, name: str) -> WebhookSettings:
    key = ConfigOptions.key
    prefix = f"{WEBHOOK_PREFIX}{name}."
    url = configuration.get(_url(prefix))
    if url is None or not _is_address(url):
        raise ConfigurationError(f"{prefix}url must be an address such as https://host/path")
    seconds = key(f"{prefix}timeout").duration_type().default_value(Duration.of_seconds(10))
    attempts = key(f"{prefix}attempts").int_type().default_value(8).at_least(1)
    return WebhookSettings(
        name=name,
        url=url,
        kinds=frozenset(_kinds(configuration, f"{prefix}kinds")) or frozenset(AlertKind),
        secret=configuration.get_string(f"{prefix}secret"),
        timeout=configuration.get(seconds.at_least(1)).to_millis() / 1_000,
        attempts=configuration.get(attempts),
    )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # ports end at 65535
        return False


def _url(prefix: str) -> ConfigOption[Any]:
    return ConfigOptions.key(f"{prefix}url").string_type().no_default_value()


def _kinds(configuration: Configuration, key: str) -> Iterator[AlertKind]:
    """The kinds in a list.

    Raises:
        ConfigurationError: one is unknown.
    """
    listed = configuration.get(ConfigOptions.key(key).list_type().default_value([]))
    # people write commas, too, and no kind has one
    for kind in filter(None, (part.strip() for item in listed for part in item.split(","))):
        try:
            yield AlertKind(kind)
        except ValueError:
            known = ", ".join(AlertKind)
            raise ConfigurationError(f"{key} has {kind!r}, but the kinds are {known}") from None
