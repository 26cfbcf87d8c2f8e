"""Descriptors of keyed state in columns, for `KeyedStream.process_batch`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millrace.common.errors import StateError
from millrace.common.time.amounts import Duration, millis

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "AggregatePart",
    "AggregatingColumnDescriptor",
    "ColumnAggregate",
    "ColumnDescriptor",
    "Mean",
    "ReducingColumnDescriptor",
    "ValueColumnDescriptor",
]

REDUCTIONS = ("sum", "min", "max")


@dataclass(frozen=True)
class ColumnDescriptor:
    """Base class of the descriptors of state in columns.

    Attributes:
        name: name of the state, as in `ctx.state(name)` and in savepoints.
    """

    name: str

    def __post_init__(self) -> None:
        if not self.name or self.name.startswith("@"):
            raise StateError(f"{self.name!r} cannot be the name of a state: give it another one")
        if self.ttl_millis() < 0:
            raise StateError(f"the time-to-live of state {self.name!r} is negative")

    def ttl_millis(self) -> int:
        """The time-to-live in ms; 0 if there is none."""
        ttl = getattr(self, "ttl", None)
        return 0 if ttl is None else millis(ttl)


@dataclass(frozen=True)
class ValueColumnDescriptor(ColumnDescriptor):
    """A value per key: ``get()``, ``put(column)`` and ``clear(mask)``.

    Attributes:
        type: Arrow type of the values.
        ttl: time without writes after which a key's value expires; None if it never expires.
    """

    type: pa.DataType
    ttl: Duration | None = None


@dataclass(frozen=True)
class ReducingColumnDescriptor(ColumnDescriptor):
    """A number per key, reduced from all added numbers: ``add(column)``, ``accumulate(column)``,
    ``get()`` and ``clear(mask)``.

    Attributes:
        type: Arrow type of numbers; sums of integers wrap around like NumPy's.
        reduction: ``sum``, ``min`` or ``max``.
        ttl: as of `ValueColumnDescriptor`.
    """

    type: pa.DataType
    reduction: str = "sum"
    ttl: Duration | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_reduction(self.name, self.reduction)


@dataclass(frozen=True)
class AggregatePart:
    """One of the numbers that an aggregate keeps per key: its Arrow type and its reduction."""

    type: pa.DataType
    reduction: str = "sum"


class ColumnAggregate(ABC):
    """An aggregate over columns: values become parts, parts are reduced, and parts give the result.

    Example:
        >>> import pyarrow as pa
        >>> class Span(ColumnAggregate):
        ...     def parts(self):
        ...         return AggregatePart(pa.int64(), "min"), AggregatePart(pa.int64(), "max")
        ...     def lift(self, values):
        ...         return values, values
        ...     def result(self, least, greatest):
        ...         return greatest - least
    """

    @abstractmethod
    def parts(self) -> Sequence[AggregatePart]:
        """The parts that are kept for each key."""

    @abstractmethod
    def lift(self, values: Any) -> Sequence[Any]:
        """Convert single values to parts: returns a NumPy array or a number for each part.
        ``values`` is a NumPy array.
        """

    @abstractmethod
    def result(self, *parts: Any) -> Any:
        """The results, given a NumPy array of each part."""


class Mean(ColumnAggregate):
    """The arithmetic mean."""

    def parts(self) -> Sequence[AggregatePart]:
        import pyarrow as pa

        return AggregatePart(pa.float64()), AggregatePart(pa.int64())

    def lift(self, values: Any) -> Sequence[Any]:
        return values, 1

    def result(self, *parts: Any) -> Any:
        total, count = parts
        return total / count


@dataclass(frozen=True)
class AggregatingColumnDescriptor(ColumnDescriptor):
    """An aggregate per key: ``add(column)``, ``get()`` and ``clear(mask)``.

    Attributes:
        aggregate: the aggregate that reduces the values.
        ttl: as of `ValueColumnDescriptor`.
    """

    aggregate: ColumnAggregate
    ttl: Duration | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for part in self.aggregate.parts():
            _check_reduction(self.name, part.reduction)


def _check_reduction(name: str, reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise StateError(
            f"state {name!r} reduces by {', '.join(REDUCTIONS)}, got {reduction!r}; "
            "an AggregatingColumnDescriptor combines several of them"
        )
