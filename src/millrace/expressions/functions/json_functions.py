"""JSON functions (Flink docs, "System (Built-in) Functions", JSON).

Clauses are `JsonClauses`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

import pyarrow as pa

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.call_options import (
    JsonChoice,
    JsonClauses,
    JsonEvent,
    JsonKind,
    option,
)
from millrace.expressions.casting.from_text import parser_of
from millrace.expressions.columns import CallSite, Datum, per_value
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import (
    FunctionDefinition,
    Signature,
    documented,
)
from millrace.expressions.functions.json_paths import is_strict, walk
from millrace.expressions.functions.json_results import exists_type, query_type, value_type
from millrace.expressions.functions.json_writing import Raw, json_text, jsonable
from millrace.expressions.functions.strings import TEXT
from millrace.expressions.json_document import parsed_document, well_formed
from millrace.expressions.resolved import ValueLiteral
from millrace.expressions.result_types import always, fixed

__all__ = ["JSON_FUNCTIONS"]

CATEGORY = "JSON"


def _number(text: str) -> Decimal:
    """A number with all its digits; zero loses its sign."""
    try:
        made = Decimal(text)
    except InvalidOperation:
        raise ValueError("a number is out of the supported range") from None
    return made if made else made.copy_abs()


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=_number, parse_constant=_refused)


def _loads(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: the text is not JSON.
    """
    return parsed_document(text, _DECODER)


def _clauses(site: CallSite) -> JsonClauses:
    return option(JsonClauses, site.options) or JsonClauses()


def _is_json(site: CallSite, text: Datum) -> Datum:
    kind = site.options

    def test(value: str | None) -> bool:
        try:
            made = _loads(value or "")
        except ValueError:
            return False
        if kind is JsonKind.SCALAR:
            return not isinstance(made, dict | list)
        if kind is JsonKind.VALUE:
            return True
        return isinstance(made, dict if kind is JsonKind.OBJECT else list)

    return per_value(test, pa.bool_(), text, with_nulls=True)


def _exists(site: CallSite, text: Datum, path: Datum) -> Datum:
    on_error = _clauses(site).choice(JsonEvent.ERROR, JsonChoice.FALSE)

    def exists(value: str, where: str) -> bool | None:
        try:
            return walk(value, where, _loads) is not None
        except (ValueError, EvaluationError) as error:
            if on_error is JsonChoice.ERROR:
                raise EvaluationError(f"JSON_EXISTS: {error}") from None
            return {JsonChoice.TRUE: True, JsonChoice.FALSE: False}.get(on_error)

    return per_value(exists, pa.bool_(), text, path)


def _value(site: CallSite, text: Datum, path: Datum) -> Datum:
    """Values of JSON_VALUE. Clauses: RETURNING a type; EMPTY and ERROR with NULL, ERROR or
    DEFAULT."""
    clauses, make = _clauses(site), _scalar_maker(site.result_type)
    defaults = {}
    for event in (JsonEvent.EMPTY, JsonEvent.ERROR):
        clause = clauses.of(event)
        given = clause.default if clause else None
        if isinstance(given, ValueLiteral) and given.value is not None:
            defaults[event] = make(given.value)

    def otherwise(event: JsonEvent, what: str) -> Any:
        """Replacement for a missing value or an error: NULL or a default; raises if the clause
        says ERROR."""
        if clauses.choice(event, JsonChoice.NULL) is JsonChoice.ERROR:
            raise EvaluationError(what)
        return defaults.get(event)

    def value(document: str, where: str) -> Any:
        try:
            item = walk(document, where, _loads)
            if isinstance(item, dict | list) and is_strict(where):
                raise ValueError(f"the value at {where!r} is not a scalar")
            made = None if isinstance(item, dict | list | None) else make(item)
        except (ValueError, ArithmeticError, EvaluationError) as error:
            return otherwise(JsonEvent.ERROR, f"JSON_VALUE: {error}")
        if made is None:
            return otherwise(JsonEvent.EMPTY, f"JSON_VALUE: no scalar at {where!r}")
        return made

    return per_value(value, site.arrow, text, path)


def _scalar_maker(kind: LogicalType) -> Callable[[Any], Any]:
    """Function that converts a JSON scalar to a type; it raises ValueError for values of other
    types or out of range."""
    if isinstance(kind, logical.BooleanType):
        return lambda v: v if isinstance(v, bool) else str(v).lower() == "true"
    if isinstance(kind, logical.IntegralType):
        return lambda v: _of_text(v, kind) if isinstance(v, str) else _whole(v, kind)
    if isinstance(kind, (logical.DoubleType, logical.FloatType)):
        most = _MOST[type(kind)]
        return lambda v: _of_text(v, kind) if isinstance(v, str) else _floating(v, most)
    return lambda v: well_formed(v) if isinstance(v, str) else json_text(v)


_MOST: dict[type[LogicalType], float] = {
    logical.DoubleType: sys.float_info.max,
    logical.FloatType: 2.0**128 - 2.0**103,
}


def _of_text(text: str, kind: LogicalType) -> Any:
    parse = parser_of(kind)
    assert parse is not None
    return parse(text)


def _whole(value: Any, kind: logical.IntegralType) -> int:
    # compared first: an integer of 1E999999999 would fill the memory
    if abs(value) < _BEYOND_INTEGERS:
        made = int(value)
        if kind.holds(made):
            return made
    raise ValueError(f"{str(value)[:100]} is beyond the range of {kind.NAME}")


_BEYOND_INTEGERS = 2**64


def _floating(value: Any, most: float) -> float:
    if not abs(value) <= most:
        raise ValueError(f"{str(value)[:100]} is beyond the range of the type")
    return float(value)


def _query(site: CallSite, text: Datum, path: Datum) -> Datum:
    """Texts of JSON_QUERY. Clauses: WRAPPER with WITHOUT, CONDITIONAL or UNCONDITIONAL; EMPTY
    and ERROR with NULL, EMPTY ARRAY, EMPTY OBJECT or ERROR; RETURNING STRING or an ARRAY of it."""
    clauses = _clauses(site)
    empties = {JsonChoice.EMPTY_ARRAY: "[]", JsonChoice.EMPTY_OBJECT: "{}"}

    def otherwise(event: JsonEvent, what: str) -> str | None:
        choice = clauses.choice(event, JsonChoice.NULL)
        if choice is JsonChoice.ERROR:
            raise EvaluationError(f"JSON_QUERY: {what}")
        return empties.get(choice)

    wrapper = clauses.choice(JsonEvent.WRAPPER, JsonChoice.WITHOUT)
    returns_array = isinstance(site.result_type, logical.ArrayType)

    def query(document: str, where: str) -> str | None:
        try:
            value = walk(document, where, _loads)
        except (ValueError, EvaluationError) as error:
            return otherwise(JsonEvent.ERROR, str(error))
        if value is None:
            return otherwise(JsonEvent.EMPTY, f"nothing at {where!r}")
        if wrapper is JsonChoice.UNCONDITIONAL or (
            wrapper is JsonChoice.CONDITIONAL and not isinstance(value, list)
        ):
            value = [value]
        if not isinstance(value, dict | list):
            kind = JsonEvent.ERROR if is_strict(where) else JsonEvent.EMPTY
            return otherwise(kind, f"the value at {where!r} is neither an object nor an array")
        if returns_array and not isinstance(value, list):
            return otherwise(JsonEvent.ERROR, f"the value at {where!r} is not an array")
        return json_text(value)

    made = per_value(query, pa.string(), text, path)
    return per_value(_texts, site.arrow, made) if returns_array else made


def _texts(text: str) -> list[str | None] | None:
    items = _loads(text)
    if not isinstance(items, list):  # EMPTY OBJECT
        return None
    return [e if e is None or isinstance(e, str) else json_text(e) for e in items]


def _absent(site: CallSite, default: JsonChoice) -> bool:
    """Whether NULLs are left out."""
    return _clauses(site).choice(JsonEvent.NULL, default) is JsonChoice.ABSENT


def _makers(site: CallSite) -> list[Callable[[Any], Any]]:
    """Functions that convert each argument for `json_text`; arguments in the clause NESTED are
    JSON already."""
    nested = _clauses(site).nested
    return [
        (lambda v: None if v is None else Raw(v)) if index in nested else jsonable(kind)
        for index, kind in enumerate(site.argument_types)
    ]


def _object(site: CallSite, *datums: Datum) -> Datum:
    """JSON objects of alternating keys and values. NULL values become null, unless the call says
    ABSENT ON NULL."""
    makers, absent = _makers(site), _absent(site, JsonChoice.NULL)

    def made(*values: Any) -> str:
        pairs = zip(values[::2], values[1::2], makers[1::2], strict=True)
        members = {_member(k): make(v) for k, v, make in pairs if not (absent and v is None)}
        return json_text(members)

    return per_value(made, pa.string(), *datums, with_nulls=True)


def _member(key: Any) -> str:
    if not isinstance(key, str):
        shown = "NULL" if key is None else f"{key!r}"[:_SHOWN]
        raise EvaluationError(f"JSON_OBJECT: a key is a text, not {shown}")
    return key


def _array(site: CallSite, *datums: Datum) -> Datum:
    """JSON arrays of the arguments. NULLs are left out, unless the call says NULL ON NULL."""
    makers, absent = _makers(site), _absent(site, JsonChoice.ABSENT)

    def made(*values: Any) -> str:
        pairs = zip(values, makers, strict=True)
        return json_text([make(v) for v, make in pairs if not (absent and v is None)])

    return per_value(made, pa.string(), *datums, with_nulls=True)


def _string(site: CallSite, value: Datum) -> Datum:
    make = jsonable(site.argument_types[0])
    return per_value(lambda v: json_text(make(v)), pa.string(), value)


def _quoted(text: str) -> str:
    return json.dumps(text).replace("/", "\\/")


def _json(text: str) -> str | None:
    """The JSON text in normal form; None if it contains only blanks."""
    if not text.strip(_JAVA_BLANKS):
        return None
    try:
        return json_text(_loads(text))
    except ValueError as error:
        raise EvaluationError(f"JSON: {error}: {text[:_SHOWN]!r}") from None


_JAVA_BLANKS = "".join(map(chr, range(33)))
_SHOWN = 200


def _unquoted(text: str) -> str:
    """The text between quotes, without its escapes; a text without quotes, or with invalid
    escapes, stays as it is. Further quotes may be inside, since Flink looks only at the first
    JSON text."""
    if len(text) < 2 or not (text.startswith('"') and text.endswith('"')):
        return text
    try:
        _DECODER.raw_decode(text)
    except ValueError:
        return text
    inner = text[1:-1]
    made = []
    place = 0
    while (backslash := inner.find("\\", place)) >= 0:
        made.append(inner[place:backslash])
        letter = inner[backslash + 1 : backslash + 2]
        digits = inner[backslash + 2 : backslash + 6]
        if letter == "u" and _HEXADECIMAL.fullmatch(digits):
            made.append(chr(int(digits, 16)))
            place = backslash + 6
        elif letter and letter in _ESCAPED:
            made.append(_ESCAPED[letter])
            place = backslash + 2
        else:
            return text
    joined = "".join(made) + inner[place:]
    if joined.isascii():
        return joined
    return well_formed(joined.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"))


_HEXADECIMAL = re.compile("[0-9a-fA-F]{4}")
_ESCAPED = dict(zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))


_function = partial(documented, CATEGORY)


_PATH: tuple[Signature, ...] = ((TEXT, TEXT),)

JSON_FUNCTIONS: tuple[FunctionDefinition, ...] = (
    _function(
        "JSON",
        ((TEXT,),),
        always("STRING"),
        lambda site, text: per_value(_json, pa.string(), text),
        "Marks a text as JSON, for use as a value in JSON_OBJECT and JSON_ARRAY.",
        ("JSON_OBJECT('a' VALUE JSON('[1]'))", '{"a":[1]}'),
        may_fail=True,
    ),
    _function(
        "IS JSON",
        ((TEXT,),),
        fixed("BOOLEAN NOT NULL"),
        _is_json,
        "Whether a text is JSON, or a kind of JSON: VALUE, OBJECT, ARRAY or SCALAR.",
        ("'[1]' IS JSON ARRAY", "TRUE"),
    ),
    _function(
        "JSON_EXISTS",
        _PATH,
        exists_type,
        _exists,
        "Whether a path leads to a value.",
        ("JSON_EXISTS('{\"a\": true}', '$.a')", "TRUE"),
        may_fail=True,
    ),
    _function(
        "JSON_VALUE",
        _PATH,
        value_type,
        _value,
        "The scalar that a path leads to.",
        ("JSON_VALUE('{\"a\": true}', '$.a')", "true"),
        may_fail=True,
    ),
    _function(
        "JSON_QUERY",
        _PATH,
        query_type,
        _query,
        "The object or array that a path leads to.",
        ("JSON_QUERY('{\"a\": {\"b\": 1}}', '$.a')", '{"b":1}'),
        may_fail=True,
    ),
    _function(
        "JSON_OBJECT",
        (("<ANY>*",),),
        fixed("STRING NOT NULL"),
        _object,
        "A JSON object of keys and values.",
        ("JSON_OBJECT('a' VALUE 1)", '{"a":1}'),
    ),
    _function(
        "JSON_ARRAY",
        (("<ANY>*",),),
        fixed("STRING NOT NULL"),
        _array,
        "A JSON array of values.",
        ("JSON_ARRAY(1, 'a')", '[1,"a"]'),
    ),
    _function(
        "JSON_STRING",
        (("<ANY>",),),
        always("STRING"),
        _string,
        "A value as JSON.",
        ("JSON_STRING(ARRAY[1, 2])", "[1,2]"),
    ),
    _function(
        "JSON_QUOTE",
        ((TEXT,),),
        always("STRING"),
        lambda site, text: per_value(_quoted, pa.string(), text),
        "A text as a JSON string.",
        ("JSON_QUOTE('a')", '"a"'),
    ),
    _function(
        "JSON_UNQUOTE",
        ((TEXT,),),
        always("STRING"),
        lambda site, text: per_value(_unquoted, pa.string(), text),
        "The text that a JSON string contains.",
        ("JSON_UNQUOTE('\"a\"')", "a"),
    ),
)
