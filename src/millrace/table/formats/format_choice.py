"""`FormatChoice`: the format in an option of a table, with the format's options.

Flink: ``FactoryUtil.TableFactoryHelper``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from millrace.common.config.config_options import ConfigOption
from millrace.common.error_policy import ErrorPolicy
from millrace.common.plugins import Plugins
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.types.logical.logical_type import RowType
from millrace.formats.changes.change_metadata import ChangeMetadata
from millrace.table.catalog.errors import CatalogError, name_hint, plugin_hint
from millrace.table.formats.avro_formats import AVRO_FORMATS
from millrace.table.formats.change_formats import CHANGE_FORMATS
from millrace.table.formats.message_format import ROW_FORMATS, MessageFormat
from millrace.table.formats.protobuf_format import PROTOBUF_FORMATS

__all__ = ["MESSAGE_FORMATS", "FormatChoice", "chosen", "format_options"]

MESSAGE_FORMATS: Plugins[MessageFormat] = Plugins(
    "millrace.formats",
    MessageFormat,  # type: ignore[type-abstract]
    "format",
    {**ROW_FORMATS, **AVRO_FORMATS, **PROTOBUF_FORMATS, **CHANGE_FORMATS},
    CatalogError,
)
"""All formats by the value of the option ``format``."""


def chosen(name: str, key: str, known: Mapping[str, Any]) -> Any:
    """The format object that the value of an option names.

    Raises:
        CatalogError: the value names no known object.
    """
    if name not in known:
        hint = plugin_hint(name, known) if isinstance(known, Plugins) else name_hint(name, known)
        raise CatalogError(f"'{key}' = '{name}': there is no such value{hint}", name)
    return known[name]


def format_options(
    options: Mapping[str, str],
    keys: Iterable[str],
    known: Mapping[str, Sequence[ConfigOption[Any]]] | None = None,
) -> list[ConfigOption[Any]]:
    """The options of all formats that a table names; their keys begin with the format's prefix.

    Args:
        keys: the options that name formats: ``format``, ``key.format``, ``value.format``.
        known: the options of formats that are no `MESSAGE_FORMATS`.

    Raises:
        CatalogError: a format is unknown.
    """
    all_options: list[ConfigOption[Any]] = []
    for key in keys:
        name = options.get(key)
        if name is None:
            continue
        if known is not None and name in known:
            all_options += known[name]
        else:
            of_format = chosen(name, key, MESSAGE_FORMATS).options
            all_options += [_prefixed(key, option) for option in of_format]
    return all_options


def _prefixed(key: str, option: ConfigOption[Any]) -> ConfigOption[Any]:
    return replace(option, key=key.removesuffix("format") + option.key)


class FormatChoice:
    """A format of messages, chosen by the options of a table.

    Args:
        key: the option that names it.
        name: its value.
        get: gives the values of options.

    Raises:
        CatalogError: there is no such format.
    """

    def __init__(self, key: str, name: str, get: Callable[[ConfigOption[Any]], Any]) -> None:
        self._key = key
        self._get = get
        self.name = name
        self.format: MessageFormat = chosen(name, key, MESSAGE_FORMATS)

    def _read(self, option: ConfigOption[Any]) -> Any:
        return self._get(_prefixed(self._key, option))

    @property
    def error_policy(self) -> ErrorPolicy:
        """Treatment of messages that cannot be read."""
        return self.format.error_policy(self._read)

    def metadata_reader(self, key: str) -> ChangeMetadata:
        """Reader of a metadata value of messages, by its key."""
        return self.format.metadata_reader(key, self._read)

    def deserializer(self, physical: RowType, wanted: Sequence[str]) -> DeserializationSchema[Any]:
        """Deserializer of messages to rows that contain only the wanted physical columns."""
        return self.format.deserializer(physical, wanted, self._read)

    def has_empty_messages(self, physical: RowType) -> bool:
        """Whether an empty line of a file counts as a row."""
        return self.format.has_empty_messages(physical)

    def serializer(self, columns: RowType) -> SerializationSchema[Any]:
        """Serializer of rows of the given columns."""
        return self.format.serializer(columns, self._read)
