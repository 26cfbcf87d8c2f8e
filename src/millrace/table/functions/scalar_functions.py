"""`udf`: user-defined scalar functions in SQL and the Table API.

Flink docs: "General User-defined Functions", "Vectorized User-defined Functions".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from typing import Any

from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.scalar_functions import FUNC_TYPES, scalar_function
from millrace.table.data_types import declared_type
from millrace.table.functions.annotated_types import annotated_inputs, annotated_result
from millrace.table.functions.user_defined_function import (
    Declared,
    FunctionValueError,
    UserDefinedFunctionWrapper,
    declared_types,
)
from millrace.table_runtime.user_defined_functions import (
    AsyncScalarFunction,
    ScalarFunction,
    UserDefinedFunction,
)

__all__ = [
    "AsyncScalarFunction",
    "ScalarFunction",
    "UserDefinedScalarFunctionWrapper",
    "udf",
]


class UserDefinedScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """A scalar function, made by `udf`.

    Args:
        func, input_types, deterministic, name: see the base class.
        result_type: type of the value. None for the type hints of ``f``, which then also set the
            argument types unless ``input_types`` are given.
        func_type: ``general``, ``pandas`` or ``arrow``.
    """

    def __init__(
        self,
        func: Callable[..., Any] | UserDefinedFunction,
        input_types: tuple[Declared, ...] | None,
        result_type: Declared | None,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        super().__init__(func, input_types, deterministic, name)
        if func_type not in FUNC_TYPES:
            raise FunctionValueError(
                f"The func_type must be one of 'general, pandas' or 'arrow', not {func_type!r}"
            )
        if func_type != "general" and iscoroutinefunction(getattr(func, self.METHOD, func)):
            raise FunctionValueError(
                f"Async scalar functions do not support {func_type} func_type: {self._name} takes "
                f"values and no columns; leave out func_type={func_type!r}"
            )
        if result_type is None:
            result_type = annotated_result(func, self.METHOD, self.MADE_BY)
            self._input_types = self._input_types or annotated_inputs(
                func, self.METHOD, self.MADE_BY
            )
        self._result_type = declared_type(result_type)
        self._func_type = func_type

    def __repr__(self) -> str:
        return f"udf({self._name}) -> {self._result_type}"

    def definition(self, name: str) -> FunctionDefinition:
        """The function's definition for the planner, under its registered name."""
        return scalar_function(
            name,
            self._func,
            self._result_type,
            self._func_type,
            self._deterministic,
            self._input_types,
        )


def udf(
    f: Callable[..., Any] | UserDefinedFunction | None = None,
    input_types: Sequence[Declared] | Declared | None = None,
    result_type: Declared | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
    udf_type: str | None = None,
) -> Any:
    """Make a function callable in statements; usable as a decorator or as a function.

    Args:
        f: a function, possibly a coroutine (``async def``), a `ScalarFunction` or an
            `AsyncScalarFunction`; None returns a decorator.
        input_types: types of the arguments, as `DataTypes` or text; without, any are taken. An
            argument is cast where that loses nothing, else the statement is refused.
        result_type: type of the value. None for the type hints of ``f``, which then also set the
            argument types unless ``input_types`` are given.
        deterministic: whether the same arguments always give the same value; if not, the function
            is called once per row, at its place in the query.
        name: name of the function in errors.
        func_type: ``general``: called for each row with Python values, None for NULL; ``pandas``:
            called for each batch with `pandas.Series`, and gives one; ``arrow``: with
            `pyarrow.Array`, and gives one (not in PyFlink, the fastest).
        udf_type: the old name of ``func_type``.

    Raises:
        JobDefinitionError: the result type is missing, or ``f`` is not a function.

    Example:
        >>> @udf
        ... def add(i: int, j: int) -> int:
        ...     return i + j
        >>> from millrace.table import EnvironmentSettings, TableEnvironment
        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        >>> t_env.create_temporary_function("add", add)
        >>> t_env.list_user_defined_functions()
        ['add']
    """
    inputs = declared_types(input_types)
    kind = udf_type or func_type

    def made(func: Callable[..., Any] | UserDefinedFunction) -> UserDefinedScalarFunctionWrapper:
        return UserDefinedScalarFunctionWrapper(
            func, inputs, result_type, kind, deterministic, name
        )

    return made if f is None else made(f)
