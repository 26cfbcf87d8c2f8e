"""Resolved expressions: structure, walking and rewriting."""

from __future__ import annotations

import pickle

from millrace.common.types.logical.logical_type import BigIntType, BooleanType, VarCharType
from millrace.expressions import registry
from millrace.expressions.resolved import (
    Call,
    Cast,
    FieldReference,
    ResolvedExpression,
    ValueLiteral,
    fields_of,
    rewritten,
)

PRICE = FieldReference(2, BigIntType(), "price")
FIVE = ValueLiteral(5, BigIntType(nullable=False))
DEARER = Call(registry.function(">"), (PRICE, FIVE), BooleanType())


def test_expressions_compare_by_structure_and_travel() -> None:
    assert (
        Call(
            registry.function(">"), (FieldReference(2, BigIntType(), "price"), FIVE), BooleanType()
        )
        == DEARER
    )
    assert pickle.loads(pickle.dumps(DEARER)) == DEARER
    assert len({DEARER, pickle.loads(pickle.dumps(DEARER))}) == 1


def test_fields_are_found_in_the_whole_tree() -> None:
    text = Cast(DEARER, VarCharType())
    both = Call(
        registry.function("CONCAT"),
        (text, Cast(FieldReference(0, BigIntType()), VarCharType())),
        text.type,
    )
    assert list(fields_of(both)) == [2, 0]


def test_rewriting_keeps_what_does_not_change() -> None:
    def moved(each: ResolvedExpression) -> ResolvedExpression:
        if isinstance(each, FieldReference):
            return FieldReference(each.index + 1, each.type, each.name)
        return each

    assert rewritten(DEARER, lambda each: each) is DEARER
    assert list(fields_of(rewritten(Cast(DEARER, VarCharType()), moved))) == [3]
