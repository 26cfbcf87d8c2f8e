"""Webhooks from settings."""

from __future__ import annotations

import re

import pytest

from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError
from millrace.server.alerts.alert import AlertKind
from millrace.server.alerts.webhook_settings import WebhookSettings, webhooks_in

PREFIX = "millrace.alerts.webhook."


def test_two_webhooks() -> None:
    found = webhooks_in(
        Configuration(
            {
                f"{PREFIX}ops.url": "https://ops.example/hook",
                f"{PREFIX}ops.secret": "key",
                f"{PREFIX}ops.kinds": ["job-failed", "restarts"],
                f"{PREFIX}ops.timeout": "3 s",
                f"{PREFIX}ops.attempts": "2",
                f"{PREFIX}chat.url": "http://chat.example/",
            }
        )
    )
    kinds = frozenset({AlertKind.FAILED, AlertKind.RESTARTS})
    assert found == [
        WebhookSettings("chat", "http://chat.example/"),
        WebhookSettings("ops", "https://ops.example/hook", kinds, "key", 3.0, 2),
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ops.ulr": "https://x/"}, "unknown configuration key"),
        ({"ops.ulr": "https://x/"}, "did you mean 'url'?"),
        ({"ops.secret": "key"}, "ops.url must be an address such as https://host/path"),
        ({"ops.url": "ftp://x/"}, "ops.url must be an address"),
        ({"ops.url": "http://x/", "ops.kinds": "[lag]"}, "has 'lag', but the kinds are job-failed"),
        ({".url": "http://x/"}, "has no name of a webhook"),
        ({"ops.url": "http://x:99999/"}, "ops.url must be an address"),
        ({"ops.url": "http://x/", "ops.attempts": "0"}, "at least 1"),
    ],
)
def test_what_is_wrong_is_said(settings: dict[str, str], message: str) -> None:
    values = {PREFIX + key: value for key, value in settings.items()}
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        webhooks_in(Configuration(values))


def test_kinds_may_be_separated_by_commas() -> None:
    values = {f"{PREFIX}ops.url": "http://x/", f"{PREFIX}ops.kinds": "job-failed, restarts"}
    [webhook] = webhooks_in(Configuration(values))
    assert webhook.kinds == {AlertKind.FAILED, AlertKind.RESTARTS}
