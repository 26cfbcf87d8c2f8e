"""Kind of state: all properties that are needed to write, read or show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from millrace.common.types.composite_types import ListTypeInfo, MapTypeInfo
from millrace.common.types.plain_data import Convert
from millrace.common.types.type_information import TypeInformation
from millrace.state.flat_table import FlatTable
from millrace.state.frozen import MISSING
from millrace.state.kinds.entry_columns import PER_KEY, EntryColumns, KeyPlace, of_pair
from millrace.state.kinds.layout import Columnar, Layout
from millrace.state.kinds.shown_entries import windowed
from millrace.state.kinds.state_shape import KeyedStateEntry, StateShape
from millrace.state.kinds.time_stamps import STAMPS, Stamps
from millrace.state.list_table import ListTable
from millrace.state.nested_table import NestedTable
from millrace.state.operator_table import OperatorTable
from millrace.state.redistribution_mode import RedistributionMode
from millrace.state.serialization.entry_types import ANYTHING, EntryTypes
from millrace.state.serialization.table_delta_map import TableDeltaMap
from millrace.state.table import StateTable

__all__ = ["EntriesOf", "TableKind", "expiring", "per_window"]

EntriesOf = Callable[[dict[Any, Any], dict[Any, Any]], Iterator[KeyedStateEntry]]
"""Function from a table's contents to the displayed entries. Its second argument is a dict for
merging windows, from (key, namespace of the contents) to the window; it is empty for other
tables."""

Any_ = TypeInformation[Any]


@dataclass(frozen=True, slots=True, eq=False)
class TableKind:
    """One kind of state. There is one object per kind; files and other processes refer to it by
    name.

    Example:
        >>> from millrace.state.table_kinds import LIST
        >>> expiring(LIST).name, per_window(LIST).name
        ('ttl-list', 'window-list')
    """

    name: str
    """Name in files."""
    layout: Layout
    shape: StateShape
    """Shape of an entry."""
    entries: EntriesOf
    """Function that yields the displayed entries of a table."""
    columns: EntryColumns = PER_KEY
    """Columns for the parts of an entry."""
    redistribution: RedistributionMode = RedistributionMode.KEY_GROUP
    """Assignment to subtasks when the parallelism changes."""
    stamps: Stamps | None = None
    """Time stamps, for kinds that expire."""
    merges: bool = False
    """Whether the windows of its entries may have merged."""
    stays_in_memory: bool = False
    """Whether the table is always in memory, with every backend."""
    columnar: Columnar | None = None
    """Form of columns, for kinds with entries in Arrow columns."""
    key: KeyPlace | None = field(init=False)
    """Place of the stream's key; None if entries belong to no key."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", self.columns.key)

    def __repr__(self) -> str:
        return f"<kind {self.name}>"

    # -- tables ------------------------------------------------------------------------

    @property
    def is_keyed(self) -> bool:
        """Whether entries belong to keys of the stream."""
        return self.key is not None

    @property
    def windowed(self) -> bool:
        """Whether entries belong to windows, by keys of (window, key)."""
        return self.columns.windowed

    @property
    def disjoint(self) -> bool:
        """Whether different subtasks never have the same key of the table (nested: the same outer
        key).
        """
        return self.key is not None and not self.key.inner

    @property
    def key_of(self) -> Callable[..., Any]:
        """Function from an entry's key (nested: outer and inner key) to the key of the stream."""
        return (self.key or KeyPlace()).of(self.layout)

    def in_memory(self) -> StateTable:
        """An empty table in memory."""
        if self.columnar is not None:
            return self._columns()
        if not self.is_keyed:
            return OperatorTable()
        if self.layout is Layout.FLAT:
            return FlatTable(self.key_of)
        return (ListTable if self.layout is Layout.LIST else NestedTable)(self.key_of)

    def _columns(self) -> StateTable:
        # Arrow is imported when there is such state, not by who only lists savepoints
        from millrace.state.columns.row_log import RowLog
        from millrace.state.columns.slot_table import SlotTable

        return (SlotTable if self.columnar is Columnar.SLOTS else RowLog)(self.key_of)

    # -- types -------------------------------------------------------------------------

    def entry_types(self, type_info: Any_) -> EntryTypes:
        """Types of an entry's parts, given the type of a key's complete state."""
        if isinstance(type_info, MapTypeInfo) and self.shape in _MAPS:
            return EntryTypes(type_info.key_type, type_info.value_type)
        if isinstance(type_info, ListTypeInfo) and self._has_elements:
            return EntryTypes(ANYTHING, type_info.element_type)
        if self.shape in _MAPS or self._has_elements:
            return EntryTypes(ANYTHING, ANYTHING)
        return EntryTypes(ANYTHING, type_info)

    @property
    def _has_elements(self) -> bool:
        return self.layout is Layout.LIST or self.shape.is_operator_list

    def key_map(self, convert: Convert | None) -> TableDeltaMap:
        """Table delta map that converts the stream's key wherever an entry contains it."""
        return TableDeltaMap() if self.key is None else self.key.converting(convert)

    def value_map(self, inner: Convert | None, value: Convert | None) -> TableDeltaMap:
        """Conversion of the keys of maps, and of values without their time stamps."""
        if value is not None and self.stamps is not None:
            value = of_pair(0, value)
        if self.layout is Layout.NESTED:
            return TableDeltaMap(inner=inner, value=value)
        return TableDeltaMap(outer=inner, value=value)

    # -- looking -----------------------------------------------------------------------

    @property
    def expires(self) -> bool:
        """Whether the state has a time to live."""
        return self.stamps is not None

    @property
    def is_per_key(self) -> bool:
        """Whether this is the state of a keyed function: one value, list or map per key."""
        return self.shape.is_per_key

    def shown(self, value: Any) -> Any:
        """A key's value as the user sees it, without time stamps; `MISSING` for `MISSING`."""
        return value if self.stamps is None or value is MISSING else self.stamps.values(value)

    def alive(self, value: Any, deadline: int) -> Any:
        """A key's value as the user sees it, without parts that were last used at ``deadline`` or
        before; `MISSING` if nothing is left.
        """
        if self.stamps is None or value is MISSING:
            return value
        return self.shown(self.stamps.alive({None: value}, deadline).get(None, MISSING))


_MAPS = (StateShape.MAP, StateShape.WINDOW_MAP, StateShape.BROADCAST)


def expiring(kind: TableKind) -> TableKind:
    """Kind of the same state with a time to live."""
    stamps = STAMPS[kind.layout]
    return replace(
        kind,
        name=f"ttl-{kind.name}",
        stamps=stamps,
        columns=kind.columns.stamped(),
        entries=lambda put, _: (
            KeyedStateEntry(key, stamps.values(stamped), None, stamps.written(stamped))
            for key, stamped in put.items()
        ),
    )


def per_window(kind: TableKind) -> TableKind:
    """Kind of the same state per window and key."""
    return replace(
        kind,
        name=f"window-{kind.name}",
        shape=_PER_WINDOW[kind.shape],
        columns=kind.columns.per_window(),
        entries=windowed,
    )


_PER_WINDOW = {
    StateShape.VALUE: StateShape.WINDOW_VALUE,
    StateShape.LIST: StateShape.WINDOW_LIST,
    StateShape.MAP: StateShape.WINDOW_MAP,
}
