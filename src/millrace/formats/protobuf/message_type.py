"""Message types of Protobuf in picklable form: the descriptors of their files, and their name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.installation import install_command

__all__ = ["MessageType"]

_MAX_FIELDS = 20_000


@dataclass(frozen=True, slots=True)
class MessageType:
    """A picklable message type.

    Attributes:
        files: a serialized ``FileDescriptorSet``: its file, behind all that this imports.
        name: its full name.
    """

    files: bytes
    name: str

    @staticmethod
    def of_class(message_class: Any) -> MessageType:
        """Type of a class that ``protoc`` generated.

        Raises:
            JobDefinitionError: the class is not such a class, or protobuf is not installed.
        """
        require_protobuf()
        descriptor = getattr(message_class, "DESCRIPTOR", None)
        if descriptor is None or not hasattr(descriptor, "full_name"):
            raise JobDefinitionError(
                f"{message_class!r} is not a class of messages: give one that protoc generated, or "
                "take for_descriptor_set()"
            )
        from google.protobuf.descriptor_pb2 import FileDescriptorSet

        file_set = FileDescriptorSet()
        _add_file(file_set, descriptor.file, set())
        return checked(MessageType(file_set.SerializeToString(), descriptor.full_name))

    @staticmethod
    def of_descriptor_set(descriptor_set: bytes | str | os.PathLike[str], name: str) -> MessageType:
        """Type with this name in a descriptor set.

        Args:
            descriptor_set: its bytes, or the file with what ``protoc --include_imports
                --descriptor_set_out`` wrote.
            name: the full name, such as ``shop.Order``.

        Raises:
            JobDefinitionError: the file cannot be read, it is no descriptor set, an import is
                missing in it, or the type; or Protobuf is not installed.
        """
        require_protobuf()
        try:
            given = descriptor_set
            data = given if isinstance(given, bytes) else Path(given).read_bytes()
        except OSError as error:
            raise JobDefinitionError(f"no descriptor set: {error}") from None
        return checked(MessageType(data, name))

    @property
    def message_class(self) -> Any:
        """Class of the type's messages."""
        return _message_class(self)


def require_protobuf() -> None:
    """Check that the library protobuf is installed.

    Raises:
        JobDefinitionError: protobuf is not installed.
    """
    try:
        import google.protobuf.message  # noqa: F401
    except ImportError:
        raise JobDefinitionError(
            f"Protobuf needs its library: {install_command('protobuf')}"
        ) from None


@lru_cache(maxsize=256)
def _message_class(message_type: MessageType) -> Any:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    # a pool of its own: what the program has imported may be another version of the same file
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(message_type.files).file:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(message_type.name))


def checked(message_type: MessageType) -> MessageType:
    """The message type itself, after a check that rows can represent it.

    Raises:
        JobDefinitionError: the descriptor set lacks the type, or no row type can represent it.
    """
    try:
        descriptor = message_type.message_class.DESCRIPTOR
    except Exception as error:  # TypeError, KeyError or DecodeError, by what is wrong
        raise JobDefinitionError(
            f"no message type {message_type.name!r} in the descriptor set: {error}; write the set "
            "with protoc --include_imports"
        ) from None
    _count(descriptor, (), [0])
    return message_type


def _count(descriptor: Any, outer: tuple[str, ...], seen: list[int]) -> None:
    name = descriptor.full_name
    if name.startswith("google.protobuf."):
        return
    if name in outer:
        raise JobDefinitionError(
            f"the message type {name} contains itself; such types have no row type"
        )
    for field in descriptor.fields:
        seen[0] += 1
        if seen[0] > _MAX_FIELDS:
            raise JobDefinitionError(f"a message type has more than {_MAX_FIELDS} fields")
        if field.message_type is not None:
            _count(field.message_type, (*outer, name), seen)


def _add_file(file_set: Any, file: Any, names: set[str]) -> None:
    """Add a file after its imports."""
    if file.name in names:
        return
    names.add(file.name)
    for imported in file.dependencies:
        _add_file(file_set, imported, names)
    file.CopyToProto(file_set.file.add())
