"""The specification of an application, ``module.yaml``: its components as data classes."""

from __future__ import annotations

from millrace.statefun.module.component_summary import (
    MODULE_SUFFIXES,
    ComponentSummary,
    is_module,
    module_name,
    summary_of,
)
from millrace.statefun.module.components import (
    AwsCredentials,
    AwsRegion,
    Component,
    HttpEndpoint,
    KafkaEgress,
    KafkaIngress,
    KinesisEgress,
    KinesisIngress,
    Module,
    PlaygroundEgress,
    PlaygroundIngress,
    Routed,
    StartupPosition,
    Transport,
)
from millrace.statefun.module.module_reader import KINDS, read_module

__all__ = [
    "AwsCredentials",
    "AwsRegion",
    "Component",
    "ComponentSummary",
    "HttpEndpoint",
    "KINDS",
    "KafkaEgress",
    "KafkaIngress",
    "KinesisEgress",
    "KinesisIngress",
    "MODULE_SUFFIXES",
    "Module",
    "PlaygroundEgress",
    "PlaygroundIngress",
    "Routed",
    "StartupPosition",
    "Transport",
    "is_module",
    "module_name",
    "read_module",
    "summary_of",
]
