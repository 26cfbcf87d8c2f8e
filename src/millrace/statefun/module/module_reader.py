"""Reader of ``module.yaml`` (version 3): documents with a ``kind`` and a ``spec`` each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from millrace.statefun.address import split_typename
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
    Properties,
    Routed,
    StartupPosition,
    Transport,
)
from millrace.statefun.module.located_yaml import Located, ModuleError, located_documents

__all__ = ["KINDS", "read_module"]

T = TypeVar("T")
_ASYNC = "io.statefun.transports.v1/async"
_OKHTTP = "io.statefun.transports.v1/okhttp"
_OKHTTP_CALLS = Transport(False, 60_000, 10_000, 10_000, 10_000)
"""Calls of the transport ``okhttp`` with its defaults."""
_MAX_PORT = 65_535
_MAX_INT = (1 << 31) - 1


def read_module(module: str | os.PathLike[str] | bytes, name: str = "module.yaml") -> Module:
    """Read the components of a module.

    Args:
        module: path of the file, or its content.
        name: name of the file in messages, if the content is given.

    Raises:
        ModuleError: the file cannot be read, or it has a fault. The text begins with the file, the
            number of the document and the line.

    Example:
        >>> from millrace.statefun.address import FunctionType
        >>> read_module(b'''
        ... kind: io.statefun.endpoints.v2/http
        ... spec:
        ...   functions: com.example/*
        ...   urlPathTemplate: http://localhost:8000/{function.name}
        ... ''').endpoints[0].url(FunctionType("com.example", "greeter"))
        'http://localhost:8000/greeter'
    """
    if not isinstance(module, bytes):
        name = os.fspath(module)
        try:
            module = Path(name).read_bytes()
        except OSError as error:
            raise ModuleError(f"{name} cannot be read: {error.strerror}") from None
    documents = located_documents(module, name)
    if not documents:
        raise ModuleError(f"{name} has no components: write documents with 'kind' and 'spec'")
    components: list[Component] = []
    seen: dict[object, Located] = {}
    for document in documents:
        component = _component(document)
        identity = _identity(component)
        if identity in seen:
            raise document.error(f"{identity} is defined twice in this module")
        seen[identity] = document
        components.append(component)
    return Module(tuple(components))


def _component(document: Located) -> Component:
    fields = document.fields()
    if "kind" not in fields and {"version", "module"} & fields.keys():
        raise document.error(
            "this is a module of version 1 or 2; version 3 has a document with 'kind' and 'spec' "
            "for each component"
        )
    fields = document.require_known(("kind", "spec"))
    kind, spec = (_required(document, fields, name) for name in ("kind", "spec"))
    return KINDS[kind.choice(KINDS)](Located(spec._node, spec._file, spec._document, "spec"))


def _identity(component: Component) -> str:
    """Text that no two components of a module share."""
    match component:
        case HttpEndpoint():
            return f"the endpoint of {component.namespace}/{component.name}"
        case PlaygroundIngress():
            return f"the playground's ingress on port {component.port}"
        case KafkaIngress() | KinesisIngress():
            return f"the ingress {component.id}"
        case _:
            return f"the egress {component.id}"


def _required(parent: Located, fields: dict[str, Located], name: str) -> Located:
    if name not in fields or fields[name].is_absent:
        where = f"'{parent.path}'" if parent.path else "the document"
        raise parent.error(f"{where} needs the key '{name}'")
    return fields[name]


def _given(fields: dict[str, Located], name: str) -> Located | None:
    """Value of a key; None if the key is absent or its value is null."""
    field = fields.get(name)
    return None if field is None or field.is_absent else field


def _optional(fields: dict[str, Located], name: str, read: Callable[[Located], T], default: T) -> T:
    field = _given(fields, name)
    return default if field is None else read(field)


# -- endpoints -------------------------------------------------------------------------------


def _http_endpoint(spec: Located) -> HttpEndpoint:
    fields = spec.require_known(
        ("functions", "urlPathTemplate", "maxNumBatchRequests", "transport", "timeouts")
    )
    transport = _given(fields, "transport")
    timeouts = _given(fields, "timeouts")
    if transport is not None and timeouts is not None:
        raise timeouts.error("write 'timeouts' below 'transport'")
    if transport is not None:
        called = _transport(transport)
    else:
        called = Transport() if timeouts is None else _with_timeouts(Transport(), timeouts)
    return _endpoint(spec, fields, called)


def _http_endpoint_v1(spec: Located) -> HttpEndpoint:
    """Endpoint in the words of StateFun 3.0, which has OkHttp alone."""
    fields = spec.require_known(("functions", "urlPathTemplate", "maxNumBatchRequests", "timeouts"))
    called = _optional(
        fields, "timeouts", lambda f: _with_timeouts(_OKHTTP_CALLS, f), _OKHTTP_CALLS
    )
    return _endpoint(spec, fields, called)


def _endpoint(spec: Located, fields: dict[str, Located], called: Transport) -> HttpEndpoint:
    namespace, name = _required(spec, fields, "functions").converted(split_typename)
    url = _required(spec, fields, "urlPathTemplate").converted(_url_template)
    most = _optional(fields, "maxNumBatchRequests", lambda f: f.integer(1, _MAX_INT), 1000)
    return HttpEndpoint(namespace, name, url, most, called)


def _url_template(text: str) -> str:
    """The template itself, if URLs can be made of it."""
    HttpEndpoint("any", "any", text)
    return text


_TIMEOUTS = ("call", "connect", "read", "write")
_FILES = ("trust_cacerts", "client_cert", "client_key", "client_key_password")
_ASYNC_KEYS = ("call", "connect", "pool_ttl", "pool_size", "payload_max_bytes", *_FILES)


def _transport(field: Located) -> Transport:
    fields = field.fields()
    kind = _optional(fields, "type", lambda f: f.choice((_ASYNC, _OKHTTP)), _ASYNC)
    known = ("type", "timeouts", *(_ASYNC_KEYS if kind == _ASYNC else ()))
    field.require_known(known)
    if kind == _OKHTTP:
        okhttp = _OKHTTP_CALLS
        return _optional(fields, "timeouts", lambda f: _with_timeouts(okhttp, f), okhttp)
    default = Transport()
    if ("client_cert" in fields) != ("client_key" in fields):
        raise field.error(
            "'client_cert' and 'client_key' must be set together: set both or neither"
        )
    transport = Transport(
        call_ms=_optional(fields, "call", Located.duration_ms, default.call_ms),
        connect_ms=_optional(fields, "connect", Located.duration_ms, default.connect_ms),
        pool_ttl_ms=_optional(fields, "pool_ttl", lambda f: f.duration_ms(0), default.pool_ttl_ms),
        pool_size=_optional(
            fields, "pool_size", lambda f: f.integer(1, _MAX_INT), default.pool_size
        ),
        payload_max_bytes=_optional(
            fields,
            "payload_max_bytes",
            lambda f: f.integer(1, _MAX_INT),
            default.payload_max_bytes,
        ),
        trust_cacerts=_optional(fields, "trust_cacerts", _path, None),
        client_cert=_optional(fields, "client_cert", _path, None),
        client_key=_optional(fields, "client_key", _path, None),
        client_key_password=_optional(fields, "client_key_password", _path, None),
    )
    return _optional(fields, "timeouts", lambda f: _with_timeouts(transport, f), transport)


def _with_timeouts(transport: Transport, field: Located) -> Transport:
    """The transport with the time limits below ``timeouts``. Limits of reads and writes have no
    meaning for the asynchronous transport, which is called with the same specifications."""
    fields = field.require_known(_TIMEOUTS)
    limits = {f"{name}_ms": limit.duration_ms() for name, limit in fields.items()}
    if transport.retries_all:
        # what is not given has OkHttp's default here
        limits = {"call_ms": 60_000, "connect_ms": 10_000} | limits
        limits = {name: limits[name] for name in ("call_ms", "connect_ms")}
    return Transport(**{**vars(transport), **limits})


def _path(field: Located) -> str:
    text = field.text()
    if text.startswith("classpath:"):
        raise field.error(
            f"'{field.path}' is a class path, which Python does not have: give a file path"
        )
    return os.path.expanduser(text)


# -- ingresses and egresses ------------------------------------------------------------------


def _kafka_ingress(spec: Located) -> KafkaIngress:
    fields = spec.require_known(
        (
            "id",
            "address",
            "consumerGroupId",
            "topics",
            "startupPosition",
            "autoOffsetResetPosition",
            "properties",
        )
    )
    position = _optional(
        fields,
        "startupPosition",
        lambda f: _position(f, ("group-offsets", "earliest", "latest", "specific-offsets", "date")),
        StartupPosition("group-offsets"),
    )
    group = _optional(fields, "consumerGroupId", Located.text, None)
    if position.type == "group-offsets" and group is None:
        raise spec.error("'spec' needs the key 'consumerGroupId' to start from the group's offsets")
    return KafkaIngress(
        _required(spec, fields, "id").typename(),
        _required(spec, fields, "address").text(),
        _routed(_required(spec, fields, "topics"), "topic"),
        group,
        position,
        _optional(
            fields, "autoOffsetResetPosition", lambda f: f.choice(("latest", "earliest")), "latest"
        ),
        _properties(fields, "properties"),
    )


def _kafka_egress(spec: Located) -> KafkaEgress:
    fields = spec.require_known(("id", "address", "deliverySemantic", "properties"))
    semantic, timeout = "at-least-once", None
    given = _given(fields, "deliverySemantic")
    if given is not None:
        parts = given.require_known(("type", "transactionTimeout", "transactionTimeoutMillis"))
        kinds = ("none", "at-least-once", "exactly-once")
        semantic = _required(given, parts, "type").choice(kinds)
        for name in ("transactionTimeout", "transactionTimeoutMillis"):
            timeout = _optional(parts, name, Located.duration_ms, timeout)
        if (timeout is None) == (semantic == "exactly-once"):
            raise given.error("'transactionTimeout' requires the type 'exactly-once'")
    return KafkaEgress(
        _required(spec, fields, "id").typename(),
        _required(spec, fields, "address").text(),
        semantic,
        timeout,
        _properties(fields, "properties"),
    )


def _kinesis_ingress(spec: Located) -> KinesisIngress:
    fields = spec.require_known(
        (
            "id",
            "awsRegion",
            "awsCredentials",
            "startupPosition",
            "streams",
            "clientConfigProperties",
        )
    )
    return KinesisIngress(
        _required(spec, fields, "id").typename(),
        _routed(_required(spec, fields, "streams"), "stream"),
        _optional(fields, "awsRegion", _region, AwsRegion()),
        _optional(fields, "awsCredentials", _credentials, AwsCredentials()),
        _optional(
            fields,
            "startupPosition",
            lambda f: _position(f, ("earliest", "latest", "date")),
            StartupPosition("latest"),
        ),
        _properties(fields, "clientConfigProperties"),
    )


def _kinesis_egress(spec: Located) -> KinesisEgress:
    fields = spec.require_known(
        ("id", "awsRegion", "awsCredentials", "maxOutstandingRecords", "clientConfigProperties")
    )
    return KinesisEgress(
        _required(spec, fields, "id").typename(),
        _optional(fields, "awsRegion", _region, AwsRegion()),
        _optional(fields, "awsCredentials", _credentials, AwsCredentials()),
        _optional(fields, "maxOutstandingRecords", lambda f: f.integer(1, _MAX_INT), 1000),
        _properties(fields, "clientConfigProperties"),
    )


def _playground_ingress(spec: Located) -> PlaygroundIngress:
    fields = spec.require_known(("port",))
    return PlaygroundIngress(_required(spec, fields, "port").integer(1, _MAX_PORT))


def _playground_egress(spec: Located) -> PlaygroundEgress:
    fields = spec.require_known(("port", "topics"))
    topics = _required(spec, fields, "topics")
    return PlaygroundEgress(
        _required(spec, fields, "port").integer(1, _MAX_PORT),
        tuple(_distinct(topics, (topic.text() for topic in topics.items()))),
    )


def _distinct(parent: Located, names: Iterable[str]) -> list[str]:
    distinct: list[str] = []
    for name in names:
        if name in distinct:
            raise parent.error(f"'{parent.path}' has '{name}' twice")
        distinct.append(name)
    return distinct


def _routed(field: Located, name: str) -> tuple[Routed, ...]:
    """Topics or streams with their targets."""
    routed: list[Routed] = []
    for entry in field.items():
        fields = entry.require_known((name, "valueType", "targets"))
        targets = _required(entry, fields, "targets")
        functions = tuple(target.typename() for target in targets.items())
        places = tuple(target.place for target in targets.items())
        if not functions:
            raise targets.error(f"'{targets.path}' names no function")
        value_type = _required(entry, fields, "valueType").typename()
        topic = _required(entry, fields, name).text()
        routed.append(Routed(topic, str(value_type), functions, places))
    if not routed:
        raise field.error(f"'{field.path}' is empty")
    _distinct(field, (entry.topic for entry in routed))
    return tuple(routed)


def _position(field: Located, kinds: Iterable[str]) -> StartupPosition:
    fields = field.require_known(("type", "offsets", "date"))
    kind = _required(field, fields, "type").choice(kinds)
    offsets, date = _given(fields, "offsets"), _given(fields, "date")
    for name, value, its_kind in (("offsets", offsets, "specific-offsets"), ("date", date, "date")):
        if (value is not None) != (kind == its_kind):
            raise field.error(f"'{field.path}.{name}' requires the type '{its_kind}'")
    if offsets is not None:
        entries = [(*name.rpartition("/")[::2], at) for name, at in offsets.pairs()]
        for topic, partition, at in entries:
            if not topic or not (partition.isascii() and partition.isdigit()):
                raise at.error(f"'{at.path}': write topic/partition: offset")
        places = ((t, int(p), at.integer(0, (1 << 62) - 1)) for t, p, at in entries)
        return StartupPosition(kind, tuple(places))
    return StartupPosition(kind, (), None if date is None else date.converted(_epoch_ms))


def _epoch_ms(text: str) -> int:
    for form in ("%Y-%m-%d %H:%M:%S.%f %z", "%Y-%m-%d %H:%M:%S %z", "%Y-%m-%dT%H:%M:%S%z"):
        try:
            moment = datetime.strptime(text, form).astimezone(UTC)
        except (ValueError, OverflowError):
            continue
        return int(moment.timestamp() * 1000)
    raise ValueError(f"{text!r} is not a date in the form '2020-02-01 04:15:00.00 Z'")


def _region(field: Located) -> AwsRegion:
    fields = field.require_known(("type", "id", "endpoint"))
    kind = _required(field, fields, "type").choice(("default", "specific", "custom-endpoint"))
    needed = {"default": (), "specific": ("id",), "custom-endpoint": ("id", "endpoint")}[kind]
    return AwsRegion(kind, **_parts(field, fields, needed))


_CREDENTIALS = {
    "accessKeyId": "access_key_id",
    "secretAccessKey": "secret_access_key",
    "profileName": "profile_name",
    "profilePath": "profile_path",
}


def _credentials(field: Located) -> AwsCredentials:
    fields = field.require_known(("type", *_CREDENTIALS))
    kind = _required(field, fields, "type").choice(("default", "basic", "profile"))
    basic, path = ("accessKeyId", "secretAccessKey"), "profilePath"
    profile = ("profileName", *((path,) if _given(fields, path) is not None else ()))
    needed = {"default": (), "basic": basic, "profile": profile}[kind]
    parts = _parts(field, fields, needed)
    return AwsCredentials(kind, **{_CREDENTIALS[name]: text for name, text in parts.items()})


def _parts(field: Located, fields: dict[str, Located], needed: tuple[str, ...]) -> dict[str, str]:
    """Texts of the keys that a type needs. Other keys are faults."""
    extra = fields.keys() - {"type", *needed}
    if extra:
        name = min(extra)
        kind = fields["type"].text()
        raise fields[name].error(f"'{field.path}' of type '{kind}' has no key '{name}'")
    return {name: _required(field, fields, name).text() for name in needed}


def _properties(fields: dict[str, Located], name: str) -> Properties:
    """Properties of a client: a mapping, or a list of mappings. Later ones replace former ones."""
    field = _given(fields, name)
    pairs = () if field is None else field.pairs()
    return tuple({key: value.text() for key, value in pairs}.items())


KINDS: dict[str, Callable[[Located], Component]] = {
    "io.statefun.endpoints.v2/http": _http_endpoint,
    "io.statefun.endpoints.v1/http": _http_endpoint_v1,
    "io.statefun.endpoints/http": _http_endpoint_v1,
    "io.statefun.kafka.v1/ingress": _kafka_ingress,
    "io.statefun.kafka.v1/egress": _kafka_egress,
    "io.statefun.kinesis.v1/ingress": _kinesis_ingress,
    "io.statefun.kinesis.v1/egress": _kinesis_egress,
    "io.statefun.playground.v1/ingress": _playground_ingress,
    "io.statefun.playground.v1/egress": _playground_egress,
}
"""Readers of components, by kind."""
