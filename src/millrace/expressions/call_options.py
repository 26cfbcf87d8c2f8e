"""`CallOptions`: options of a call besides its arguments, one type per family of functions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.resolved_expression import ResolvedExpression

__all__ = [
    "BetweenOrder",
    "CallOptions",
    "FieldPosition",
    "JsonChoice",
    "JsonClause",
    "JsonClauses",
    "JsonEvent",
    "JsonKind",
    "NullTreatment",
    "TemporalUnit",
    "TrimSide",
    "option",
    "signed_options",
]


class TemporalUnit(StrEnum):
    """Unit of EXTRACT, FLOOR, CEIL, TIMESTAMPADD, TIMESTAMPDIFF and of differences of times."""

    MILLENNIUM = "MILLENNIUM"
    CENTURY = "CENTURY"
    DECADE = "DECADE"
    YEAR = "YEAR"
    ISOYEAR = "ISOYEAR"
    QUARTER = "QUARTER"
    MONTH = "MONTH"
    WEEK = "WEEK"
    DAY = "DAY"
    DOY = "DOY"
    DOW = "DOW"
    ISODOW = "ISODOW"
    HOUR = "HOUR"
    MINUTE = "MINUTE"
    SECOND = "SECOND"
    MILLISECOND = "MILLISECOND"
    MICROSECOND = "MICROSECOND"
    NANOSECOND = "NANOSECOND"
    EPOCH = "EPOCH"


class TrimSide(StrEnum):
    """End of the text that TRIM trims."""

    BOTH = "BOTH"
    LEADING = "LEADING"
    TRAILING = "TRAILING"


class BetweenOrder(StrEnum):
    """Order of the bounds of BETWEEN: ``SYMMETRIC``, if it is not the default."""

    SYMMETRIC = "SYMMETRIC"


class NullTreatment(StrEnum):
    """Treatment of NULLs by an aggregate function, if it is not the default."""

    IGNORE = "IGNORE"


class JsonKind(StrEnum):
    """Kind of JSON that IS JSON tests for."""

    VALUE = "VALUE"
    OBJECT = "OBJECT"
    ARRAY = "ARRAY"
    SCALAR = "SCALAR"


@dataclass(frozen=True, slots=True)
class FieldPosition:
    """Position of the field that GET returns, from 0."""

    index: int


class JsonEvent(StrEnum):
    """The subject of a clause of a JSON function: an event such as EMPTY or ERROR, or another part
    of the call.
    """

    EMPTY = "EMPTY"
    ERROR = "ERROR"
    NULL = "NULL"
    WRAPPER = "WRAPPER"
    RETURNING = "RETURNING"
    NESTED = "NESTED"
    """Not written: the positions of arguments that are JSON already, which is not quoted again."""


class JsonChoice(StrEnum):
    """Choice that a clause of a JSON function makes."""

    NULL = "NULL"
    ERROR = "ERROR"
    DEFAULT = "DEFAULT"
    EMPTY_ARRAY = "EMPTY ARRAY"
    EMPTY_OBJECT = "EMPTY OBJECT"
    TRUE = "TRUE"
    FALSE = "FALSE"
    UNKNOWN = "UNKNOWN"
    ABSENT = "ABSENT"
    WITHOUT = "WITHOUT"
    CONDITIONAL = "CONDITIONAL"
    UNCONDITIONAL = "UNCONDITIONAL"


@dataclass(frozen=True, slots=True)
class JsonClause:
    """A clause of a JSON function: ``DEFAULT 0 ON EMPTY`` is (EMPTY, DEFAULT, 0).

    Attributes:
        default: the value of DEFAULT.
    """

    event: JsonEvent
    choice: JsonChoice | LogicalType | tuple[int, ...]
    default: ResolvedExpression | None = None


@dataclass(frozen=True, slots=True)
class JsonClauses:
    """Clauses of a call of a JSON function, in the order in which they are written."""

    written: tuple[JsonClause, ...] = ()

    def of(self, event: JsonEvent) -> JsonClause | None:
        """The clause about an event; the last one if there are several."""
        return next((clause for clause in reversed(self.written) if clause.event is event), None)

    def choice(self, event: JsonEvent, default: JsonChoice) -> JsonChoice:
        """The choice for an event, or the default."""
        clause = self.of(event)
        return clause.choice if clause and isinstance(clause.choice, JsonChoice) else default

    @property
    def returning(self) -> LogicalType | None:
        """The type in the RETURNING clause."""
        kinds = (clause.choice for clause in self.written if clause.event is JsonEvent.RETURNING)
        return next((kind for kind in kinds if isinstance(kind, LogicalType)), None)

    @property
    def nested(self) -> tuple[int, ...]:
        """Positions of the arguments that are already JSON."""
        clause = self.of(JsonEvent.NESTED)
        return clause.choice if clause and isinstance(clause.choice, tuple) else ()


CallOptions = (
    TemporalUnit | TrimSide | BetweenOrder | NullTreatment | JsonKind | FieldPosition | JsonClauses
)

Family = TypeVar("Family", bound=CallOptions)


def option(family: type[Family], options: CallOptions | None) -> Family | None:
    """The options of a call if they belong to the given family, else None.

    >>> option(TrimSide, TrimSide.LEADING)
    <TrimSide.LEADING: 'LEADING'>
    """
    return options if isinstance(options, family) else None


def signed_options(options: CallOptions | None) -> object:
    """Stable representation of options in state signatures and in plan files.

    >>> signed_options(TemporalUnit.DAY)
    'DAY'
    """
    match options:
        case None:
            return None
        case FieldPosition(index):
            return index
        case JsonClauses(written):
            return tuple(
                (str(clause.event), _signed(clause.choice), clause.default) for clause in written
            )
        case _:
            return options.value


def _signed(choice: JsonChoice | LogicalType | tuple[int, ...]) -> object:
    return choice.value if isinstance(choice, JsonChoice) else choice
