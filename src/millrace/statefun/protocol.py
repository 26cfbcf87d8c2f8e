"""Protobuf messages of the request-reply protocol, and of the records that functions give to
egresses.

The descriptors are built in a pool of their own. An SDK that runs in the same process has the same
message types in protobuf's common pool.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

__all__ = [
    "AFTER_INVOKE",
    "AFTER_WRITE",
    "DELETE",
    "FromFunction",
    "KafkaProducerRecord",
    "KinesisEgressRecord",
    "MODIFY",
    "ToFunction",
    "message_class",
]

_PACKAGE = "io.statefun.sdk"
_REQUEST_REPLY = f"{_PACKAGE}.reqreply"
_EGRESS = f"{_PACKAGE}.egress"
TYPES = "io.statefun.types"
"""Package of the built-in types' messages, and namespace of the types themselves."""

DELETE, MODIFY = 0, 1
"""Kinds of mutations of a state."""
NONE, AFTER_WRITE, AFTER_INVOKE = 0, 1, 2
"""Modes in which a state expires."""

_OF_TYPE = {
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "double": FieldDescriptorProto.TYPE_DOUBLE,
    "float": FieldDescriptorProto.TYPE_FLOAT,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "sfixed32": FieldDescriptorProto.TYPE_SFIXED32,
    "sfixed64": FieldDescriptorProto.TYPE_SFIXED64,
    "string": FieldDescriptorProto.TYPE_STRING,
}


class _Field(NamedTuple):
    """Declaration of a field. A type with a dot is a message, one with ``!`` in front an enum."""

    name: str
    number: int
    type: str
    repeated: bool = False
    alternative: bool = False
    """Whether the field is one of the message's only oneof."""


def _message(name: str, fields: Iterable[_Field], nested: Iterable[Any] = ()) -> DescriptorProto:
    """Descriptor of a message."""
    message = DescriptorProto(name=name, nested_type=nested)
    for declared in fields:
        field = message.field.add(name=declared.name, number=declared.number)
        repeated = declared.repeated
        field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
        if declared.type.startswith("!"):
            field.type, field.type_name = field.TYPE_ENUM, f".{declared.type[1:]}"
        elif "." in declared.type:
            field.type, field.type_name = field.TYPE_MESSAGE, f".{declared.type}"
        else:
            field.type = _OF_TYPE[declared.type]
        if declared.alternative:
            if not message.oneof_decl:
                message.oneof_decl.add(name="content")
            field.oneof_index = 0
    return message


def _add_enum(message: DescriptorProto, name: str, values: Iterable[str]) -> None:
    enum = message.enum_type.add(name=name)
    for number, value in enumerate(values):
        enum.value.add(name=value, number=number)


_ADDRESS = f"{_REQUEST_REPLY}.Address"
_TYPED_VALUE = f"{_REQUEST_REPLY}.TypedValue"
_TO = f"{_REQUEST_REPLY}.ToFunction"
_FROM = f"{_REQUEST_REPLY}.FromFunction"


def _common() -> list[DescriptorProto]:
    """Messages that requests and replies share."""
    return [
        _message(
            "Address",
            [
                _Field("namespace", 1, "string"),
                _Field("type", 2, "string"),
                _Field("id", 3, "string"),
            ],
        ),
        _message(
            "TypedValue",
            [
                _Field("typename", 1, "string"),
                _Field("has_value", 2, "bool"),
                _Field("value", 3, "bytes"),
            ],
        ),
    ]


def _to_function() -> DescriptorProto:
    """Request: a batch of invocations of one address with its states."""
    return _message(
        "ToFunction",
        [_Field("invocation", 100, f"{_TO}.InvocationBatchRequest", alternative=True)],
        [
            _message(
                "PersistedValue",
                [_Field("state_name", 1, "string"), _Field("state_value", 2, _TYPED_VALUE)],
            ),
            _message(
                "Invocation", [_Field("caller", 1, _ADDRESS), _Field("argument", 2, _TYPED_VALUE)]
            ),
            _message(
                "InvocationBatchRequest",
                [
                    _Field("target", 1, _ADDRESS),
                    _Field("state", 2, f"{_TO}.PersistedValue", repeated=True),
                    _Field("invocations", 3, f"{_TO}.Invocation", repeated=True),
                ],
            ),
        ],
    )


def _effects() -> list[DescriptorProto]:
    """Messages for what an invocation does."""
    mutation = _message(
        "PersistedValueMutation",
        [
            _Field("mutation_type", 1, f"!{_FROM}.PersistedValueMutation.MutationType"),
            _Field("state_name", 2, "string"),
            _Field("state_value", 3, _TYPED_VALUE),
        ],
    )
    _add_enum(mutation, "MutationType", ("DELETE", "MODIFY"))
    return [
        mutation,
        _message(
            "Invocation", [_Field("target", 1, _ADDRESS), _Field("argument", 2, _TYPED_VALUE)]
        ),
        _message(
            "DelayedInvocation",
            [
                _Field("delay_in_ms", 1, "int64"),
                _Field("target", 2, _ADDRESS),
                _Field("argument", 3, _TYPED_VALUE),
                _Field("is_cancellation_request", 10, "bool"),
                _Field("cancellation_token", 11, "string"),
            ],
        ),
        _message(
            "EgressMessage",
            [
                _Field("egress_namespace", 1, "string"),
                _Field("egress_type", 2, "string"),
                _Field("argument", 3, _TYPED_VALUE),
            ],
        ),
        _message(
            "InvocationResponse",
            [
                _Field("state_mutations", 1, f"{_FROM}.PersistedValueMutation", repeated=True),
                _Field("outgoing_messages", 2, f"{_FROM}.Invocation", repeated=True),
                _Field("delayed_invocations", 3, f"{_FROM}.DelayedInvocation", repeated=True),
                _Field("outgoing_egresses", 4, f"{_FROM}.EgressMessage", repeated=True),
            ],
        ),
    ]


def _missing_values() -> list[DescriptorProto]:
    """Messages for the states that a request lacks."""
    expiration = _message(
        "ExpirationSpec",
        [
            _Field("mode", 1, f"!{_FROM}.ExpirationSpec.ExpireMode"),
            _Field("expire_after_millis", 2, "int64"),
        ],
    )
    _add_enum(expiration, "ExpireMode", ("NONE", "AFTER_WRITE", "AFTER_INVOKE"))
    return [
        expiration,
        _message(
            "PersistedValueSpec",
            [
                _Field("state_name", 1, "string"),
                _Field("expiration_spec", 2, f"{_FROM}.ExpirationSpec"),
                _Field("type_typename", 3, "string"),
            ],
        ),
        _message(
            "IncompleteInvocationContext",
            [_Field("missing_values", 1, f"{_FROM}.PersistedValueSpec", repeated=True)],
        ),
    ]


def _from_function() -> DescriptorProto:
    """Reply: the effects of a batch, or the states that the request lacks."""
    return _message(
        "FromFunction",
        [
            _Field("invocation_result", 100, f"{_FROM}.InvocationResponse", alternative=True),
            _Field(
                "incomplete_invocation_context",
                101,
                f"{_FROM}.IncompleteInvocationContext",
                alternative=True,
            ),
        ],
        [*_effects(), *_missing_values()],
    )


def _egress_records() -> list[DescriptorProto]:
    """Records that functions give to the egresses of Kafka and Kinesis."""
    return [
        _message(
            "KafkaProducerRecord",
            [
                _Field("key", 1, "string"),
                _Field("value_bytes", 2, "bytes"),
                _Field("topic", 3, "string"),
            ],
        ),
        _message(
            "KinesisEgressRecord",
            [
                _Field("partition_key", 1, "string"),
                _Field("value_bytes", 2, "bytes"),
                _Field("stream", 3, "string"),
                _Field("explicit_hash_key", 4, "string"),
            ],
        ),
    ]


WRAPPERS = {
    f"{TYPES}/bool": ("BooleanWrapper", "bool"),
    f"{TYPES}/int": ("IntWrapper", "sfixed32"),
    f"{TYPES}/long": ("LongWrapper", "sfixed64"),
    f"{TYPES}/float": ("FloatWrapper", "float"),
    f"{TYPES}/double": ("DoubleWrapper", "double"),
    f"{TYPES}/string": ("StringWrapper", "string"),
}
"""Message of each built-in type, and the type of its only field."""


def _pool() -> DescriptorPool:
    pool = DescriptorPool()
    wrappers = [_message(name, [_Field("value", 1, type)]) for name, type in WRAPPERS.values()]
    files = (
        (_REQUEST_REPLY, [*_common(), _to_function(), _from_function()]),
        (_EGRESS, _egress_records()),
        (TYPES, wrappers),
    )
    for package, messages in files:
        pool.Add(
            FileDescriptorProto(
                name=f"{package}.proto", package=package, syntax="proto3", message_type=messages
            )
        )
    return pool


_POOL = _pool()


def message_class(name: str) -> Any:
    """Class of the message with a full name."""
    return GetMessageClass(_POOL.FindMessageTypeByName(name))


ToFunction = message_class(_TO)
FromFunction = message_class(_FROM)
KafkaProducerRecord = message_class(f"{_EGRESS}.KafkaProducerRecord")
KinesisEgressRecord = message_class(f"{_EGRESS}.KinesisEgressRecord")
KAFKA_RECORD = f"type.googleapis.com/{_EGRESS}.KafkaProducerRecord"
"""Type name of records for the Kafka egress."""
KINESIS_RECORD = f"type.googleapis.com/{_EGRESS}.KinesisEgressRecord"
"""Type name of records for the Kinesis egress."""
