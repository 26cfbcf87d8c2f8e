"""A job of all components of a module."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from millrace.common.errors import JobDefinitionError
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.datastream.stream import DataStream
from millrace.statefun.address import FunctionType, TypedValue
from millrace.statefun.application.kafka_components import (
    kafka_sink,
    kafka_source,
    topic_key_value,
)
from millrace.statefun.application.kinesis_components import (
    kinesis_message,
    kinesis_sink,
    kinesis_source,
)
from millrace.statefun.application.playground import (
    PlaygroundSink,
    PlaygroundSource,
    topic_and_payload,
)
from millrace.statefun.data_stream import StatefulFunctionDataStreamBuilder
from millrace.statefun.endpoint_update import MODULE_NAME
from millrace.statefun.module import (
    Component,
    HttpEndpoint,
    KafkaEgress,
    KafkaIngress,
    KinesisEgress,
    KinesisIngress,
    Module,
    PlaygroundEgress,
    PlaygroundIngress,
)

__all__ = ["add_module", "embedded_functions"]

log = logging.getLogger(__name__)

_Ingress: TypeAlias = KafkaIngress | KinesisIngress | PlaygroundIngress
_Egress: TypeAlias = KafkaEgress | KinesisEgress | PlaygroundEgress


def embedded_functions(namespace: Mapping[str, Any]) -> dict[FunctionType, Any]:
    """Functions of the SDK that a Python module contains, with the ``StatefulFunctions`` objects
    that hold them.

    Raises:
        JobDefinitionError: there are none, or one is bound twice.
    """
    bound: dict[FunctionType, Any] = {}
    holders = {
        id(value): value
        for value in namespace.values()
        if hasattr(value, "for_typename") and not isinstance(value, type)
    }
    for functions in holders.values():
        for typename in functions._functions:
            function = FunctionType.of(typename)
            if function in bound:
                raise JobDefinitionError(f"the function {function} is bound twice")
            bound[function] = functions
    if not bound:
        name = namespace.get("__name__", "the module")
        raise JobDefinitionError(
            f"'{name}' has no functions: bind them to a StatefulFunctions of the package "
            "'statefun', which has a name in the module"
        )
    return bound


def add_module(
    env: Any,
    module: Module,
    embedded: Mapping[FunctionType, Any] | None = None,
    name: str = "",
) -> None:
    """Add the components of a module to the job of an environment.

    Args:
        embedded: functions that run in the workers, and not at the endpoint of the same name.
        name: name of the job. Other jobs with such an egress use other transactions.

    Raises:
        JobDefinitionError: there is no ingress or no function.
    """
    embedded = embedded or {}
    builder = StatefulFunctionDataStreamBuilder.builder(MODULE_NAME)
    for function, functions in embedded.items():
        builder.with_function_provider(str(function), functions)
    egresses: list[_Egress] = []
    for component in module.components:
        match component:
            case HttpEndpoint():
                if (component.namespace, component.name) not in embedded:
                    builder.with_request_reply_remote_function(component)
            case KafkaIngress() | KinesisIngress() | PlaygroundIngress():
                builder.with_data_stream_as_ingress(_ingress(env, component))
            case _:
                builder.with_egress_id(str(component.id), _converter(component))
                egresses.append(component)
    _require_ingress(module.components)
    streams = builder.build(env)
    for fault in module.unserved_targets(embedded):
        log.warning(
            "%s, and the file of functions has no such function either: its first message will "
            "fail the job",
            fault,
        )
    for egress in egresses:
        _egress(streams.get_data_stream_for_egress_id(str(egress.id)), egress, name)


def _require_ingress(components: Sequence[Component]) -> None:
    if not any(isinstance(c, _Ingress) for c in components):
        raise JobDefinitionError("the module has no ingress, so no function would get a message")


def _ingress(env: Any, ingress: _Ingress) -> DataStream[Any]:
    match ingress:
        case KafkaIngress():
            return _records(env, kafka_source(ingress), ingress)
        case KinesisIngress():
            records = _records(env, kinesis_source(ingress), ingress)
            return records.flat_map(lambda messages: messages)
    source, name = PlaygroundSource(ingress.port), f"Playground {ingress.port}"
    stream: DataStream[Any] = env.from_source(source, WatermarkStrategy.no_watermarks(), name)
    return stream.uid(f"statefun-playground-{ingress.port}").set_parallelism(1)


def _records(env: Any, source: Any, ingress: KafkaIngress | KinesisIngress) -> DataStream[Any]:
    no_watermarks = WatermarkStrategy.no_watermarks()
    records: DataStream[Any] = env.from_source(source, no_watermarks, f"Ingress {ingress.id}")
    return records.uid(f"statefun-ingress-{ingress.id}")


def _converter(egress: _Egress) -> Callable[[TypedValue], Any]:
    """Function that makes a record for the sink of an egress."""
    match egress:
        case KafkaEgress():
            return topic_key_value
        case KinesisEgress():
            return kinesis_message
    return partial(topic_and_payload, egress.topics)


def _egress(records: DataStream[Any], egress: _Egress, job_name: str) -> None:
    uid = f"statefun-egress-{egress.id}"
    if isinstance(egress, KafkaEgress):
        records.sink_to(kafka_sink(egress, job_name)).uid(uid)
    elif isinstance(egress, KinesisEgress):
        records.sink_to(kinesis_sink(egress)).uid(uid)
    else:
        sink = PlaygroundSink(egress.port, egress.topics)
        records.sink_to(sink).uid(uid).set_parallelism(1)
