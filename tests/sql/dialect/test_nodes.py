"""Nodes of the dialect are sqlglot's expressions: compared, copied and walked like them."""

from __future__ import annotations

from sqlglot import exp

from millrace.common.types.logical.logical_type import ArrayType, IntType
from millrace.sql.dialect.nodes import FunctionCall, TypeName, names_of


def name(text: str) -> exp.Identifier:
    return exp.Identifier(this=text, quoted=False)


def test_calls_know_their_path_and_arguments() -> None:
    """A name may have a database before it."""
    call = FunctionCall(this=name("f"), qualifier=[name("db")], expressions=[exp.Null()])
    assert call.path == ("db", "f")
    assert call.arguments == [exp.Null()]
    assert call.copy() == call
    assert call != FunctionCall(this=name("f"), expressions=[exp.Null()])


def test_types_in_trees_compare_and_copy() -> None:
    """Logical types are values, not nodes."""
    one = exp.Cast(this=exp.Null(), to=TypeName(this=ArrayType(IntType())))
    other = exp.Cast(this=exp.Null(), to=TypeName(this=ArrayType(IntType().not_null())))
    assert one.copy() == one
    assert one != other
    assert one.args["to"].logical_type == ArrayType(IntType())


def test_names_of_columns_of_any_length() -> None:
    """Four names are a Column's, further ones are Dots."""
    column = exp.Column(this=name("d"), table=name("c"), db=name("b"), catalog=name("a"))
    assert names_of(column) == ("a", "b", "c", "d")
    assert names_of(exp.Dot(this=column, expression=name("e"))) == ("a", "b", "c", "d", "e")
    assert names_of(exp.Column(this=exp.Star(), table=name("t"))) == ("t", "*")
    assert names_of(exp.Dot(this=exp.Null(), expression=name("e"))) is None
