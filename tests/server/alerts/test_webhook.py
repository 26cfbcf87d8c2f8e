"""Alerts reach a real receiver, also one that is away for a while."""

from __future__ import annotations

import hashlib
import hmac
import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.server.alerts import webhook as delivery
from millrace.server.alerts.alert import FIRING, RESOLVED, Alert, AlertedJob, AlertKind
from millrace.server.alerts.webhook import Webhook
from millrace.server.alerts.webhook_settings import WebhookSettings

sys.path.insert(0, str(Path(__file__).parent))

from receiver import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def alert(
    text: str = "it is on fire", kind: AlertKind = AlertKind.LAG, state: str = FIRING
) -> Alert:
    return Alert(text, str(kind), state, 1, AlertedJob("1" * 32, "clicks", "RUNNING", "http://x"))


def sent(webhook: Webhook, *alerts: Alert) -> None:
    """Put alerts, and wait until all are sent or given up."""
    webhook.start()
    for each in alerts:
        webhook.put(each)
    waited = threading.Event()
    for _ in range(6_000):
        if webhook.sent + webhook.lost >= len(alerts):
            break
        waited.wait(0.01)
    webhook.close()


def test_a_signed_request(receiver: Receiver) -> None:
    webhook = Webhook(WebhookSettings("ops", receiver.url, secret="key"))
    sent(webhook, alert())
    [(headers, body)] = receiver.requests
    assert receiver.alerts(1)[0]["job"]["name"] == "clicks"
    signed = headers["X-Millrace-Timestamp"].encode() + b"." + body
    expected = hmac.new(b"key", signed, hashlib.sha256).hexdigest()
    assert headers["X-Millrace-Signature"] == f"sha256={expected}"
    assert headers["Content-Type"] == "application/json"
    assert (webhook.sent, webhook.lost) == (1, 0)


def test_without_a_secret_nothing_is_signed(receiver: Receiver) -> None:
    sent(Webhook(WebhookSettings("ops", receiver.url)), alert())
    [(headers, _)] = receiver.requests
    assert "X-Millrace-Signature" not in headers


def test_a_receiver_that_fails_is_asked_again(receiver: Receiver) -> None:
    receiver.statuses = [503, 429, 200]
    webhook = Webhook(WebhookSettings("ops", receiver.url), first_pause=0.01)
    sent(webhook, alert())
    assert len(receiver.requests) == 3
    assert len({headers["X-Millrace-Delivery"] for headers, _ in receiver.requests}) == 1
    assert (webhook.sent, webhook.lost) == (1, 0)


def test_a_refused_alert_is_not_sent_again(receiver: Receiver) -> None:
    receiver.statuses = [400]
    webhook = Webhook(WebhookSettings("ops", receiver.url), first_pause=0.01)
    sent(webhook, alert())
    assert len(receiver.requests) == 1
    assert (webhook.sent, webhook.lost) == (0, 1)


def test_attempts_end(receiver: Receiver) -> None:
    receiver.statuses = [500] * 5
    webhook = Webhook(WebhookSettings("ops", receiver.url, attempts=3), first_pause=0.01)
    sent(webhook, alert("first"))
    assert len(receiver.requests) == 3
    assert (webhook.sent, webhook.lost) == (0, 1)


def test_nobody_listens() -> None:
    settings = WebhookSettings("ops", "http://127.0.0.1:9/", attempts=2)
    webhook = Webhook(settings, first_pause=0.01)
    sent(webhook, alert())
    assert (webhook.sent, webhook.lost) == (0, 1)


def test_only_the_chosen_kinds(receiver: Receiver) -> None:
    settings = WebhookSettings("ops", receiver.url, kinds=frozenset({AlertKind.FAILED}))
    webhook = Webhook(settings)
    webhook.put(alert(kind=AlertKind.LAG))
    sent(webhook, alert("failed", AlertKind.FAILED))
    assert [got["text"] for got in receiver.alerts(1)] == ["failed"]


def test_too_many_that_wait(monkeypatch: pytest.MonkeyPatch, receiver: Receiver) -> None:
    """The oldest give way."""
    monkeypatch.setattr(delivery, "MOST_WAITING", 2)
    webhook = Webhook(WebhookSettings("ops", receiver.url))
    for number in range(3):
        webhook.put(alert(str(number)))
    sent(webhook)
    assert webhook.lost == 1
    webhook = Webhook(WebhookSettings("ops", receiver.url))
    for number in range(3):
        webhook.put(alert(str(number)))
    webhook.start()
    assert [got["text"] for got in receiver.alerts(2)] == ["1", "2"]
    webhook.close()


def test_what_is_over_gives_way_first(monkeypatch: pytest.MonkeyPatch, receiver: Receiver) -> None:
    monkeypatch.setattr(delivery, "MOST_WAITING", 2)
    webhook = Webhook(WebhookSettings("ops", receiver.url))
    webhook.put(alert("failed", AlertKind.FAILED))
    webhook.put(alert("over", state=RESOLVED))
    webhook.put(alert("lags"))
    webhook.start()
    assert [got["text"] for got in receiver.alerts(2)] == ["failed", "lags"]
    webhook.close()


@pytest.mark.parametrize("scheme", ["http", "ftp"])
def test_no_log_has_the_url(
    receiver: Receiver, caplog: pytest.LogCaptureFixture, scheme: str
) -> None:
    caplog.set_level(logging.INFO)
    url = receiver.url.replace("http:", f"{scheme}:").replace("/hook", "/services/SECRET")
    webhook = Webhook(WebhookSettings("ops", url, attempts=1))
    sent(webhook, alert())
    assert webhook.sent == (scheme == "http")
    assert "SECRET" not in caplog.text
    assert url not in caplog.text


def test_closing_does_not_wait_for_the_next_attempt(receiver: Receiver) -> None:
    receiver.statuses = [500]
    webhook = Webhook(WebhookSettings("ops", receiver.url), first_pause=3_600)
    webhook.start()
    webhook.put(alert())
    receiver.alerts(1)
    webhook.close()
    webhook._thread.join(30)
    assert not webhook._thread.is_alive()
