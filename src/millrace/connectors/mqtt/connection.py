"""Connections to MQTT servers: their URLs, and paho clients."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from millrace.common.errors import JobDefinitionError
from millrace.common.installation import missing_package
from millrace.connectors.errors import ConnectorError

__all__ = ["MqttConnection", "MqttError", "MqttMessage", "import_paho", "require_url", "shown_url"]

_PATIENCE_S = 30.0
_KEEP_ALIVE_S = 30
_FOR_EVER = 0xFFFF_FFFF
_MOST = 65_535
_PORTS = {"mqtt": 1883, "mqtts": 8883}


class MqttError(ConnectorError):
    """An MQTT server is not reachable, readable or writable."""


class MqttMessage(NamedTuple):
    """A message as the server sent it."""

    topic: str
    payload: bytes
    retained: bool
    """Whether the message existed before the subscription."""
    properties: Any
    """paho's object of MQTT 5 properties: ``UserProperty``, ``CorrelationData`` and others."""


def import_paho() -> Any:
    """Import the module paho.mqtt.

    Raises:
        MqttError: it is not installed.
    """
    try:
        import paho.mqtt.client
        import paho.mqtt.packettypes
        import paho.mqtt.subscribeoptions
    except ImportError as error:
        raise MqttError(
            missing_package("the MQTT connector needs", "paho-mqtt", "mqtt", on_workers=True)
        ) from error
    return paho.mqtt


def require_url(url: Any) -> str:
    """The URL itself, after a check.

    Raises:
        JobDefinitionError: the argument is not a URL of an MQTT server.
    """
    if not isinstance(url, str) or not _is_address(url):
        raise JobDefinitionError(  # without the URL, which may have a password anywhere
            "the URL of an MQTT server is mqtt://user:password@host:1883, or mqtts:// with TLS, "
            "and nothing behind it; in user and password characters such as #, / and ? are "
            "written as %23, %2F and %3F"
        )
    return url


def _is_address(url: str) -> bool:
    """Whether all parts of the URL are valid: a ``#`` in a password would otherwise turn the
    text before it into the host."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return fits and not parts.query and not parts.fragment and parts.path in ("", "/")


def shown_url(url: str) -> str:
    """The URL for messages, without user and password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


class MqttConnection:
    """An MQTT 5 client in a thread of its own, which does not reconnect by itself.

    Args:
        client_id: the name of the session; "": the server chooses one.
        keeps_session: whether the server keeps subscriptions and messages when it disconnects.
        lost: called in the client's thread when the connection is lost, with the reason.
        on_message: called in the client's thread with each message, which is to be acknowledged
            by `client.ack`.

    Raises:
        MqttError: the server cannot be reached, or refuses the client.
    """

    def __init__(
        self,
        url: str,
        client_id: str,
        keeps_session: bool,
        lost: Callable[[str], None],
        on_message: Callable[[Any], None] | None = None,
    ) -> None:
        mqtt, parts = import_paho(), urlsplit(url)
        self._lost = lost
        self._ended = False
        self._answered = threading.Event()
        self._refusal = "it does not answer"
        client = mqtt.client.Client(
            mqtt.client.CallbackAPIVersion.VERSION2,
            client_id,
            protocol=mqtt.client.MQTTProtocolVersion.MQTTv5,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        self.client = client
        if parts.username is not None:
            password = None if parts.password is None else unquote(parts.password)
            client.username_pw_set(unquote(parts.username), password)
        if parts.scheme == "mqtts":
            client.tls_set()
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        if on_message is not None:
            client.on_message = lambda _, __, message: on_message(message)
        properties = mqtt.client.Properties(mqtt.packettypes.PacketTypes.CONNECT)
        properties.SessionExpiryInterval = _FOR_EVER if keeps_session else 0
        properties.ReceiveMaximum = _MOST
        port = parts.port or _PORTS[parts.scheme]
        try:
            client.connect(
                parts.hostname,
                port,
                _KEEP_ALIVE_S,
                clean_start=not keeps_session,
                properties=properties,
            )
        except OSError as error:
            raise MqttError(f"cannot connect to MQTT at {shown_url(url)}: {error}") from error
        client.loop_start()
        self._answered.wait(_PATIENCE_S)
        if self._refusal:
            self.close()
            raise MqttError(f"cannot connect to MQTT at {shown_url(url)}: {self._refusal}")

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._refusal = str(reason) if reason.is_failure else ""
        self._answered.set()

    def _on_disconnect(
        self, client: Any, data: Any, flags: Any, reason: Any, properties: Any
    ) -> None:
        if not self._ended:
            self._lost(str(reason))

    def subscribe(self, topics: list[str]) -> str:
        """Subscribe with quality of service 1. Retained messages are delivered once, if the session
        is new. Returns the reason if the server refuses, else "".
        """
        mqtt = import_paho()
        options = mqtt.subscribeoptions.SubscribeOptions(
            qos=1, retainHandling=mqtt.subscribeoptions.SubscribeOptions.RETAIN_SEND_IF_NEW_SUB
        )
        answered, refusals = threading.Event(), ["it does not answer"]

        def on_subscribe(_: Any, __: Any, ___: Any, reasons: Any, ____: Any) -> None:
            refusals[:] = [str(reason) for reason in reasons if reason.is_failure]
            answered.set()

        self.client.on_subscribe = on_subscribe
        self.client.subscribe([(topic, options) for topic in topics])
        answered.wait(_PATIENCE_S)
        return ", ".join(refusals)

    def close(self) -> None:
        """Disconnect; the server keeps a persistent session."""
        self._ended = True
        with suppress(Exception):
            self.client.disconnect()
        self.client.loop_stop()
