"""Short descriptions of a module's components."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from millrace.statefun.module.components import (
    Component,
    HttpEndpoint,
    KafkaEgress,
    KafkaIngress,
    KinesisEgress,
    KinesisIngress,
    PlaygroundEgress,
)

__all__ = ["MODULE_SUFFIXES", "ComponentSummary", "is_module", "module_name", "summary_of"]

MODULE_SUFFIXES = (".yaml", ".yml")
_PLAIN_NAMES = ("module", "statefun")
"""Names of files that say nothing about the module."""


class ComponentSummary(NamedTuple):
    """Short description of a component."""

    component: str
    id: str
    at: str


def is_module(path: Path) -> bool:
    """Whether a file is a module, by its name.

    Example:
        >>> is_module(Path("shop/module.yaml")), is_module(Path("shop/functions.py"))
        (True, False)
    """
    return path.suffix in MODULE_SUFFIXES


def module_name(path: Path) -> str:
    """Name of a module: the name of its file, or, for common names such as ``module.yaml``, of its
    directory.

    Example:
        >>> module_name(Path("/srv/shop/module.yaml")), module_name(Path("/srv/cart.yaml"))
        ('shop', 'cart')
    """
    return (path.parent.name if path.stem in _PLAIN_NAMES else "") or path.stem


def summary_of(component: Component) -> ComponentSummary:
    """Kind, id and place of a component."""
    match component:
        case HttpEndpoint():
            id = f"{component.namespace}/{component.name}"
            return ComponentSummary("http endpoint", id, component.shown_template)
        case KafkaIngress():
            topics = ", ".join(routed.topic for routed in component.topics)
            place = f"{component.address}: {topics}"
            return ComponentSummary("kafka ingress", str(component.id), place)
        case KafkaEgress():
            return ComponentSummary("kafka egress", str(component.id), component.address)
        case KinesisIngress():
            streams = ", ".join(routed.topic for routed in component.streams)
            return ComponentSummary("kinesis ingress", str(component.id), streams)
        case KinesisEgress():
            region = component.region.id or "default region"
            return ComponentSummary("kinesis egress", str(component.id), region)
        case PlaygroundEgress():
            return ComponentSummary(
                "playground egress", str(component.id), f"port {component.port}"
            )
        case _:
            return ComponentSummary("playground ingress", "-", f"port {component.port}")
