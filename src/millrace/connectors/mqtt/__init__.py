"""MQTT as a source and a sink, through the package paho-mqtt."""

from __future__ import annotations

from millrace.connectors.mqtt.connection import MqttError, MqttMessage
from millrace.connectors.mqtt.sink import MqttSink, MqttSinkBuilder
from millrace.connectors.mqtt.source import MqttSource, MqttSourceBuilder

__all__ = [
    "MqttError",
    "MqttMessage",
    "MqttSink",
    "MqttSinkBuilder",
    "MqttSource",
    "MqttSourceBuilder",
]
