"""JSON functions (Flink docs, "System (Built-in) Functions", JSON).

Clauses are payloads: a tuple of ``(clause, what, value)``, such as ``("EMPTY", "DEFAULT",
ValueLiteral(0))``, ``("RETURNING", IntType(), None)`` or ``("NULL", "ABSENT", None)``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.casting.text_of import double_text
from millrace.expressions.columns import CallSite, Datum, per_value
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import (
    CallContext,
    FunctionDefinition,
    FunctionResolutionError,
    ResultStrategy,
    Signature,
)
from millrace.expressions.functions.json_paths import is_strict, walk
from millrace.expressions.functions.strings import TEXT
from millrace.expressions.result_types import always, fixed

__all__ = ["JSON_FUNCTIONS", "Raw", "json_text"]

CATEGORY = "JSON"


class Raw(str):
    """JSON that is put into other JSON as it is."""


def _loads(text: str) -> Any:
    return json.loads(text, parse_float=_number, parse_constant=_refused)


def _number(text: str) -> Decimal:
    """Keeps the digits it was written with; zero has no sign."""
    made = Decimal(text)
    return made if made else made.copy_abs()


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def json_text(value: Any) -> str:
    """JSON without blanks, keys in their order.

    >>> json_text({"b": Raw("{}"), "a": [1, None, "x"]})
    '{"a":[1,null,"x"],"b":{}}'
    """
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        pairs = (f"{json_text(str(key))}:{json_text(each)}" for key, each in sorted(value.items()))
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, float):
        return str(Decimal(double_text(value)))
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime):
        return json.dumps(_time_text(value))
    if isinstance(value, date | time):
        return json.dumps(value.isoformat())
    return json.dumps(value, ensure_ascii=False)


def _time_text(value: datetime) -> str:
    """As ISO 8601 has it, with the fraction's zeros left out."""
    local = value.replace(tzinfo=None).isoformat()
    return (local.rstrip("0") if value.microsecond else local) + ("Z" if value.tzinfo else "")


def _clauses(site: CallSite) -> dict[str, Any]:
    """What is chosen by clause, and defaults behind ``EMPTY_DEFAULT`` and ``ERROR_DEFAULT``."""
    found: dict[str, Any] = {}
    for clause, what, value in site.payload or ():
        found[clause] = what
        if value is not None:
            found[f"{clause}_DEFAULT"] = value.value
    return found


def _is_json(site: CallSite, text: Datum) -> Datum:
    """The payload is VALUE, OBJECT, ARRAY or SCALAR."""
    wanted = {"OBJECT": dict, "ARRAY": list}.get(site.payload)

    def test(value: str | None) -> bool:
        try:
            made = _loads(value or "")
        except ValueError:
            return False
        if site.payload == "SCALAR":
            return not isinstance(made, dict | list)
        return wanted is None or isinstance(made, wanted)

    return per_value(test, pa.bool_(), text, with_nulls=True)


def _exists(site: CallSite, text: Datum, path: Datum) -> Datum:
    on_error = _clauses(site).get("ERROR", "FALSE")

    def exists(value: str, where: str) -> bool | None:
        try:
            return walk(value, where, _loads) is not None
        except (ValueError, EvaluationError) as error:
            if on_error == "ERROR":
                raise EvaluationError(f"JSON_EXISTS: {error}") from None
            return {"TRUE": True, "FALSE": False}.get(on_error)

    return per_value(exists, pa.bool_(), text, path)


def _otherwise(clauses: dict[str, Any], name: str, what: str) -> Any:
    """What stands for nothing found, or for an error: NULL, a default, or a failure."""
    choice = clauses.get(name, "NULL")
    if choice == "ERROR":
        raise EvaluationError(what)
    return clauses.get(f"{name}_DEFAULT") if choice == "DEFAULT" else None


def _value(site: CallSite, text: Datum, path: Datum) -> Datum:
    """Clauses: RETURNING a type; EMPTY and ERROR with NULL, ERROR or DEFAULT."""
    clauses, kind = _clauses(site), site.result_type
    make = _scalar_maker(kind)

    def value(document: str, where: str) -> Any:
        try:
            found = walk(document, where, _loads)
            if isinstance(found, dict | list) and is_strict(where):
                raise ValueError(f"what is at {where!r} is no scalar")
            made = None if isinstance(found, dict | list | None) else make(found)
        except (ValueError, ArithmeticError, EvaluationError) as error:
            return _otherwise(clauses, "ERROR", f"JSON_VALUE: {error}")
        if made is None:
            return _otherwise(clauses, "EMPTY", f"JSON_VALUE: no scalar at {where!r}")
        return made

    return per_value(value, site.arrow, text, path)


def _scalar_maker(kind: LogicalType) -> Callable[[Any], Any]:
    if isinstance(kind, logical.BooleanType):
        return lambda v: v if isinstance(v, bool) else str(v).lower() == "true"
    if isinstance(kind, logical.IntegralType):
        return int
    if isinstance(kind, (logical.DoubleType, logical.FloatType)):
        return float
    return lambda v: v if isinstance(v, str) else json_text(v)


_RETURNED = (
    logical.VarCharType,
    logical.CharType,
    logical.BooleanType,
    logical.IntegralType,
    logical.FloatType,
    logical.DoubleType,
    logical.ArrayType,
)


def _returned(context: CallContext) -> LogicalType:
    returned = (what for clause, what, _ in context.payload or () if clause == "RETURNING")
    kind: LogicalType | None = next(returned, None)
    if kind is not None and not isinstance(kind, _RETURNED):
        raise FunctionResolutionError(
            f"{context.name} returns STRING, BOOLEAN, INTEGER or DOUBLE, or JSON_QUERY an "
            f"ARRAY<STRING>, not {kind}: write CAST around it"
        )
    return logical.VarCharType() if kind is None else kind.with_nullable(True)


def _query(site: CallSite, text: Datum, path: Datum) -> Datum:
    """Clauses: WRAPPER with WITHOUT, CONDITIONAL or UNCONDITIONAL; EMPTY and ERROR with NULL,
    EMPTY ARRAY, EMPTY OBJECT or ERROR; RETURNING STRING or an ARRAY of it."""
    clauses = _clauses(site)
    empties = {"EMPTY ARRAY": "[]", "EMPTY OBJECT": "{}"}

    def otherwise(name: str, what: str) -> str | None:
        choice = clauses.get(name, "NULL")
        if choice == "ERROR":
            raise EvaluationError(f"JSON_QUERY: {what}")
        return empties.get(choice)

    wrapper = clauses.get("WRAPPER", "WITHOUT")

    def query(document: str, where: str) -> str | None:
        try:
            value = walk(document, where, _loads)
        except (ValueError, EvaluationError) as error:
            return otherwise("ERROR", str(error))
        if value is None:
            return otherwise("EMPTY", f"nothing at {where!r}")
        if wrapper == "UNCONDITIONAL" or (wrapper == "CONDITIONAL" and not isinstance(value, list)):
            value = [value]
        if not isinstance(value, dict | list):
            kind = "ERROR" if is_strict(where) else "EMPTY"
            return otherwise(kind, f"what is at {where!r} is no object and no array")
        return json_text(value)

    made = per_value(query, pa.string(), text, path)
    if isinstance(site.result_type, logical.ArrayType):
        return per_value(_texts, site.arrow, made)
    return made


def _texts(text: str) -> list[str | None] | None:
    items = _loads(text)
    if not isinstance(items, list):
        return None
    return [e if e is None or isinstance(e, str) else json_text(e) for e in items]


def jsonable(kind: LogicalType) -> Callable[[Any], Any]:
    """Makes what `json_text` takes of a Python value of a type."""
    if isinstance(kind, logical.RowType):
        parts = [jsonable(field.type) for field in kind.fields]
        return lambda row: (
            row
            and {name: part(value) for part, (name, value) in zip(parts, row.items(), strict=True)}
        )
    if isinstance(kind, logical.MapType):
        inner = jsonable(kind.value_type)
        return lambda pairs: pairs and {str(key): inner(value) for key, value in pairs}
    if isinstance(kind, logical.ArrayType):
        element = jsonable(kind.element_type)
        return lambda items: items and [element(item) for item in items]
    if isinstance(kind, (logical.BinaryType, logical.VarBinaryType)):
        import base64

        return lambda raw: raw and base64.b64encode(raw).decode()
    return lambda value: value


def _makers(site: CallSite) -> list[Callable[[Any], Any]]:
    """The clause NESTED has the positions of arguments that are JSON themselves."""
    nested = _clauses(site).get("NESTED", ())
    return [
        (lambda v: None if v is None else Raw(v)) if index in nested else jsonable(kind)
        for index, kind in enumerate(site.argument_types)
    ]


def _object(site: CallSite, *datums: Datum) -> Datum:
    """Keys and values in turn; the clause NULL is NULL (or ABSENT)."""
    makers, absent = _makers(site), _clauses(site).get("NULL", "NULL") == "ABSENT"

    def made(*values: Any) -> str:
        pairs = zip(values[::2], values[1::2], makers[1::2], strict=True)
        return json_text({k: make(v) for k, v, make in pairs if not (absent and v is None)})

    return per_value(made, pa.string(), *datums, with_nulls=True)


def _array(site: CallSite, *datums: Datum) -> Datum:
    """The clause NULL is ABSENT (or NULL)."""
    makers, absent = _makers(site), _clauses(site).get("NULL", "ABSENT") == "ABSENT"

    def made(*values: Any) -> str:
        pairs = zip(values, makers, strict=True)
        return json_text([make(v) for v, make in pairs if not (absent and v is None)])

    return per_value(made, pa.string(), *datums, with_nulls=True)


def _string(site: CallSite, value: Datum) -> Datum:
    make = jsonable(site.argument_types[0])
    return per_value(lambda v: json_text(make(v)), pa.string(), value)


def _quoted(text: str) -> str:
    return json.dumps(text).replace("/", "\\/")


def _json(text: str) -> str:
    try:
        return json_text(_loads(text))
    except ValueError as error:
        raise EvaluationError(f"JSON: {error}") from None


def _unquoted(text: str) -> str:
    """A JSON string as text; anything else as it is."""
    if not text.startswith('"'):
        return text
    try:
        made = json.loads(text)
    except ValueError:
        return text
    return made if isinstance(made, str) else text


def _function(
    name: str,
    signatures: tuple[Signature, ...],
    result: ResultStrategy,
    kernel: Any,
    text: str,
    *examples: tuple[str, str],
    may_fail: bool = False,
) -> FunctionDefinition:
    return FunctionDefinition(
        name,
        signatures,
        result,
        kernel,
        category=CATEGORY,
        text=text,
        examples=examples,
        may_fail=may_fail,
    )


_PATH: tuple[Signature, ...] = ((TEXT, TEXT),)

JSON_FUNCTIONS: tuple[FunctionDefinition, ...] = (
    _function(
        "JSON",
        ((TEXT,),),
        always("STRING"),
        lambda site, text: per_value(_json, pa.string(), text),
        "A text that is JSON, as a value in JSON_OBJECT and JSON_ARRAY.",
        ("JSON_OBJECT('a' VALUE JSON('[1]'))", '{"a":[1]}'),
        may_fail=True,
    ),
    _function(
        "IS JSON",
        ((TEXT,),),
        fixed("BOOLEAN NOT NULL"),
        _is_json,
        "Whether a text is JSON: VALUE, OBJECT, ARRAY or SCALAR.",
        ("'[1]' IS JSON ARRAY", "TRUE"),
    ),
    _function(
        "JSON_EXISTS",
        _PATH,
        fixed("BOOLEAN"),
        _exists,
        "Whether a path leads to something.",
        ("JSON_EXISTS('{\"a\": true}', '$.a')", "TRUE"),
        may_fail=True,
    ),
    _function(
        "JSON_VALUE",
        _PATH,
        _returned,
        _value,
        "The scalar that a path leads to.",
        ("JSON_VALUE('{\"a\": true}', '$.a')", "true"),
        may_fail=True,
    ),
    _function(
        "JSON_QUERY",
        _PATH,
        _returned,
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
        "The text of a JSON string.",
        ("JSON_UNQUOTE('\"a\"')", "a"),
    ),
)
