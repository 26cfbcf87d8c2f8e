"""Form of a table's entries: in memory, and in deltas.

State is restored before the program declares its type. Until then, its values keep the plain form
in which they were written (see `TableForm.schema`), also in new deltas. The declaration converts
them once. Keys always have their real form in memory, because their key group depends on it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from millrace.common.errors import SerializationError, StateError, StateMigrationError
from millrace.common.types.plain_data import Convert, chained, from_plain, to_plain
from millrace.common.types.type_information import TypeInformation
from millrace.state.kinds.layout import Layout
from millrace.state.kinds.table_kind import TableKind
from millrace.state.serialization.entry_types import ANYTHING, EntryTypes, StateOwner
from millrace.state.serialization.evolution import TypeChangeError, key_migration, migration
from millrace.state.serialization.schema import ANY, Schema, type_of_schema
from millrace.state.serialization.table_delta_map import TableDeltaMap
from millrace.state.table import StateTable, TableDelta
from millrace.state.table_id import TableId

__all__ = ["SCHEMA_VERSION", "TableForm", "TableSchema"]

SCHEMA_VERSION = 1
ENTRIES_AT_ONCE = 1000

TableSchema = tuple[int, Schema, Schema, Schema] | None
"""Version, and the schemas of key, inner key and value; None if none of these has a type."""


class _Written(NamedTuple):
    """Schemas of the parts of entries, as a descriptor declares them."""

    inner: Schema = ANY
    value: Schema = ANY


UNTYPED = _Written()
T = TypeVar("T")


class TableForm:
    """Types of a table, and the conversions between memory and deltas.

    Args:
        name: name of the table.
        kind: kind of the table.
        owner: the operator; None if it is not known, so that keys keep their written form.
        as_written: whether entries are converted at once to values of their written types.
    """

    def __init__(
        self, name: TableId, kind: TableKind, owner: StateOwner | None, as_written: bool = False
    ) -> None:
        self.kind = kind
        self._as_written = as_written
        self.stale = False
        """Whether deltas hold entries in another form than the form that is written now."""
        self._name = name
        self._owner = owner
        self._types: EntryTypes | None = None
        self._declared: TypeInformation[Any] | None = None
        self._written: _Written | None = None
        """Schemas of the deltas that were read; None if none was read."""
        typed = kind.is_keyed and kind.columnar is None  # columns have Arrow's types
        key_type = owner.key_type if owner is not None and typed else None
        self._key_type = key_type or ANYTHING
        self._key_schema = self._key_type.schema()
        self._of_columns: TableSchema = None
        """Schema of columns in the deltas that were read."""
        self._written_key: Schema = ANY
        """Schema of keys in their plain form."""
        self._out = (TableDeltaMap(), TableDeltaMap())
        self._prepare()

    @property
    def declared(self) -> bool:
        """Whether the program has declared the type of the values."""
        return self._types is not None

    @property
    def schema(self) -> TableSchema:
        """Schema that is stored next to the entries."""
        late, key = self._present(), self._key()
        if late == UNTYPED and key == ANY:
            return None
        return (SCHEMA_VERSION, key, late.inner, late.value)

    def schema_of(self, table: StateTable) -> TableSchema:
        """Schema that is stored next to the entries of ``table``. For columns, the operator
        declares it, or it is the schema that was read."""
        if self.kind.columnar is None:
            return self.schema
        schemas = table.entry_schemas
        return self._of_columns if schemas is None else (SCHEMA_VERSION, *schemas)

    def declare(self, type_info: TypeInformation[Any], table: StateTable) -> None:
        """Set the type that a descriptor declares, and convert the entries in the table.

        Raises:
            StateMigrationError: the entries were written with a type that cannot be converted to
                this one.
            StateError: another type was declared before.
        """
        if type_info is self._declared:  # triggers ask for their state with each record
            return
        types = self.kind.entry_types(type_info)
        if self._types is not None:
            if _schemas(types) != self._schemas:
                raise StateError(f"{self._described()} is declared twice with different types")
            self._declared = type_info
            return
        written = self._written
        if written is not None:
            self._convert(table, self._reader(written, types))
            self.stale = self.stale or written != _schemas(types)
        self._types, self._declared = types, type_info
        self._prepare()

    def incoming(self, table_delta: TableDelta, schema: TableSchema) -> TableDelta:
        """Table delta from a file, converted to the table's form.

        Raises:
            StateMigrationError: the types of the table delta do not fit the types of this table.
        """
        if self.kind.columnar is not None:
            self._of_columns = schema or self._of_columns
            return table_delta
        if schema is None and self.schema is None:
            self._written = UNTYPED
            return table_delta
        version, key, inner, value = schema or (SCHEMA_VERSION, ANY, ANY, ANY)
        if version != SCHEMA_VERSION:
            raise StateMigrationError(
                f"{self._described()} has a schema of version {version}; use the release of "
                "millrace that wrote it, or a newer one"
            )
        if self._owner is None and not self._as_written:
            self._written_key = key
            with_keys = table_delta
        else:
            with_keys = self._applied(self._checked(lambda: self._key_reader(key)), table_delta)
        if key != self._key():
            self.stale = True
        return self.admit(with_keys, _Written(inner, value))

    def admit(self, table_delta: TableDelta, written: tuple[Schema, Schema]) -> TableDelta:
        """Convert a table delta, whose keys already have the table's form, to this form.
        ``written`` has the schemas of the values' plain data (see `written`)."""
        late = _Written(*written)
        if self._as_written and self._types is None and late != UNTYPED:
            self._types = EntryTypes(type_of_schema(late.inner), type_of_schema(late.value))
            self._prepare()
        if self._types is None:
            if self._written is not None and self._written != late:
                raise StateMigrationError(
                    f"{self._described()} was written with two types by different subtasks; "
                    "restore with the former parallelism first"
                )
            self._written = late
            return table_delta
        self._written = late
        if late != _schemas(self._types):
            self.stale = True
        return self._applied(self._reader(late, self._types), table_delta)

    @property
    def written(self) -> tuple[Schema, Schema]:
        """Schemas of the plain data in memory, for keys of maps and for values; `UNTYPED` if
        values have their real types in memory."""
        return UNTYPED if self._types is not None else self._written or UNTYPED

    def outgoing(self, table_delta: TableDelta) -> TableDelta:
        """Table delta converted to its stored form.

        Raises:
            SerializationError: a value cannot be written.
        """
        keys, values = self._out
        try:
            return keys(self.kind.layout, values(self.kind.layout, table_delta))
        except SerializationError as error:
            raise SerializationError(f"{self._described()}: {error}") from error
        except (AttributeError, TypeError, ValueError) as error:
            raise SerializationError(
                f"{self._described()} holds a value that does not fit its type ({error})"
            ) from error

    def forget(self) -> None:
        """Forget the encodings of earlier deltas, because the table was emptied."""
        self._written = None
        self._written_key = ANY
        self.stale = False
        if self._as_written:
            self._types = None
            self._prepare()

    @property
    def plain(self) -> bool:
        """Whether entries have the same form in memory as in deltas."""
        return all(change.changes_nothing for change in self._out)

    def recovered(self, schema: TableSchema) -> bool:
        """Take over entries that another process left in plain form, written with this schema.
        Returns False if they cannot be used because the type of the keys has changed.
        """
        version, key, inner, value = schema or (SCHEMA_VERSION, ANY, ANY, ANY)
        self._written = _Written(inner, value)
        return version == SCHEMA_VERSION and key == self._key()

    def rewritten(self) -> None:
        """Record that all entries have been written in the present form."""
        self.stale = False

    def _present(self) -> _Written:
        return self._schemas or self._written or UNTYPED

    def _key(self) -> Schema:
        return self._written_key if self._owner is None else self._key_schema

    def _prepare(self) -> None:
        values = TableDeltaMap()
        self._schemas = None if self._types is None else _schemas(self._types)
        if self._types is not None:
            inner, value = to_plain(self._types.inner), to_plain(self._types.value)
            values = self.kind.value_map(inner, value)
        self._out = (self.kind.key_map(to_plain(self._key_type)), values)

    def _key_reader(self, written: Schema) -> TableDeltaMap:
        if written == ANY:
            return TableDeltaMap()
        if self._owner is None or self._owner.key_type is None:
            described = type_of_schema(written)
            return self.kind.key_map(_read(written, described))
        key_migration(written, self._key_type, "its key")
        return self.kind.key_map(from_plain(self._key_type))

    def _reader(self, written: _Written, types: EntryTypes) -> TableDeltaMap:
        """Conversion from plain data of ``written`` to values of ``types``."""

        def made() -> TableDeltaMap:
            if written.inner not in (ANY, types.inner.schema()):
                key_migration(written.inner, types.inner, "the key of its map")
            inner = _read(written.inner, types.inner)
            return self.kind.value_map(inner, _read(written.value, types.value))

        return self._checked(made)

    def _convert(self, table: StateTable, change: TableDeltaMap) -> None:
        if change.changes_nothing:
            return
        rekeyed = change.inner if self.kind.layout is Layout.NESTED else change.outer
        step = table.scan(None, sys.maxsize if rekeyed else ENTRIES_AT_ONCE)
        if rekeyed:  # an old key must not stay, nor be taken for a new one
            table.clear()
        table.apply(self._applied(change, step.table_delta))
        while step.cursor is not None:
            step = table.scan(step.cursor, ENTRIES_AT_ONCE)
            table.apply(self._applied(change, step.table_delta))

    def _applied(self, change: TableDeltaMap, table_delta: TableDelta) -> TableDelta:
        return self._checked(lambda: change(self.kind.layout, table_delta))

    def _checked(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except TypeChangeError as error:
            reason: object = error
        except StateMigrationError:
            raise
        except Exception as error:
            reason = f"its content does not fit its type ({type(error).__name__}: {error})"
        raise StateMigrationError(f"{self._described()} cannot be restored: {reason}")

    def _described(self) -> str:
        operator = self._owner.name if self._owner is not None else ""
        return f"state '{self._name.name}' of operator '{operator or self._name.uid}'"


def _schemas(types: EntryTypes) -> _Written:
    return _Written(types.inner.schema(), types.value.schema())


def _read(written: Schema, present: TypeInformation[Any]) -> Convert | None:
    """Conversion from plain data of the written type to values of the present one."""
    if present.schema() == ANY:
        return migration(written, present)
    return chained(migration(written, present), from_plain(present))
