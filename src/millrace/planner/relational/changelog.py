"""`ToChangelog` and `FromChangelog`: conversion of changes to rows with an operation code, and
back.

Flink docs: "Changelog Conversion"; Flink: ``TO_CHANGELOG``, ``FROM_CHANGELOG``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from millrace.common.types.logical.logical_type import (
    LogicalType,
    RowField,
    RowType,
    VarCharType,
)
from millrace.common.types.row import RowKind
from millrace.planner.relational.rel_node import SingleRel

__all__ = ["DEFAULT_CODES", "OPERATIONS", "FromChangelog", "ToChangelog"]

OPERATIONS = {kind.name: kind for kind in RowKind}
"""Kinds of changes by their names in mappings, in the order of their numbers."""

DEFAULT_CODES = tuple((name, name) for name in OPERATIONS)
"""Each change under its own name."""

_CODE = VarCharType()


@dataclass(frozen=True, eq=False)
class ToChangelog(SingleRel):
    """One row per change of the input, with the code of the change.

    Attributes:
        op: name of the column of the code.
        codes: pairs of a change and its code; a change that has none gives no row.
        kept: positions of the input's columns that stay in rows about deletes, the others are
            NULL there; None: all stay.
        partition: positions of the columns of PARTITION BY, which stand before the code.
        names: names of all columns.
        time: position of the ``on_time`` column of the input, which is ``rowtime`` in the result.
    """

    op: str
    codes: tuple[tuple[str, str], ...]
    kept: tuple[int, ...] | None
    partition: tuple[int, ...]
    names: tuple[str, ...]
    time: int | None = None

    @property
    def order(self) -> tuple[int | None, ...]:
        """Position of the input column for each column of the result; None for the code."""
        return _order(self.input.row_type, self.partition, None, self.time, (None,))

    @cached_property
    def row_type(self) -> RowType:
        fields = self.input.row_type.fields
        kinds: list[LogicalType] = []
        for index in self.order:
            if index is None:
                kinds.append(_CODE)
                continue
            kind = fields[index].type
            stays = self.kept is None or index in (*self.kept, *self.partition)
            kinds.append(kind if stays else kind.with_nullable(True))
        pairs = zip(self.names, kinds, strict=True)
        return RowType(tuple(RowField(name, kind) for name, kind in pairs))


@dataclass(frozen=True, eq=False)
class FromChangelog(SingleRel):
    """One change per row of the input. The input only inserts.

    Attributes:
        op: position of the column that has the code.
        codes: pairs of a code and its change.
        skips: whether rows of other codes are left out; else they fail the job.
        partition: positions of the columns of PARTITION BY, which come first.
        names: names of all columns.
        time: position of the ``on_time`` column of the input, which is ``rowtime`` in the result.
    """

    op: int
    codes: tuple[tuple[str, str], ...]
    skips: bool
    partition: tuple[int, ...]
    names: tuple[str, ...]
    time: int | None = None

    @property
    def order(self) -> tuple[int, ...]:
        """Position of the input column for each column of the result."""
        positions = _order(self.input.row_type, self.partition, self.op, self.time)
        return tuple(index for index in positions if index is not None)

    @property
    def changes(self) -> frozenset[RowKind]:
        """Kinds of the changes that the node emits."""
        return frozenset(OPERATIONS[name] for _, name in self.codes)

    @cached_property
    def row_type(self) -> RowType:
        fields = self.input.row_type.fields
        pairs = zip(self.names, self.order, strict=True)
        return RowType(tuple(RowField(name, fields[index].type) for name, index in pairs))


def _order(
    row_type: RowType,
    partition: tuple[int, ...],
    left_out: int | None,
    time: int | None,
    between: tuple[None, ...] = (),
) -> tuple[int | None, ...]:
    others = (i for i in range(len(row_type)) if i not in partition and i != left_out)
    return (*partition, *between, *others, *(() if time is None else (time,)))
