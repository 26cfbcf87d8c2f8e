"""`UserDefinedFunction`, and the base class of the results of `udf` and the like.

PyFlink: ``pyflink.table.udf``; Flink docs: "General User-defined Functions".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Self

from sqlglot import exp

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.expressions.arity import taken_arguments
from millrace.expressions.function_definition import FunctionDefinition
from millrace.sql.dialect import nodes
from millrace.table.calls.call_builder import node_of
from millrace.table.data_types import declared_type
from millrace.table.expression import Expression
from millrace.table.syntax import call_node
from millrace.table_runtime.user_defined_functions import UserDefinedFunction

__all__ = [
    "Declared",
    "FunctionTypeError",
    "FunctionValueError",
    "UserDefinedFunction",
    "UserDefinedFunctionWrapper",
    "declared_types",
    "row_type_of",
]

Declared = LogicalType | str


class FunctionTypeError(JobDefinitionError, TypeError):
    """An object that is not a function is used as one; PyFlink raises a TypeError."""


class FunctionValueError(JobDefinitionError, ValueError):
    """Settings of a function contradict each other; PyFlink raises a ValueError."""


class UserDefinedFunctionWrapper(ABC):
    """A function with its types, made by `udf` or `udtf`. It is registered under a name, or named
    by ``CREATE FUNCTION``, and called in statements; or called with expressions.

    Args:
        func: a function, or an object with a method ``eval``.
        input_types: types to which arguments are cast; None if any arguments are allowed.
        deterministic: whether the same arguments always give the same value; None for the result of
            ``is_deterministic()``, or True without this method.
        name: name in errors; None for the function's own name.
    """

    MADE_BY = "udf"
    METHOD = "eval"

    def __init__(
        self,
        func: Callable[..., Any] | UserDefinedFunction,
        input_types: tuple[Declared, ...] | None,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        if not callable(func) and not isinstance(func, UserDefinedFunction):
            raise FunctionTypeError(
                f"{self.MADE_BY}() takes a function or an object with a method {self.METHOD}() "
                f"of a class of millrace.table.udf, not {func!r}"
            )
        if isinstance(func, type):
            raise JobDefinitionError(
                f"{self.MADE_BY}() takes an object, not its class: write {func.__name__}()"
            )
        self._func = func
        self._input_types = None if input_types is None else tuple(map(declared_type, input_types))
        self._alias_names: tuple[str, ...] = ()
        self._check_arity()
        opinion = getattr(func, "is_deterministic", None)
        if opinion is not None and deterministic not in (None, opinion()):
            raise FunctionValueError(
                f"{self.MADE_BY}() got deterministic={deterministic}, but "
                f"is_deterministic() of {type(func).__name__} returns {opinion()}: omit one "
                "of them"
            )
        said = opinion() if opinion is not None else deterministic
        self._deterministic: bool = True if said is None else said
        self._name: str = name or str(getattr(func, "__name__", type(func).__name__))
        self.__doc__ = getattr(func, "__doc__", None)

    def _check_arity(self) -> None:
        if self._input_types is None:
            return
        skipped = int(self.METHOD == "accumulate" and hasattr(self._func, self.METHOD))
        arity = taken_arguments(self._func, self.METHOD, skipped)
        count = len(self._input_types)
        if not arity.takes(count):
            where = getattr(self._func, "__qualname__", type(self._func).__name__)
            raise JobDefinitionError(
                f"{self.MADE_BY}() got {count} input_types, but {where} takes "
                f"({', '.join(arity.names or ())})"
            )

    def __call__(self, *args: Any) -> Expression:
        """A call of the function in an expression of the Table API, without a registered name."""
        made = Expression(self.call_node(list(map(node_of, args))))
        return made.alias(*self._alias_names) if self._alias_names else made

    def call_node(self, arguments: Sequence[exp.Expr]) -> nodes.FunctionCall:
        """The syntax tree of a call."""
        return call_node(self._name, arguments, definition=self._inline)

    @property
    def takes_columns(self) -> bool:
        """Whether the function takes pandas columns."""
        return getattr(self, "_func_type", "general") == "pandas"

    def alias(self, *alias_names: str) -> Self:
        """The same function, with names of its columns."""
        made = copy(self)
        made._alias_names = alias_names
        return made

    @cached_property
    def _inline(self) -> FunctionDefinition:
        return self.definition(self._name)

    @abstractmethod
    def definition(self, name: str) -> FunctionDefinition:
        """The function's definition for the planner, under its registered name."""


def row_type_of(kinds: tuple[LogicalType, ...]) -> RowType:
    """The declared ROW type if it is the only type; otherwise a row type with columns f0, f1,
    ..."""
    if len(kinds) == 1 and isinstance(kinds[0], RowType):
        return kinds[0]
    return RowType.of(*((f"f{index}", kind) for index, kind in enumerate(kinds)))


def declared_types(given: Sequence[Declared] | Declared | None) -> tuple[Declared, ...] | None:
    """Types that a program declares, as a tuple; None if it declares none."""
    if isinstance(given, (LogicalType, str)):
        return (given,)
    return None if given is None else tuple(given)
