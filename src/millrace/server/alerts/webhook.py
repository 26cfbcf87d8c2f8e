"""Delivery of alerts to a webhook, in a thread of its own."""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
import uuid
from collections import deque
from dataclasses import dataclass
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING

import msgspec

from millrace.server.alerts.alert import RESOLVED, Alert
from millrace.server.alerts.webhook_settings import WebhookSettings

if TYPE_CHECKING:
    import httpx

__all__ = ["Webhook", "signature_of"]

log = logging.getLogger(__name__)

MOST_WAITING = 1_000
"""Alerts that wait for a receiver. Of more, the oldest that are ``resolved`` are dropped, then the
oldest."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds between two attempts; each pause is twice as long as the one before."""
_CLIENT_LOGS = ("httpx", "httpcore")
"""Loggers of the HTTP client."""
_TRY_AGAIN = (408, 425, 429)
"""Statuses below 500 after which the same request may succeed."""


def signature_of(secret: str, timestamp: str, body: bytes) -> str:
    """The signature of a request: HMAC with SHA-256 of the time, a dot and the body.

    Example:
        >>> signature_of("key", "1", b"{}")[:15]
        'sha256=1ba6b817'
    """
    digest = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256)
    return f"sha256={digest.hexdigest()}"


@dataclass(frozen=True, slots=True)
class _Delivery:
    """An alert that is being delivered, with an id that all attempts share."""

    id: str
    alert: Alert


class Webhook:
    """Sends alerts to one receiver.

    Args:
        first_pause: seconds before the second attempt.
    """

    def __init__(self, settings: WebhookSettings, first_pause: float = FIRST_PAUSE) -> None:
        self.settings = settings
        self.sent = 0
        """Number of alerts that the receiver has accepted."""
        self.lost = 0
        """Number of alerts that were given up."""
        self._first_pause = first_pause
        self._waiting: deque[_Delivery] = deque()
        self._changed = Condition()
        self._closed = Event()
        self._thread = Thread(
            target=self._run, name=f"millrace-webhook-{settings.name}", daemon=True
        )

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def close(self) -> None:
        """Stop sending; waiting alerts are lost."""
        self._closed.set()
        with self._changed:
            self._changed.notify_all()
            if self._waiting:
                log.warning("webhook %s: %d alerts were not sent", *self._known())

    def put(self, alert: Alert) -> None:
        """Send an alert soon. Returns immediately."""
        if alert.alert not in self.settings.kinds:
            return
        with self._changed:
            if len(self._waiting) >= MOST_WAITING:
                log.warning("webhook %s: %d alerts wait; one of them is dropped", *self._known())
                del self._waiting[self._least_important()]
                self.lost += 1
            self._waiting.append(_Delivery(str(uuid.uuid4()), alert))
            self._changed.notify_all()

    def _least_important(self) -> int:
        """Position of the oldest alert that says that something is over; else of the oldest."""
        states = enumerate(delivery.alert.state for delivery in self._waiting)
        return next((position for position, state in states if state == RESOLVED), 0)

    def _known(self) -> tuple[str, int]:
        return self.settings.name, len(self._waiting)

    def _run(self) -> None:
        import httpx

        for name in _CLIENT_LOGS:  # they would log each request's URL, which is a secret
            logging.getLogger(name).setLevel(logging.WARNING)
        with httpx.Client(timeout=self.settings.timeout) as client:
            while (delivery := self._next()) is not None:
                try:
                    accepted = self._deliver(client, delivery)
                except Exception:  # the next alert may be luckier
                    log.exception("webhook %s: an alert cannot be sent", self.settings.name)
                    accepted = False
                self.sent += accepted
                self.lost += not accepted

    def _next(self) -> _Delivery | None:
        """The alert that waits longest; None when the webhook is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed.is_set())
            return None if self._closed.is_set() else self._waiting.popleft()

    def _deliver(self, client: httpx.Client, delivery: _Delivery) -> bool:
        """Send an alert until the receiver accepts it; False if it is given up."""
        pause = self._first_pause
        for attempt in range(1, self.settings.attempts + 1):
            refusal, is_final = self._attempt(client, delivery)
            if refusal is None:
                return True
            log.warning("webhook %s, attempt %d: %s", self.settings.name, attempt, refusal)
            if is_final or attempt == self.settings.attempts or self._closed.wait(pause):
                break
            pause = min(2 * pause, LONGEST_PAUSE)
        log.error("webhook %s: given up: %s", self.settings.name, delivery.alert.text)
        return False

    def _attempt(self, client: httpx.Client, delivery: _Delivery) -> tuple[str | None, bool]:
        """Why the receiver has not accepted an alert (None if it has), and whether it never
        will."""
        import httpx

        body = msgspec.json.encode(delivery.alert)
        try:
            # the answer's body is never read: it may be endless
            with client.stream(
                "POST", self.settings.url, content=body, headers=self._headers(delivery, body)
            ) as response:
                status = response.status_code
        except (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError) as error:
            return f"{type(error).__name__}: {error}", False
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # the message may contain parts of the URL, which is a secret
            return f"{type(error).__name__}: check the URL", isinstance(error, httpx.InvalidURL)
        if 200 <= status < 300:
            return None, True
        return f"status {status}", status < 500 and status not in _TRY_AGAIN

    def _headers(self, delivery: _Delivery, body: bytes) -> dict[str, str]:
        timestamp = str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "millrace",
            "X-Millrace-Delivery": delivery.id,
            "X-Millrace-Timestamp": timestamp,
        }
        if self.settings.secret is not None:
            headers["X-Millrace-Signature"] = signature_of(self.settings.secret, timestamp, body)
        return headers
