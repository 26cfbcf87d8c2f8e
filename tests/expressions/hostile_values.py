"""`Calls`: random calls of a built-in function with hostile arguments, and the law they keep.

The law: a call gives a value of its type for each row, or NULL, or one clear error of the user that
names the function and the value; no other exception, and nothing takes a second.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from millrace.common.errors import JobDefinitionError
from millrace.common.types.bitmaps import bitmap_class, written_bitmap
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.logical.parser import parse_type
from millrace.expressions import registry
from millrace.expressions.call_options import (
    BetweenOrder,
    CallOptions,
    FieldPosition,
    JsonChoice,
    JsonClause,
    JsonClauses,
    JsonEvent,
    JsonKind,
    TemporalUnit,
    TrimSide,
)
from millrace.expressions.evaluation import compiled
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import FunctionDefinition, FunctionResolutionError
from millrace.expressions.parameters import accepted
from millrace.expressions.registry import resolve_call, resolve_cast
from millrace.expressions.resolved import (
    Call,
    Cast,
    FieldReference,
    ResolvedExpression,
    ValueLiteral,
)
from millrace.expressions.session_settings import SessionSettings

SECONDS = 1.0
"""Processor time that a call may take."""
ROWS = (0, 1, 2, 7)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu")

TYPES = tuple(
    map(
        parse_type,
        (
            "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE",
            "DECIMAL(38, 18)", "DECIMAL(5, 2)", "DECIMAL(38, 0)", "DECIMAL(38, 38)",
            "DECIMAL(1, 0)", "CHAR(3)", "VARCHAR(5)", "STRING", "BINARY(2)", "VARBINARY(3)",
            "BYTES", "DATE", "TIME(0)", "TIME(3)",
            "TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)",
            "TIMESTAMP_LTZ(0)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(9)",
            "INTERVAL YEAR TO MONTH", "INTERVAL DAY TO SECOND(3)",
            "BITMAP", "ARRAY<BITMAP>",
            "ARRAY<INT>", "ARRAY<STRING>", "ARRAY<BOOLEAN>", "ARRAY<DOUBLE>", "ARRAY<ARRAY<INT>>",
            "ARRAY<ROW<a INT, b STRING>>", "ARRAY<MAP<STRING, INT>>", "ARRAY<BYTES>",
            "ARRAY<DECIMAL(38, 18)>", "ARRAY<TIMESTAMP(9)>", "MULTISET<STRING>",
            "MAP<STRING, INT>", "MAP<INT, ARRAY<STRING>>", "MAP<ARRAY<INT>, STRING>",
            "MAP<ROW<a INT>, STRING>", "MAP<MAP<STRING, INT>, DOUBLE>", "ROW<a INT, b STRING>",
            "ROW<r ROW<x DOUBLE>, xs ARRAY<INT>>",
        ),
    )
)  # fmt: skip

TEXTS = (
    "", " ", "a", "abc", "ABC def", "\n", "a\nb", "a\r\nb", "\x00", "\t", "ß", "İ", "é", "日本",
    "😀", "a😀b", "👨‍👩‍👧", "e\u0301", "\u2028", "\ufeff", "\x85", "0", "-1", "1", "+5", "2", "007",
    "99999999999999999999", "1e400", "1E999999999", "-1E-999999999", "NaN", "Infinity", "-Inf",
    "1_000", "١٢٣", "0x1F", "1.", ".5", ".", "1,5", "true", "FALSE", "null", "NULL",
    "2024-02-29", "2023-02-29", "0000-00-00", "0001-01-01", "9999-12-31", "10000-01-01",
    "2024-02-29 12:34:56.123456789", "2024-01-01T00:00:00Z", "9999-12-31 23:59:59.999999999",
    "0001-01-01 00:00:00", "23:59:60", "24:00:00", "12:34:56.789", "2024-13-45 99:99:99",
    "yyyy-MM-dd", "yyyy-MM-dd'T'HH:mm:ss.SSSX", "EEE, d MMM YYYY", "'", "QQQQ", "[HH]", "G n A X z",
    "UTC", "Europe/Berlin", "GMT+25:00", "GMT-08:00", "PST", "Nowhere/City", "../etc/passwd",
    '{"a":1}', '{"a":{"b":[1,2,{"c":null}]}}', "[]", "{}", '"x"', '"\\uD800"', '{"a":', "[1,2",
    "[" * 990 + "]" * 990, "[" * 100_000, '{"a":' * 990 + "1" + "}" * 990, '{"a":1E999999999}',
    '{"a":1e-999999999}', '{"a":NaN}', '{"a":1,"a":2}', "1E400", '{"a":"b"}x', '{"":""}',
    "$", "$.a", "strict $.a", "lax $.a.b[1].c", "$.a[?(@.b>1)]", "$..a", "$[*]", "$[", "$.a[-1]",
    "$['a']", "$[99999999999999999999]", "lax", "strict",
    "[", "(", ")", "*", "a{2,1}", "a{99999999999}", "(?<n>a)", "\\", "\\Q", "\\Qa.b\\E",
    "[a-z&&[^b]]",
    "(?iu)ä", "a*?", "a*+", "\\p{Alpha}", "\\p{IsGreek}", "\\1", "(a)|b", "$1", "${n}", "$9", "a$",
    "%", "_", "a%", "\\%", "%_%", "%s", "%d", "%5d", "%-5s|", "%n", "%1$s %1$s", "%,d", "%x", "%",
    "%q", "%.3f", "%c", "%b", "%e", "%999999999d", "%2147483648d", "%tY", "%h", "%S", "%%",
    "http://u:p@host:80/p?x=1&y#R", "http://[::1", "HOST", "QUERY", "://", "file:///a",
    "a=1,b=2", ",", "=", "|", ".", "YWJj", "YQ", "====", "616263", "6", "zz", "%41%", "%E9", "+",
    "UTF-8", "UTF-16", "US-ASCII", "ISO-8859-1", "base64", "idna", "rot13", "no-such", "utf-7",
    "127.0.0.1", "1.2.3.4.5", "256.0.0.1", "1..2", "x" * 5000, "😀" * 3000, "ab" * 20_000,
)  # fmt: skip
"""None of them is a pattern that Java, too, would search for ever with."""

SMALL = (0, 1, -1, 2, 3, 5, -2, 10, 100, 255, 256, 224)
BYTES = (
    b"", b"a", b"\x00", b"\xff\xfe", b"\xd8\x00", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"x" * 3000,
)  # fmt: skip
BITMAPS = (
    *(
        written_bitmap(bitmap_class()(numbers))
        for numbers in ((), (0,), (1, 2, 3), (2**31 - 1, 2**31, 2**32 - 1), range(0, 200_000, 2))
    ),
    # half of all numbers in a few bytes, and all of them
    written_bitmap(bitmap_class()(range(2**31))), written_bitmap(bitmap_class()(range(2**32))),
    b"", b"no bitmap", b"\x3a\x30\x00\x00\x01\x00\x00\x00",
)  # fmt: skip
"""Bytes that a column of a file may hold are not always a bitmap."""
DATES = (
    date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29), date(1900, 3, 1),
    date(1582, 10, 10), date(2024, 12, 30), date(2000, 12, 31),
)  # fmt: skip
CLOCKS = (time(0), time(23, 59, 59, 999_000), time(12, 34, 56), time(0, 0, 0, 1_000))
INSTANTS = (
    *(datetime.combine(day, clock) for day in DATES for clock in (time(0), time(1, 30))),
    datetime(9999, 12, 31, 23, 59, 59, 999_999), datetime(2024, 3, 31, 2, 30),
    datetime(2024, 10, 27, 2, 30), datetime(2024, 11, 3, 1, 30), datetime(1969, 12, 31, 23, 59, 59),
)  # fmt: skip
NANOS = (datetime(1678, 1, 1), datetime(2262, 4, 11))
FLOATS = (
    0.0, -0.0, 1.0, -1.5, 0.1, 1e308, -1e308, 5e-324, float("nan"), float("inf"), -float("inf"),
    2.5, 1e15, 2.0**53, 2.0**63, 709.0, 1e-300,
)  # fmt: skip


def clauses(**written: str | LogicalType) -> JsonClauses:
    """Clauses of a JSON function by what they are about."""
    return JsonClauses(
        tuple(
            JsonClause(JsonEvent(event), JsonChoice(choice) if isinstance(choice, str) else choice)
            for event, choice in written.items()
        )
    )


UNITS = tuple(
    map(
        TemporalUnit,
        (
            *("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"),
            *("MILLISECOND", "MICROSECOND", "NANOSECOND", "DECADE", "CENTURY", "MILLENNIUM"),
            *("EPOCH", "DOW", "DOY", "ISODOW", "ISOYEAR"),
        ),
    )
)
OPTIONS: dict[str, tuple[CallOptions | None, ...]] = {
    "EXTRACT": UNITS,
    "FLOOR": (None, *UNITS[:14]),
    "CEIL": (None, *UNITS[:14]),
    "TIMESTAMPADD": UNITS[:8],
    "TIMESTAMPDIFF": UNITS[:8],
    "TRIM": (None, *TrimSide),
    "BETWEEN": (None, *BetweenOrder),
    "IS JSON": tuple(JsonKind),
    "GET": (FieldPosition(0), FieldPosition(1)),
    "-": (None, TemporalUnit.MONTH, TemporalUnit.DAY),
    "JSON_EXISTS": (None, *(clauses(ERROR=what) for what in ("TRUE", "FALSE", "ERROR"))),
    "JSON_VALUE": (
        None,
        *(clauses(RETURNING=parse_type(kind)) for kind in ("INT", "DOUBLE", "BOOLEAN")),
        clauses(EMPTY="ERROR", ERROR="ERROR"),
        clauses(RETURNING=parse_type("INT"), ERROR="ERROR"),
    ),
    "JSON_QUERY": (
        None,
        clauses(WRAPPER="CONDITIONAL"),
        clauses(WRAPPER="UNCONDITIONAL", EMPTY="EMPTY ARRAY"),
        clauses(RETURNING=parse_type("ARRAY<STRING>")),
        clauses(ERROR="ERROR", EMPTY="ERROR"),
    ),
    "JSON_OBJECT": (None, clauses(NULL="ABSENT")),
    "JSON_ARRAY": (None, clauses(NULL="ABSENT"), clauses(NULL="NULL")),
}


def value(kind: LogicalType, random: Random, depth: int = 0) -> Any:
    """A hostile value of a type, None among them if it is nullable, in what Arrow takes for it."""
    if random.random() < 0.12 and kind.is_nullable:
        return None
    if isinstance(kind, RowType):
        return {field.name: value(field.type, random, depth + 1) for field in kind.fields}
    if isinstance(kind, logical.MapType | logical.MultisetType):
        entries: dict[str, tuple[Any, Any]] = {}
        for _ in range(random.choice((0, 1, 3))):
            key = value(kind.children()[0], random, depth + 1)
            if key is not None:
                count = parse_type("INT")
                inner = kind.children()[1] if isinstance(kind, logical.MapType) else count
                made = value(inner, random, depth + 1)
                if made is None and isinstance(kind, logical.MultisetType):
                    made = 1
                entries[repr(key)] = (key, made)
        return list(entries.values())
    if isinstance(kind, logical.ArrayType):
        size = random.choice((0, 1, 2, 5) if depth else (0, 1, 2, 5, 40))
        return [value(kind.element_type, random, depth + 1) for _ in range(size)]
    return _MAKERS[type(kind)](kind, random)


def constant(made: Any, kind: LogicalType) -> ResolvedExpression:
    """A value as SQL has it: arrays, maps and rows are calls of their constructors."""
    if isinstance(kind, RowType) and made is not None:
        parts = (constant(made[field.name], field.type) for field in kind.fields)
        return resolve_cast(resolve_call(registry.function("ROW"), tuple(parts)), kind)
    if isinstance(made, str) and len(made) % 3 == 2:
        made += "\ud800"  # a half of a character, which only constants can have
    if not kind.children() or not made or isinstance(kind, logical.MultisetType):
        empty = bool(kind.children())
        return ValueLiteral(None if empty else made, kind.with_nullable(empty or made is None))
    if isinstance(kind, logical.MapType):
        flat = [constant(part, k) for pair in made for part, k in zip(pair, kind.children())]  # noqa: B905
        return resolve_cast(resolve_call(registry.function("MAP"), tuple(flat)), kind)
    (element,) = kind.children()
    return resolve_cast(
        resolve_call(registry.function("ARRAY"), tuple(constant(item, element) for item in made)),
        kind,
    )


def _text(kind: Any, random: Random) -> str:
    text = random.choice(TEXTS)
    if random.random() < 0.1:
        text += random.choice(TEXTS)
    return text[: kind.length].ljust(kind.length if isinstance(kind, logical.CharType) else 0)


def _bytes(kind: Any, random: Random) -> bytes:
    raw = random.choice((*BYTES, *BITMAPS[:4]))[: kind.length]
    return raw.ljust(kind.length, b"\0") if isinstance(kind, logical.BinaryType) else raw


def _whole(kind: Any, random: Random) -> int:
    low, high = map(int, kind.bounds())
    chosen = random.choice((*SMALL, low, low + 1, high, high - 1, random.randint(low, high)))
    return min(max(chosen, low), high)


def _decimal(kind: Any, random: Random) -> Decimal:
    largest = 10**kind.precision - 1
    digits = random.choice(
        (0, 1, -1, 5, largest, -largest, 10**kind.scale, random.randint(-largest, largest))
    )
    digits = min(max(digits, -largest), largest)
    sign, figures, _ = Decimal(digits).as_tuple()
    return Decimal((sign, figures, -kind.scale))


def _wall(kind: Any, random: Random) -> Any:
    if kind.precision > 6:
        return random.choice(NANOS)
    return random.choice(INSTANTS)


_MAKERS: dict[type[LogicalType], Callable[[Any, Random], Any]] = {
    logical.BooleanType: lambda kind, random: random.choice((True, False)),
    logical.TinyIntType: _whole,
    logical.SmallIntType: _whole,
    logical.IntType: _whole,
    logical.BigIntType: _whole,
    logical.FloatType: lambda kind, random: random.choice(FLOATS),
    logical.DoubleType: lambda kind, random: random.choice(FLOATS),
    logical.DecimalType: _decimal,
    logical.CharType: _text,
    logical.VarCharType: _text,
    logical.BinaryType: _bytes,
    logical.VarBinaryType: _bytes,
    logical.BitmapType: lambda kind, random: random.choice(BITMAPS),
    logical.DateType: lambda kind, random: random.choice(DATES),
    logical.TimeType: lambda kind, random: random.choice(CLOCKS),
    logical.TimestampType: _wall,
    logical.LocalZonedTimestampType: _wall,
    logical.YearMonthIntervalType: lambda kind, random: random.choice(
        (0, 1, -1, 12, 9999, -99999, 2**31 - 1, -(2**31))
    ),
    logical.DayTimeIntervalType: lambda kind, random: timedelta(
        milliseconds=random.choice((0, 1, -1, 86_400_000, 10**12, -(10**14), 10**15))
    ),
    logical.NullType: lambda kind, random: None,
}


class _TooSlow(BaseException):
    """Nothing catches it but the fuzzer."""


@contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Ends what takes more of the processor's time."""

    def late(number: int, frame: Any) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    except _TooSlow:
        raise AssertionError(f"it takes more than {seconds} s") from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@dataclass(frozen=True, slots=True)
class HostileCall:
    """A call of columns and constants, with the rows it is evaluated on."""

    expression: ResolvedExpression
    rows: RowType
    columns: tuple[list[Any], ...]
    length: int
    session: SessionSettings

    def batch(self, start: int = 0, end: int | None = None) -> pa.RecordBatch:
        """Some of the rows; one column more, which nothing reads, has their number."""
        arrays = [
            pa.array(values[start:end], arrow_type(field.type))
            for values, field in zip(self.columns, self.rows.fields, strict=True)
        ]
        arrays.append(pa.array(range(self.length)[start:end], pa.int64()))
        return pa.RecordBatch.from_arrays(arrays, [*self.rows.names, "number"])

    def keep_the_law(self) -> None:
        """Evaluate it; each row alone, where not all of them have a value.

        Raises:
            AssertionError: the law is broken.
        """
        if self._judged(self.batch()) or self.length <= 1:
            return
        for row in range(self.length):
            self._judged(self.batch(row, row + 1))

    def _judged(self, batch: pa.RecordBatch) -> bool:
        """Whether there are values, rather than an error of the user."""
        try:
            with limited():
                made = compiled(self.expression, self.rows, self.session)(batch, 1_700_000_000_000)
        except EvaluationError as error:
            self._names_function_and_value(error)
            return False
        except AssertionError as error:
            raise AssertionError(f"{self.shown(batch)}: {error}") from error
        except Exception as error:
            raise AssertionError(
                f"{self.shown(batch)} raises {type(error).__name__}: {str(error)[:300]}"
            ) from error
        where = self.shown(batch)
        assert len(made) == batch.num_rows, f"{where} gives {len(made)} values"
        wanted = arrow_type(self.expression.output_type)
        assert made.type == wanted, f"{where} gives {made.type}, not {wanted}"
        kind = self.expression.output_type
        # decimals that are too great are NULL in Flink, too, whatever their type says
        nullable = kind.is_nullable or isinstance(kind, logical.DecimalType)
        # and so are arguments that are made decimals
        nullable = nullable or "AS DECIMAL(" in str(self.expression)
        # blanks are no JSON, and JSON is only an argument of JSON_OBJECT and JSON_ARRAY
        nullable = nullable or str(self.expression).startswith("JSON(")
        assert nullable or not made.null_count, f"{where} is NOT NULL and gives NULL"
        try:
            made.validate(full=True)
        except pa.ArrowInvalid as error:
            raise AssertionError(f"{where} gives what is not an array: {error}") from error
        return True

    def _names_function_and_value(self, error: EvaluationError) -> None:
        text = str(error)
        assert any(name in text for name in _names(self.expression)), (
            f"the error of {self.expression} does not name the function: {text[:300]}"
        )
        read = bool(self.columns) and any(_reads_columns(self.expression))
        assert error.row or not read, f"the error of {self.expression} shows no row: {text[:300]}"

    def shown(self, batch: pa.RecordBatch) -> str:
        """The call and its rows, for a failure."""
        columns = {name: column.to_pylist() for name, column in zip(
            self.rows.names, (batch.column(i) for i in range(len(self.rows.names))), strict=True
        ) if not pa.types.is_temporal(column.type)}  # fmt: skip
        kinds = [str(child.output_type) for child in self.expression.children()]
        options = getattr(self.expression, "options", None)
        return f"{_cut(str(self.expression))} of {kinds}, {options}, with {_cut(repr(columns))}"


def _cut(text: str) -> str:
    return text if len(text) < 500 else f"{text[:400]}...{text[-50:]}"


def _names(expression: ResolvedExpression) -> Iterator[str]:
    """What an error may name: the function, or one in its arguments; casts are implicit ones."""
    if isinstance(expression, Cast):
        yield "be cast"
        yield "CAST"
    if isinstance(expression, Call):
        yield expression.function.name
    for child in expression.children():
        yield from _names(child)


def _reads_columns(expression: ResolvedExpression) -> Iterator[bool]:
    yield isinstance(expression, FieldReference)
    for child in expression.children():
        yield from _reads_columns(child)


class Calls:
    """Random calls of one function, or of CAST and TRY_CAST.

    Args:
        definition: the function; None: casts.
        seed: decides which.
    """

    def __init__(self, definition: FunctionDefinition | None, seed: int) -> None:
        self._definition, self._random = definition, Random(seed)

    def drawn(self) -> HostileCall:
        """One call. Argument types that no signature takes are drawn anew."""
        for _ in range(1_000):
            made = self._call()
            if made is not None:
                return made
        raise AssertionError(f"{self._definition} takes nothing of what is drawn")

    def _call(self) -> HostileCall | None:
        random = self._random
        length = random.choice(ROWS)
        kinds = self._kinds()
        columns: list[list[Any]] = []
        fields: list[tuple[str, LogicalType]] = []
        arguments: list[ResolvedExpression] = []
        all_constant = random.random() < 0.15
        required = random.random() < 0.3
        for kind in kinds:
            if all_constant or random.random() < 0.3 or isinstance(kind, logical.NullType):
                arguments.append(constant(value(kind, random), kind))
                continue
            kind = kind.with_nullable(not required)
            arguments.append(FieldReference(len(columns), kind, f"c{len(columns)}"))
            fields.append((f"c{len(columns)}", kind))
            columns.append([value(kind, random) for _ in range(length)])
        try:
            expression = self._resolved(tuple(arguments))
        except (JobDefinitionError, EvaluationError):
            return None
        except Exception as error:
            name = "CAST" if self._definition is None else self._definition.name
            raise AssertionError(
                f"{name} of {[str(kind) for kind in kinds]} raises {type(error).__name__} when it "
                f"is resolved: {error}"
            ) from error
        session = SessionSettings(time_zone=random.choice(ZONES))
        return HostileCall(expression, RowType.of(*fields), tuple(columns), length, session)

    def _resolved(self, arguments: tuple[ResolvedExpression, ...]) -> ResolvedExpression:
        if self._definition is None:
            target = self._random.choice(TYPES)
            return resolve_cast(arguments[0], target, self._random.random() < 0.5)
        name = self._definition.name
        options = self._random.choice(OPTIONS.get(name, (None,)))
        try:
            return resolve_call(registry.function(name), arguments, options)
        except FunctionResolutionError:
            names = tuple(
                ValueLiteral(f"k{index}", parse_type("CHAR(2) NOT NULL"))
                for index in range(len(arguments))
            )
            mixed = [part for pair in zip(names, arguments, strict=True) for part in pair]
            if name in ("OBJECT_OF", "JSON_OBJECT"):
                first = (names[0],) if name == "OBJECT_OF" else ()
                return resolve_call(registry.function(name), (*first, *mixed), options)
            if name == "OBJECT_UPDATE":
                field = ValueLiteral("a", parse_type("CHAR(1) NOT NULL"))
                return resolve_call(registry.function(name), (arguments[0], field, *arguments[1:2]))
            raise

    def _kinds(self) -> list[LogicalType]:
        random = self._random
        if self._definition is None:
            return [random.choice(TYPES)]
        signature = random.choice(self._definition.signatures)
        parameters: list[str] = []
        for parameter in signature:
            if parameter[-1] == "?" and random.random() < 0.5:
                break
            repeat = random.choice((0, 1, 2, 3)) if parameter[-1] == "*" else 1
            parameters += [parameter.rstrip("?*")] * repeat
        alike = random.choice(TYPES) if random.random() < 0.6 else None
        if self._definition.name == "CASE":  # what is drawn is a condition too seldom
            kind = alike or random.choice(TYPES)
            return [parse_type("BOOLEAN"), kind] * random.choice((1, 2)) + [kind]
        return [self._kind(parameter, alike) for parameter in parameters]

    def _kind(self, parameter: str, alike: LogicalType | None) -> LogicalType:
        """A type that the parameter takes; half of the time what the others are, so that they go
        together."""
        random = self._random
        if random.random() < 0.05:
            return logical.NullType()
        fitting = _fitting(parameter)
        return alike if alike is not None and alike in fitting else random.choice(fitting)


def _fitting(parameter: str) -> Sequence[LogicalType]:
    found = [kind for kind in TYPES if accepted(parameter, kind) is not None]
    # a text for an INT is one type of many; what the parameter says is to be half of them
    return found or [logical.NullType()]
