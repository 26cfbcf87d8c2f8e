"""Parser of types: ``ROW<`a` INT NOT NULL, `b` ARRAY<STRING>>`` to a logical type."""

from __future__ import annotations

import re
from collections.abc import Callable

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import MAX_LENGTH, LogicalType

__all__ = ["parse_type"]

_TOKEN = re.compile(
    r"\s*(?:(?P<name>`(?:[^`]|``)*`)|(?P<text>'(?:[^']|'')*')|(?P<word>[^\W\d]\w*)|(?P<number>\d+)"
    r"|(?P<sign>[<>(),:]))"
)
MAX_DEPTH = 64
MAX_SHOWN = 500
"""Characters of a text that an error shows."""


def parse_type(text: str) -> LogicalType:
    """The type that a text describes, in Flink's spelling.

    Example:
        >>> parse_type("row<id bigint not null, at timestamp_ltz(3)>")
        ROW<`id` BIGINT NOT NULL, `at` TIMESTAMP_LTZ(3)>
        >>> parse_type("DECIMAL(10, 2)").scale
        2

    Raises:
        JobDefinitionError: the text is not a type; the message says where it stops being one.
    """
    parser = _Parser(text)
    kind = parser.type(0)
    if parser.token is not None:
        raise parser.refusal("the end")
    return kind


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


class _Parser:
    """Reader of tokens from left to right; ``kind`` and ``token`` describe the next one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0
        self.advance()

    def advance(self) -> None:
        self.start = self._end
        match = _TOKEN.match(self._text, self._end)
        if match is None:
            self.kind: str | None = None
            self.token: str | None = self._text[self._end :].strip() or None
            return
        self.kind, self._end = match.lastgroup, match.end()
        self.token = match[match.lastgroup or 0]

    def refusal(self, wanted: str) -> JobDefinitionError:
        token = "its end" if self.token is None else repr(self.token)
        return JobDefinitionError(
            f"{_cut(repr(self._text))} is not a type: {wanted} expected at position {self.start}, "
            f"found {_cut(token)}"
        )

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these words; a quoted name is never a keyword."""
        return (
            self.kind in ("word", "sign") and self.token is not None and self.token.upper() in words
        )

    def take(self, *words: str) -> bool:
        """Skip these words if they are next."""
        if self.at(*words):
            self.advance()
            return True
        return False

    def need(self, *words: str) -> None:
        for word in words:
            if not self.take(word):
                raise self.refusal(word)

    def taken(self, kind: str, wanted: str) -> str:
        """The next token, which must be of a kind."""
        if self.kind != kind or self.token is None:
            raise self.refusal(wanted)
        token = self.token
        self.advance()
        return token

    def type(self, depth: int) -> LogicalType:
        if depth > MAX_DEPTH:
            raise JobDefinitionError(f"a type is nested in more than {MAX_DEPTH} others")
        kind = self._named(depth)
        while self.at("ARRAY", "MULTISET"):
            kind = logical.ArrayType(kind) if self.take("ARRAY") else self._multiset(kind)
            kind = self._nullable(kind)
        return kind

    def _multiset(self, element: LogicalType) -> LogicalType:
        self.need("MULTISET")
        return logical.MultisetType(element)

    def _nullable(self, kind: LogicalType) -> LogicalType:
        if self.take("NOT"):
            self.need("NULL")
            return kind.not_null()
        self.take("NULL")
        return kind

    def _named(self, depth: int) -> LogicalType:
        if self.kind != "word" or self.token is None or self.token.upper() not in _READERS:
            raise self.refusal("the name of a type")
        read = _READERS[self.token.upper()]
        self.advance()
        return self._nullable(read(self, depth + 1))

    def number(self, default: int) -> int:
        """A number in brackets, if there is one."""
        if not self.take("("):
            return default
        number = int(self.taken("number", "a number"))
        self.need(")")
        return number

    def decimal(self) -> LogicalType:
        if not self.take("("):
            return logical.DecimalType()
        precision, scale = int(self.taken("number", "a number")), 0
        if self.take(","):
            scale = int(self.taken("number", "a number"))
        self.need(")")
        return logical.DecimalType(precision, scale)

    def zoned(self, precision: int) -> LogicalType:
        if self.take("WITHOUT"):
            self.need("TIME", "ZONE")
        elif self.take("WITH"):
            local = self.take("LOCAL")
            self.need("TIME", "ZONE")
            return (logical.LocalZonedTimestampType if local else logical.ZonedTimestampType)(
                precision
            )
        return logical.TimestampType(precision)

    def time(self) -> LogicalType:
        kind = logical.TimeType(self.number(0))
        if self.take("WITHOUT"):
            self.need("TIME", "ZONE")
        return kind

    def interval(self) -> LogicalType:
        first, precision = self._unit()
        fields, last_precision = first, precision
        if self.take("TO"):
            last, last_precision = self._unit()
            fields = f"{first} TO {last}"
        if first in ("YEAR", "MONTH"):
            return logical.YearMonthIntervalType(fields, precision or 2)
        fraction = 6 if last_precision is None else last_precision
        day = precision if first == "DAY" and precision is not None else 2
        return logical.DayTimeIntervalType(
            fields, day, fraction if fields.endswith("SECOND") else 6
        )

    def _unit(self) -> tuple[str, int | None]:
        unit = self.taken("word", "a unit of time").upper()
        number = self.number(-1)
        return unit, None if number < 0 else number

    def collection(self, make: Callable[..., LogicalType], parts: int, depth: int) -> LogicalType:
        self.need("<")
        types = [self.type(depth)]
        for _ in range(parts - 1):
            self.need(",")
            types.append(self.type(depth))
        self.need(">")
        return make(*types)

    def row(self, depth: int) -> LogicalType:
        end = ")" if self.take("(") else ">"
        if end == ">":
            self.need("<")
        return logical.RowType(self._fields(end, depth))

    def structured(self, depth: int) -> LogicalType:
        self.need("<")
        name = self.string()
        fields = self._fields(">", depth) if self.take(",") else ()
        if not fields:
            self.need(">")
        return logical.StructuredType(fields, name)

    def _fields(self, end: str, depth: int) -> tuple[logical.RowField, ...]:
        fields: list[logical.RowField] = []
        while not self.take(end):
            if fields:
                self.need(",")
            fields.append(self._field(depth))
        return tuple(fields)

    def _field(self, depth: int) -> logical.RowField:
        if self.kind not in ("name", "word") or self.token is None:
            raise self.refusal("the name of a field")
        quoted = self.kind == "name"
        name = self.token[1:-1].replace("``", "`") if quoted else self.token
        self.advance()
        kind = self.type(depth)
        return logical.RowField(name, kind, self.string() if self.kind == "text" else None)

    def string(self) -> str:
        return self.taken("text", "a text in quotes")[1:-1].replace("''", "'")

    def raw(self) -> LogicalType:
        self.need("(")
        name = self.string()
        self.need(",")
        kind = logical.RawType(name, self.string())
        self.need(")")
        return kind

    def double(self) -> LogicalType:
        self.take("PRECISION")
        return logical.DoubleType()


_Reader = Callable[[_Parser, int], LogicalType]

_READERS: dict[str, _Reader] = {
    "NULL": lambda parser, depth: logical.NullType(),
    "BOOLEAN": lambda parser, depth: logical.BooleanType(),
    "TINYINT": lambda parser, depth: logical.TinyIntType(),
    "SMALLINT": lambda parser, depth: logical.SmallIntType(),
    "INT": lambda parser, depth: logical.IntType(),
    "INTEGER": lambda parser, depth: logical.IntType(),
    "BIGINT": lambda parser, depth: logical.BigIntType(),
    "FLOAT": lambda parser, depth: logical.FloatType(),
    "DOUBLE": lambda parser, depth: parser.double(),
    "DATE": lambda parser, depth: logical.DateType(),
    "CHAR": lambda parser, depth: logical.CharType(parser.number(1)),
    "VARCHAR": lambda parser, depth: logical.VarCharType(parser.number(1)),
    "STRING": lambda parser, depth: logical.VarCharType(MAX_LENGTH),
    "BINARY": lambda parser, depth: logical.BinaryType(parser.number(1)),
    "VARBINARY": lambda parser, depth: logical.VarBinaryType(parser.number(1)),
    "BYTES": lambda parser, depth: logical.VarBinaryType(MAX_LENGTH),
    "BITMAP": lambda parser, depth: logical.BitmapType(),
    "DECIMAL": lambda parser, depth: parser.decimal(),
    "DEC": lambda parser, depth: parser.decimal(),
    "NUMERIC": lambda parser, depth: parser.decimal(),
    "TIME": lambda parser, depth: parser.time(),
    "TIMESTAMP": lambda parser, depth: parser.zoned(parser.number(6)),
    "TIMESTAMP_LTZ": lambda parser, depth: logical.LocalZonedTimestampType(parser.number(6)),
    "INTERVAL": lambda parser, depth: parser.interval(),
    "ARRAY": lambda parser, depth: parser.collection(logical.ArrayType, 1, depth),
    "MULTISET": lambda parser, depth: parser.collection(logical.MultisetType, 1, depth),
    "MAP": lambda parser, depth: parser.collection(logical.MapType, 2, depth),
    "ROW": lambda parser, depth: parser.row(depth),
    "STRUCTURED": lambda parser, depth: parser.structured(depth),
    "RAW": lambda parser, depth: parser.raw(),
}
