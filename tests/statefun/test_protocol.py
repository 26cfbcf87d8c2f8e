"""Bytes of the request-reply protocol, as the SDKs write and read them."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.statefun.address import Address, FunctionType, TypedValue, split_typename
from millrace.statefun.protocol import (
    AFTER_INVOKE,
    DELETE,
    MODIFY,
    FromFunction,
    KafkaProducerRecord,
    KinesisEgressRecord,
    ToFunction,
)
from millrace.statefun.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, STRING, decoded, typed


def test_a_request_has_the_documented_field_numbers() -> None:
    request = ToFunction()
    batch = request.invocation
    batch.target.namespace, batch.target.type, batch.target.id = "n", "t", "i"
    state = batch.state.add()
    state.state_name = "s"
    batch.invocations.add().argument.has_value = True
    inner = (
        b"\x0a\x09\x0a\x01n\x12\x01t\x1a\x01i" + b"\x12\x03\x0a\x01s" + b"\x1a\x04\x12\x02\x10\x01"
    )
    assert request.SerializeToString() == b"\xa2\x06" + bytes([len(inner)]) + inner


def test_a_reply_has_the_documented_field_numbers() -> None:
    result = FromFunction().invocation_result
    deleted, modified = result.state_mutations.add(), result.state_mutations.add()
    deleted.mutation_type, deleted.state_name = DELETE, "a"
    modified.mutation_type, modified.state_name = MODIFY, "b"
    delayed = result.delayed_invocations.add()
    delayed.delay_in_ms, delayed.is_cancellation_request = 5, True
    delayed.cancellation_token = "x"
    egress = result.outgoing_egresses.add()
    egress.egress_namespace, egress.egress_type = "n", "e"
    assert result.SerializeToString() == (
        b"\x0a\x03\x12\x01a"
        b"\x0a\x05\x08\x01\x12\x01b"
        b"\x1a\x07\x08\x05\x50\x01\x5a\x01x"
        b"\x22\x06\x0a\x01n\x12\x01e"
    )


def test_missing_values_have_the_documented_field_numbers() -> None:
    reply = FromFunction()
    spec = reply.incomplete_invocation_context.missing_values.add()
    spec.state_name, spec.type_typename = "s", "t"
    spec.expiration_spec.mode, spec.expiration_spec.expire_after_millis = AFTER_INVOKE, 7
    assert (
        reply.SerializeToString()
        == b"\xaa\x06\x0e\x0a\x0c\x0a\x01s\x12\x04\x08\x02\x10\x07\x1a\x01t"
    )
    assert reply.WhichOneof("content") == "incomplete_invocation_context"


def test_a_reply_without_bytes_has_no_content() -> None:
    assert FromFunction.FromString(b"").WhichOneof("content") is None


def test_egress_records_have_the_documented_field_numbers() -> None:
    kafka = KafkaProducerRecord(key="k", value_bytes=b"v", topic="t")
    assert kafka.SerializeToString() == b"\x0a\x01k\x12\x01v\x1a\x01t"
    kinesis = KinesisEgressRecord(
        partition_key="k", value_bytes=b"v", stream="s", explicit_hash_key="h"
    )
    assert kinesis.SerializeToString() == b"\x0a\x01k\x12\x01v\x1a\x01s\x22\x01h"


@pytest.mark.parametrize(
    ("typename", "value", "payload"),
    [
        (BOOLEAN, True, b"\x08\x01"),
        (BOOLEAN, False, b""),
        (INT, -2, b"\x0d\xfe\xff\xff\xff"),
        (INT, 0, b""),
        (LONG, 1 << 40, b"\x09\x00\x00\x00\x00\x00\x01\x00\x00"),
        (FLOAT, 1.5, b"\x0d\x00\x00\xc0\x3f"),
        (DOUBLE, 1.5, b"\x09\x00\x00\x00\x00\x00\x00\xf8\x3f"),
        (STRING, "ä", b"\x0a\x02\xc3\xa4"),
        (STRING, "", b""),
        ("com.example/User", b"{}", b"{}"),
    ],
)
def test_values_of_types_keep_their_bytes(typename: str, value: object, payload: bytes) -> None:
    assert typed(typename, value) == TypedValue(typename, True, payload)
    assert decoded(TypedValue(typename, True, payload)) == value


def test_a_missing_value_is_none_and_not_the_default() -> None:
    assert decoded(TypedValue(INT, False, b"")) is None


@pytest.mark.parametrize(("typename", "value"), [(INT, "1"), (INT, 1 << 31), ("a/b", "text")])
def test_a_value_of_another_type_is_refused(typename: str, value: object) -> None:
    with pytest.raises(SerializationError, match=typename):
        typed(typename, value)


def test_damaged_bytes_name_the_type() -> None:
    with pytest.raises(SerializationError, match=r"1 bytes are not a value of type .*/string"):
        decoded(TypedValue(STRING, True, b"\xff"))


def test_type_names_have_a_namespace_and_a_name() -> None:
    assert split_typename("a/b/c") == ("a/b", "c")
    assert str(Address("a", "b", "7")) == "a/b/7"
    assert Address("a", "b", "7").function_type == FunctionType("a", "b")
    for wrong in ("", "a", "/a", "a/"):
        with pytest.raises(JobDefinitionError, match="is not a type name"):
            split_typename(wrong)
