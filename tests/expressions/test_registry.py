"""The registry: names, signatures, implicit casts, and what errors say."""

from __future__ import annotations

import pytest

from millrace.common.types.logical.logical_type import (
    BigIntType,
    BooleanType,
    DecimalType,
    DoubleType,
    IntType,
    LogicalType,
    TimestampType,
    VarCharType,
)
from millrace.common.types.logical.parser import parse_type
from millrace.expressions import registry
from millrace.expressions.function_definition import FunctionKind, FunctionResolutionError
from millrace.expressions.registry import (
    find,
    functions,
    resolve_aggregate,
    resolve_call,
    resolve_cast,
)
from millrace.expressions.resolved import Cast, FieldReference, ValueLiteral


def field(kind: LogicalType) -> FieldReference:
    return FieldReference(0, kind, "f")


def test_arguments_are_cast_to_what_the_function_takes() -> None:
    call = resolve_call(
        registry.function("<"), (field(IntType()), field(BigIntType(nullable=False)))
    )
    assert call.arguments[0] == Cast(field(IntType()), BigIntType())
    assert call.type == BooleanType()


def test_an_unknown_function_names_the_nearest() -> None:
    with pytest.raises(
        FunctionResolutionError, match="no function COALESE; did you mean 'COALESCE'"
    ):
        resolve_call(registry.function("coalese"), (field(IntType()),))
    assert find("no_such_thing") is None


def test_wrong_arguments_are_shown_with_the_signatures() -> None:
    with pytest.raises(FunctionResolutionError) as caught:
        resolve_call(registry.function("+"), (field(BooleanType()), field(IntType())))
    assert "+ does not take (BOOLEAN, INT)" in str(caught.value)
    assert "+(<numeric>, <numeric>)" in str(caught.value)


@pytest.mark.parametrize("function", ["COALESCE", "IFNULL", "GREATEST", "ARRAY", "CASE", "IF"])
def test_arguments_that_do_not_go_together_are_not_shown_a_signature_that_takes_them(
    function: str,
) -> None:
    """Such as ``COALESCE(<any>, <any>)``, which would contradict the error."""
    condition = [field(BooleanType())] if function in ("CASE", "IF") else []
    arguments = (*condition, field(IntType()), field(VarCharType()))
    with pytest.raises(FunctionResolutionError) as caught:
        resolve_call(registry.function(function), arguments)
    given = ", ".join(str(each.type) for each in arguments)
    assert str(caught.value) == (
        f"{function} does not take ({given}), because these types do not fit together: CAST some "
        "of them"
    )


def test_values_without_an_order_are_refused_by_their_type() -> None:
    with pytest.raises(FunctionResolutionError, match="because values of this type cannot be comp"):
        resolve_call(registry.function("GREATEST"), (field(parse_type("ARRAY<INT>")),))


def test_a_cast_that_there_is_not_says_what_to_use() -> None:
    with pytest.raises(FunctionResolutionError, match="use UNIX_TIMESTAMP"):
        resolve_cast(field(TimestampType(3)), BigIntType())


@pytest.mark.parametrize(
    ("name", "kind", "result"),
    [
        ("COUNT", VarCharType(), "BIGINT NOT NULL"),
        ("SUM", IntType(nullable=False), "INT"),
        ("SUM", DecimalType(10, 2), "DECIMAL(38, 2)"),
        ("AVG", IntType(), "INT"),
        ("AVG", DecimalType(10, 2), "DECIMAL(38, 6)"),
        ("MIN", DoubleType(), "DOUBLE"),
        ("COLLECT", IntType(), "MULTISET<INT>"),
        ("LISTAGG", VarCharType(), "STRING"),
        ("STDDEV_POP", DoubleType(), "DOUBLE"),
    ],
)
def test_aggregates_have_flinks_types(name: str, kind: LogicalType, result: str) -> None:
    assert str(resolve_aggregate(registry.function(name), (kind,))) == str(parse_type(result))


def test_an_aggregate_is_no_scalar_function() -> None:
    with pytest.raises(FunctionResolutionError, match="AGGREGATE"):
        resolve_call(registry.function("SUM"), (field(IntType()),))
    with pytest.raises(FunctionResolutionError, match="not an aggregate"):
        resolve_aggregate(registry.function("IF"), (IntType(),))


OF_STREAMS = {"CURRENT_WATERMARK"}
"""An example that stands alone has no stream, and so no watermark."""


def test_every_function_is_documented_and_has_a_kernel() -> None:
    for definition in functions():
        assert definition.text.endswith("."), definition.name
        assert definition.category, definition.name
        assert (definition.kernel is None) == (definition.kind is not FunctionKind.SCALAR)
        alone = definition.kind is FunctionKind.SCALAR and definition.name not in OF_STREAMS
        assert definition.examples or not alone, definition.name


def test_constants_are_typed_as_they_are_evaluated() -> None:
    """Half of a character, which UTF-8 cannot encode, is evaluated as a question mark."""
    text = parse_type("STRING NOT NULL")
    arguments = tuple(ValueLiteral(each, text) for each in ("C", "half \ud800", "value"))
    assert "half ?" in str(resolve_call(registry.function("OBJECT_OF"), arguments).output_type)
