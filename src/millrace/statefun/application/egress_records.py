"""Records that functions build with their SDK for an egress of Kafka or Kinesis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from millrace.common.errors import SerializationError
from millrace.statefun.address import TypedValue

__all__ = ["EgressRecords"]


class EgressRecords(NamedTuple):
    """Records that an egress takes.

    Attributes:
        store: name of the store, for messages.
        typename: type name of the values.
        message: class of their protobuf message.
        builder: function of the SDK for Python that builds them.
        required: fields of the message that must have a value.
    """

    store: str
    typename: str
    message: Any
    builder: str
    required: Sequence[str]

    def parsed(self, value: TypedValue) -> Any:
        """The Protobuf message in a value that a function wrote.

        Raises:
            SerializationError: the value is of another type or damaged, or lacks a field.
        """
        if value.typename != self.typename:
            raise SerializationError(
                f"an egress of {self.store} takes records of type {self.typename}, but a function "
                f"wrote a value of type {value.typename or 'nothing'}: build it with the SDK's "
                f"{self.builder}()"
            )
        try:
            record = self.message.FromString(value.value)
        except DecodeError:
            raise SerializationError(
                f"{len(value.value)} bytes are not a record of type {self.typename}"
            ) from None
        for name in self.required:
            if not getattr(record, name):
                raise SerializationError(
                    f"a record for an egress of {self.store} lacks the field {name}"
                )
        return record
