"""Functions of the user in SQL: ``udf``, ``udtf``. PyFlink: ``pyflink.table.udf``.

Flink docs: "General User-defined Functions", "Vectorized User-defined Functions".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.expressions.function_context import FunctionContext
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.scalar_functions import FUNC_TYPES, scalar_function
from millrace.expressions.table_functions import table_function
from millrace.table.calls.call_builder import node_of
from millrace.table.data_types import declared_type
from millrace.table.expression import Expression
from millrace.table.syntax import call_node

__all__ = [
    "FunctionContext",
    "ScalarFunction",
    "TableFunction",
    "UserDefinedFunction",
    "UserDefinedFunctionWrapper",
    "UserDefinedScalarFunctionWrapper",
    "UserDefinedTableFunctionWrapper",
    "udf",
    "udtf",
]

Declared = LogicalType | str


class UserDefinedFunction:
    """A function that is opened in each process that calls it, before the first call."""

    def open(self, function_context: FunctionContext) -> None:
        """Get what calls need."""

    def close(self) -> None:
        """Release it; a process that is killed does not come to it."""

    def is_deterministic(self) -> bool:
        """Whether the same arguments always give the same value."""
        return True


class ScalarFunction(UserDefinedFunction, ABC):
    """A function of values, or of columns, with state of its own that is not checkpointed.

    Example:
        >>> class Multiply(ScalarFunction):
        ...     def open(self, function_context):
        ...         self.factor = int(function_context.get_job_parameter("factor", "12"))
        ...
        ...     def eval(self, value):
        ...         return value * self.factor
        >>> udf(Multiply(), result_type="BIGINT")
        udf(Multiply) -> BIGINT
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The value for arguments: of a row, or of a batch (``func_type="pandas"``)."""


class TableFunction(UserDefinedFunction, ABC):
    """A function that makes any number of rows of its arguments.

    Example:
        >>> class Split(TableFunction):
        ...     def eval(self, line):
        ...         for word in line.split():
        ...             yield word, len(word)
        >>> udtf(Split(), result_types=["STRING", "INT"])
        udtf(Split) -> ROW<`f0` STRING, `f1` INT>
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The rows: yielded, or a list of them: tuples, `Row` or, of one column, values."""


class UserDefinedFunctionWrapper(ABC):
    """A function with its types, as `udf` and `udtf` make it. It is registered under a name, or
    named by ``CREATE FUNCTION``, and called in statements; or called with expressions.

    Args:
        func: a function, or an object with a method ``eval``.
        input_types: what arguments are cast to; None: any are taken.
        deterministic: None: what ``is_deterministic()`` says, else True.
        name: for errors; None: the function's own.
    """

    MADE_BY = "udf"

    def __init__(
        self,
        func: Callable[..., Any] | UserDefinedFunction,
        input_types: tuple[Declared, ...] | None,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        if not callable(func) and not hasattr(func, "eval"):
            raise JobDefinitionError(
                f"{self.MADE_BY}() takes a function or an object with a method eval(), not {func!r}"
            )
        if isinstance(func, type):
            raise JobDefinitionError(
                f"{self.MADE_BY}() takes an object, not its class: write {func.__name__}()"
            )
        self._func = func
        self._input_types = None if input_types is None else tuple(map(declared_type, input_types))
        opinion = getattr(func, "is_deterministic", lambda: True)()
        self._deterministic: bool = opinion if deterministic is None else deterministic
        self._name: str = name or str(getattr(func, "__name__", type(func).__name__))
        self.__doc__ = getattr(func, "__doc__", None)

    def __call__(self, *args: Any) -> Expression:
        """A call of the function in an expression of the Table API, without a registered name."""
        return Expression(call_node(self._name, map(node_of, args), definition=self._inline))

    @cached_property
    def _inline(self) -> FunctionDefinition:
        return self.definition(self._name)

    @abstractmethod
    def definition(self, name: str) -> FunctionDefinition:
        """The function as the planner knows it, under the name of its registration."""


class UserDefinedScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """A scalar function, as `udf` makes it.

    Args:
        func, input_types, deterministic, name: as of the base.
        result_type: of the value.
        func_type: ``general``, ``pandas`` or ``arrow``.
    """

    def __init__(
        self,
        func: Callable[..., Any] | UserDefinedFunction,
        input_types: tuple[Declared, ...] | None,
        result_type: Declared,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        super().__init__(func, input_types, deterministic, name)
        if func_type not in FUNC_TYPES:
            raise JobDefinitionError(f"func_type is general, pandas or arrow, not {func_type!r}")
        self._result_type = declared_type(result_type)
        self._func_type = func_type

    def __repr__(self) -> str:
        return f"udf({self._name}) -> {self._result_type}"

    def definition(self, name: str) -> FunctionDefinition:
        """The function as the planner knows it, under the name of its registration."""
        return scalar_function(
            name,
            self._func,
            self._result_type,
            self._func_type,
            self._deterministic,
            self._input_types,
        )


class UserDefinedTableFunctionWrapper(UserDefinedFunctionWrapper):
    """A table function, as `udtf` makes it.

    Args:
        func, input_types, deterministic, name: as of the base.
        row_type: columns of its rows.
    """

    MADE_BY = "udtf"

    def __init__(
        self,
        func: Callable[..., Any] | UserDefinedFunction,
        input_types: tuple[Declared, ...] | None,
        row_type: RowType,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        super().__init__(func, input_types, deterministic, name)
        self._row_type = row_type
        self._alias_names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"udtf({self._name}) -> {self._row_type}"

    def __call__(self, *args: Any) -> Expression:
        """A call of the function, for `Table.join_lateral` and `Table.flat_map`."""
        made = super().__call__(*args)
        return made.alias(*self._alias_names) if self._alias_names else made

    def alias(self, *alias_names: str) -> UserDefinedTableFunctionWrapper:
        """The same function, with names of its columns."""
        made = copy(self)
        made._alias_names = alias_names
        return made

    def definition(self, name: str) -> FunctionDefinition:
        """The function as the planner knows it, under the name of its registration."""
        return table_function(
            name, self._func, self._row_type, self._deterministic, self._input_types
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
    """Make a function callable in statements; a decorator, or a call.

    Args:
        f: a function or a `ScalarFunction`; None: what is returned is a decorator.
        input_types: types of the arguments, as `DataTypes` or text; without, any are taken. An
            argument is cast where that loses nothing, else the statement is refused.
        result_type: type of the value.
        deterministic: whether the same arguments always give the same value; if not, it is
            evaluated where it stands, once per row.
        name: for errors.
        func_type: ``general``: called for each row with Python values, None for NULL; ``pandas``:
            called for each batch with `pandas.Series`, and gives one; ``arrow``: with
            `pyarrow.Array`, and gives one (not in PyFlink, the fastest).
        udf_type: the old name of ``func_type``.

    Raises:
        JobDefinitionError: there is no result type, or ``f`` is no function.

    Example:
        >>> @udf(result_type="BIGINT")
        ... def add(i, j):
        ...     return i + j
        >>> from millrace.table import EnvironmentSettings, TableEnvironment
        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        >>> t_env.create_temporary_function("add", add)
        >>> t_env.list_user_defined_functions()
        ['add']
    """
    if result_type is None:
        raise JobDefinitionError("udf() needs a result_type, for example result_type='BIGINT'")
    inputs = _types(input_types)
    kind = udf_type or func_type

    def made(func: Callable[..., Any] | UserDefinedFunction) -> UserDefinedScalarFunctionWrapper:
        return UserDefinedScalarFunctionWrapper(
            func, inputs, result_type, kind, deterministic, name
        )

    return made if f is None else made(f)


def udtf(
    f: Callable[..., Any] | UserDefinedFunction | None = None,
    input_types: Sequence[Declared] | Declared | None = None,
    result_types: Sequence[Declared] | Declared | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """Make a function that gives rows callable in statements; a decorator, or a call.

    Args:
        f: a function or a `TableFunction`, which yields rows, or gives a list of them; None: what
            is returned is a decorator.
        input_types: as of `udf`.
        result_types: types of the columns, which are called f0, f1, ...; or a ROW, whose fields
            they are.
        deterministic: as of `udf`.
        name: for errors.

    Raises:
        JobDefinitionError: there are no result types, or ``f`` is no function.

    Example:
        >>> @udtf(result_types=["STRING"])
        ... def split(line):
        ...     yield from line.split()
        >>> from millrace.table import EnvironmentSettings, TableEnvironment
        >>> from millrace.table.expressions import col
        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        >>> lines = t_env.from_elements([("to be", 1)], ["line", "number"])
        >>> lines.join_lateral(split(col("line")).alias("word")).get_schema().names
        ('line', 'number', 'word')
    """
    if result_types is None:
        raise JobDefinitionError("udtf() needs result_types, for example result_types=['STRING']")
    inputs, columns = _types(input_types), _types(result_types) or ()
    kinds = tuple(map(declared_type, columns))
    if len(kinds) == 1 and isinstance(kinds[0], RowType):
        row = kinds[0]
    else:
        row = RowType.of(*((f"f{index}", kind) for index, kind in enumerate(kinds)))

    def made(func: Callable[..., Any] | UserDefinedFunction) -> UserDefinedTableFunctionWrapper:
        return UserDefinedTableFunctionWrapper(func, inputs, row, deterministic, name)

    return made if f is None else made(f)


def _types(given: Sequence[Declared] | Declared | None) -> tuple[Declared, ...] | None:
    if isinstance(given, (LogicalType, str)):
        return (given,)
    return None if given is None else tuple(given)
