"""JSON objects of a declared type as Arrow columns, many messages in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from millrace.common.types.batch import ColumnBatch
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type

if TYPE_CHECKING:
    import pyarrow

__all__ = ["JsonColumns"]

_TOGETHER = 2_000
"""Messages that become columns at a time: what they are in between stays in the cache."""

_PYTHON: dict[type[logical.LogicalType], type] = {
    logical.BooleanType: bool,
    logical.TinyIntType: int,
    logical.SmallIntType: int,
    logical.IntType: int,
    logical.BigIntType: int,
    logical.DoubleType: float,
    logical.VarCharType: str,
}
"""Types whose values msgspec reads as `JsonRowDeserializationSchema` does. Where it refuses one,
such as a number in quotes, the messages are read one by one."""


class JsonColumns:
    """Reads messages that each hold one JSON object.

    Args:
        row_type: of the rows.
        strict: whether a field that is missing is to be refused; else it is null.

    Example:
        >>> from millrace.common import Types
        >>> columns = JsonColumns(Types.ROW_NAMED(["n"], [Types.LONG()]))
        >>> columns.read([b'{"n": 1}', b'{"more": 2}']).data.to_pydict()
        {'n': [1, None]}
        >>> columns.read([b'{"n": "1"}']) is None
        True
    """

    def __init__(self, row_type: RowTypeInfo, strict: bool = False) -> None:
        kind = row_type.logical_type
        assert isinstance(kind, logical.RowType)
        self._names = [field.name for field in kind.fields]
        self._types = [field.type for field in kind.fields]
        known = bool(self._types) and all(type(t) in _PYTHON for t in self._types)
        self._attributes = [f"f{index}" for index in range(len(self._names))]
        self._getters = [attrgetter(name) for name in self._attributes]
        self._decode: Callable[[bytes], Any] | None = None
        if known:
            self._decode = msgspec.json.Decoder(self._struct(strict)).decode

    def _struct(self, strict: bool) -> type:
        """Make the type that a message is read as; strings and numbers hold no other objects, so
        the garbage collector need not look at it."""
        optional = [_PYTHON[type(kind)] | None for kind in self._types]
        fields: list[Any] = (
            list(zip(self._attributes, optional, strict=True))
            if strict
            else [(name, kind, None) for name, kind in zip(self._attributes, optional, strict=True)]
        )
        names = dict(zip(self._attributes, self._names, strict=True))
        return msgspec.defstruct("Message", fields, rename=names, gc=False)

    def read(self, messages: Sequence[bytes]) -> ColumnBatch | None:
        """The columns, or None: read them one by one."""
        if self._decode is None:
            return None
        import pyarrow as pa

        try:
            parts = [
                self._columns(messages[start : start + _TOGETHER])
                for start in range(0, len(messages) or 1, _TOGETHER)
            ]
            columns = parts[0]
            if len(parts) > 1:
                columns = [pa.concat_arrays(column) for column in zip(*parts, strict=True)]
        except (msgspec.DecodeError, pa.ArrowException, OverflowError, RecursionError, ValueError):
            return None
        return ColumnBatch(pa.RecordBatch.from_arrays(columns, self._names), form="row")

    def _columns(self, messages: Sequence[bytes]) -> list[pyarrow.Array]:
        import pyarrow as pa

        assert self._decode is not None
        structs = list(map(self._decode, messages))
        return [
            pa.array(list(map(get, structs)), arrow_type(kind))
            for get, kind in zip(self._getters, self._types, strict=True)
        ]
