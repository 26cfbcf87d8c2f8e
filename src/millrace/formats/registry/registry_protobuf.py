"""Protobuf messages with schemas in a registry (Confluent docs, "Protobuf Schema Serializer")."""

from __future__ import annotations

from base64 import standard_b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from millrace.common.errors import SerializationError
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.batch import Batch
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.row import Row
from millrace.common.types.type_information import TypeInformation
from millrace.formats.avro.container import varint
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.protobuf.message_type import MessageType
from millrace.formats.protobuf.protobuf_row import MessageEncoder, ProtobufRowDeserializationSchema
from millrace.formats.registry.registry_avro import required_subject
from millrace.formats.registry.registry_client import (
    RegisteredSchema,
    SchemaReference,
    SchemaRegistryClient,
)
from millrace.formats.registry.registry_config import RegistryConfig
from millrace.formats.registry.wire_format import PREFIX_BYTES, prefix, schema_ids_of

__all__ = [
    "ConfluentRegistryProtobufDeserializationSchema",
    "ConfluentRegistryProtobufSerializationSchema",
    "content_of",
    "index_bytes",
    "indexes_of",
]

Properties = Mapping[str, str]
_BUILT_IN = "google/protobuf/"
"""Prefix of the files that every registry knows."""


class ConfluentRegistryProtobufDeserializationSchema(
    DeserializationSchema[Row], ResultTypeQueryable
):
    """Reads messages as rows of a type; Protobuf's own rules apply to messages of other
    versions. Made by `for_class`."""

    def __init__(self, message_type: MessageType, config: RegistryConfig) -> None:
        self._message_type = message_type
        self._config = config
        self._rows = ProtobufRowDeserializationSchema(message_type)
        self._known: set[int] = set()

    @staticmethod
    def for_class(
        message_class: Any, url: str, registry_configs: Properties | None = None
    ) -> ConfluentRegistryProtobufDeserializationSchema:
        """Schema that reads messages of a class that ``protoc`` generated.

        Args:
            message_class: the class.
            url: address of the registry, or several separated by commas.
            registry_configs: see `RegistryConfig.create`.

        Raises:
            JobDefinitionError: the class is not such a class, or the registry's address or a
                property is invalid.
        """
        config = RegistryConfig.create(url, registry_configs)
        return ConfluentRegistryProtobufDeserializationSchema(
            MessageType.of_class(message_class), config
        )

    def deserialize(self, message: bytes) -> Row:
        """Row of a message.

        Raises:
            MalformedRecordError: the message has no frame, or a schema that the registry does not
                know or that is none of Protobuf, or is no such message.
            SchemaRegistryError: the registry does not answer.
        """
        [content] = self._contents([message])
        return self._rows.deserialize(content)

    def deserialize_batch(self, messages: Sequence[bytes]) -> Batch:
        return self._rows.deserialize_batch(self._contents(messages))

    def _contents(self, messages: Sequence[bytes]) -> list[bytes]:
        for schema_id in schema_ids_of(messages) if messages else ():
            if schema_id not in self._known:
                schema = SchemaRegistryClient.of(self._config).schema(schema_id)
                if schema.kind != "PROTOBUF":
                    raise SerializationError(
                        f"the message is {schema.kind}, where Protobuf is expected"
                    )
                self._known.add(schema_id)
        return list(map(content_of, messages))

    def get_produced_type(self) -> TypeInformation[Any]:
        """The type of the rows."""
        return self._rows.get_produced_type()

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self._message_type, self._config)
        return ConfluentRegistryProtobufDeserializationSchema, given


class ConfluentRegistryProtobufSerializationSchema(SerializationSchema[Any]):
    """Writes rows (or tuples, dicts, dataclass instances) as messages of a type in a registry.
    Made by `for_class`."""

    def __init__(
        self, subject: str, message_type: MessageType, config: RegistryConfig, auto_register: bool
    ) -> None:
        self._subject = subject
        self._message_type = message_type
        self._config = config
        self._auto_register = auto_register
        self._encoder = MessageEncoder(message_type)
        self._prefix: bytes | None = None

    @staticmethod
    def for_class(
        subject: str,
        message_class: Any,
        url: str,
        registry_configs: Properties | None = None,
        auto_register: bool = True,
    ) -> ConfluentRegistryProtobufSerializationSchema:
        """Schema that writes messages of a class that ``protoc`` generated.

        Args:
            subject: subject of the class's file; see `SubjectName`. Imported files are registered
                under the names of the imports.
            message_class: the class.
            url: address of the registry, or several separated by commas.
            registry_configs: see `RegistryConfig.create`.
            auto_register: register files that the registry lacks; if False, this is an error.

        Raises:
            JobDefinitionError: the class is not such a class, or the subject, the registry's
                address or a property is invalid.
        """
        config = RegistryConfig.create(url, registry_configs)
        return ConfluentRegistryProtobufSerializationSchema(
            required_subject(subject), MessageType.of_class(message_class), config, auto_register
        )

    def serialize(self, value: Any) -> bytes:
        """A row as the bytes of a Protobuf message, after the frame of the registry's wire format.

        Raises:
            SerializationError: the row does not fit the type.
            SchemaRegistryError: the registry does not answer, or does not take the schema.
        """
        if self._prefix is None:
            descriptor = self._message_type.message_class.DESCRIPTOR
            client = SchemaRegistryClient.of(self._config)
            schema = self._schema(client, descriptor.file)
            schema_id = client.schema_id(self._subject, schema, self._auto_register)
            self._prefix = prefix(schema_id) + index_bytes(indexes_of(descriptor))
        return self._prefix + self._encoder.write(value)

    def _schema(self, client: SchemaRegistryClient, file: Any) -> RegisteredSchema:
        """Schema of a file, with references to its imports, which are registered first if
        necessary."""
        references = []
        for imported in file.dependencies:
            if not imported.name.startswith(_BUILT_IN):
                inner = self._schema(client, imported)
                client.schema_id(imported.name, inner, self._auto_register)
                version = client.version(imported.name, inner)
                references.append(SchemaReference(imported.name, imported.name, version))
        # as Confluent's own client for Python: the registry takes descriptors in place of text
        text = standard_b64encode(file.serialized_pb).decode()
        return RegisteredSchema("PROTOBUF", text, tuple(references))

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self._subject, self._message_type, self._config, self._auto_register)
        return ConfluentRegistryProtobufSerializationSchema, given


_MAX_INDEXES = 100


def indexes_of(descriptor: Any) -> list[int]:
    """Position of a type in its file: the index of its outermost type, then of each nested type."""
    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

    # descriptors list types by name; only their messages have the order of the file
    outer = descriptor.containing_type
    if outer is None:
        file = FileDescriptorProto()
        descriptor.file.CopyToProto(file)
        return [[kind.name for kind in file.message_type].index(descriptor.name)]
    around = DescriptorProto()
    outer.CopyToProto(around)
    names = [kind.name for kind in around.nested_type]
    return [*indexes_of(outer), names.index(descriptor.name)]


def index_bytes(indexes: Sequence[int]) -> bytes:
    """Encoded indexes of a message type in its file, in the form that precedes a message.

    >>> index_bytes([0]), index_bytes([1, 0])
    (b'\\x00', b'\\x04\\x02\\x00')
    """
    if list(indexes) == [0]:
        return b"\0"
    return varint(len(indexes)) + b"".join(map(varint, indexes))


def content_of(message: bytes) -> bytes:
    """Content of a message, after its frame and message indexes.

    Raises:
        MalformedRecordError: the indexes are cut off, or invalid.
    """
    count, at = _number(message, PREFIX_BYTES)
    if not 0 <= count <= _MAX_INDEXES:
        raise MalformedRecordError(f"a message of {count} message indexes", bytes(message))
    for _ in range(count):
        _, at = _number(message, at)
    return message[at:]


def _number(message: bytes, at: int) -> tuple[int, int]:
    """A zigzag-encoded number, and the position after it."""
    bits = 0
    for place, byte in enumerate(message[at : at + 5]):
        bits |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return (bits >> 1) ^ -(bits & 1), at + place + 1
    raise MalformedRecordError("the message's indexes are cut", bytes(message))
