"""`udptf`: user-defined process table functions in SQL and the Table API.

Flink docs: "Process Table Functions"; PyFlink has none, so the names are Java's as Python writes
them, and annotations stand for Java's.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Union

from millrace.common.config.config_options import read_duration
from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.hinted_type import hinted_type, hints_of
from millrace.common.types.logical.logical_type import LogicalType, RowType
from millrace.common.types.row import Row
from millrace.common.types.type_hints import type_of
from millrace.common.types.type_information import TypeInformation
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.process_table_functions import (
    ArgumentTrait,
    EntryShape,
    ProcessArgument,
    ProcessSignature,
    StateEntry,
    process_table_function,
)
from millrace.table.changelog_mode import ChangelogMode
from millrace.table.data_types import declared_type
from millrace.table.data_view import ListView, MapView
from millrace.table.functions.annotated_types import annotated_result
from millrace.table.functions.user_defined_function import (
    Declared,
    UserDefinedFunctionWrapper,
    declared_types,
)
from millrace.table_runtime.process_contexts import (
    ProcessTableContext,
)
from millrace.table_runtime.process_state import row_without_values
from millrace.table_runtime.user_defined_functions import ProcessTableFunction, UserDefinedFunction

__all__ = [
    "ArgumentHint",
    "ProcessTableFunction",
    "StateHint",
    "UserDefinedProcessTableFunctionWrapper",
    "udptf",
]


@dataclasses.dataclass(frozen=True, init=False)
class ArgumentHint:
    """Kind of a parameter of ``eval``: ``Annotated[Row, ArgumentHint(SET_SEMANTIC_TABLE)]``.

    Args:
        traits: members of `ArgumentTrait`; without any, the argument is a value.
        name: name of the argument in calls; None for the parameter's name.
        type: type of the value, or of the table's rows; None for the type hint.
        is_optional: whether calls may omit the argument, as they may if the parameter has a
            default.
    """

    traits: frozenset[ArgumentTrait]
    name: str | None
    type: Declared | None
    is_optional: bool

    def __init__(
        self,
        *traits: ArgumentTrait,
        name: str | None = None,
        type: Declared | None = None,
        is_optional: bool = False,
    ) -> None:
        for key, value in (
            ("traits", frozenset(traits)),
            ("name", name),
            ("type", type),
            ("is_optional", is_optional),
        ):
            object.__setattr__(self, key, value)


@dataclasses.dataclass(frozen=True)
class StateHint:
    """Mark of a parameter of ``eval`` as state: ``Annotated[CountState, StateHint(ttl="1 day")]``.

    Args:
        type: the ROW type, if the state is a `Row`.
        ttl: time after the last write at which the state expires, such as ``"1 day"``; never with
            ``"0"``; None for ``table.exec.state.ttl``.
        name: name of the state; None for the parameter's name.
    """

    type: Declared | None = None
    ttl: str | None = None
    name: str | None = None


class UserDefinedProcessTableFunctionWrapper(UserDefinedFunctionWrapper):
    """A process table function, made by `udptf`.

    Args:
        func, deterministic, name: see the base class.
        row_type: columns of the rows; None for the function's type hints.
    """

    MADE_BY = "udptf"

    def __init__(
        self,
        func: Callable[..., Any] | UserDefinedFunction,
        row_type: LogicalType | None,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        super().__init__(func, None, deterministic, name)
        if row_type is None:
            row_type = annotated_result(func, self.METHOD, self.MADE_BY, True, "result_types")
        if not isinstance(row_type, RowType):
            row_type = RowType.of(("EXPR$0", row_type))
        self._signature = _signature(func, row_type)

    def __repr__(self) -> str:
        return f"udptf({self._name}) -> {self._signature.row_type}"

    def definition(self, name: str) -> FunctionDefinition:
        """The function's definition for the planner, under its registered name."""
        return process_table_function(name, self._signature, self._deterministic)


def udptf(
    f: Callable[..., Any] | UserDefinedFunction | None = None,
    result_types: Sequence[Declared] | Declared | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """Make a process table function callable in statements; usable as a decorator or as a function.

    Args:
        f: a `ProcessTableFunction`, or a function, which cannot have timers; None returns a
            decorator.
        result_types: types of the columns, or a ROW; None for the type hints of ``f``.
        deterministic: see `udf`.
        name: name of the function, for errors and for the ``uid`` of calls.

    Raises:
        JobDefinitionError: the function's parameters lack type hints or hints of their kind.

    Example:
        >>> from collections.abc import Iterator
        >>> @udptf
        ... def above(
        ...     rows: Annotated[Row, ArgumentTrait.ROW_SEMANTIC_TABLE], least: int
        ... ) -> Iterator[int]:
        ...     if rows.score > least:
        ...         yield rows.score
        >>> above
        udptf(above) -> ROW<`EXPR$0` BIGINT>
    """
    columns = declared_types(result_types)
    row: LogicalType | None = None
    if columns is not None:
        kinds = tuple(map(declared_type, columns))
        fields = ((f"EXPR${place}", kind) for place, kind in enumerate(kinds))
        single = len(kinds) == 1 and isinstance(kinds[0], RowType)
        row = kinds[0] if single else RowType.of(*fields)

    def made(
        func: Callable[..., Any] | UserDefinedFunction,
    ) -> UserDefinedProcessTableFunctionWrapper:
        return UserDefinedProcessTableFunctionWrapper(func, row, deterministic, name)

    return made if f is None else made(f)


# -- signatures ------------------------------------------------------------------------------


def _signature(function: Any, row_type: RowType) -> ProcessSignature:
    """Signature from the parameters of ``eval`` and ``on_timer``.

    Raises:
        JobDefinitionError: the parameters lack type hints or hints of their kind, or do not fit
            together.
    """
    body = getattr(function, "eval", function)
    where = getattr(body, "__qualname__", "eval")
    parameters = list(inspect.signature(body).parameters.values())
    hints = hints_of(body)
    context = _takes_context(parameters, hints)
    states: list[StateEntry] = []
    arguments: list[ProcessArgument] = []
    for parameter in parameters[int(context) :]:
        hint = hints.get(parameter.name, Any)
        try:
            state = _state_hint(hint)
            if state is None:
                arguments.append(_argument(parameter, hint))
                continue
            states.append(_state(parameter.name, hint, state))
        except JobDefinitionError as error:
            raise JobDefinitionError(
                f"the parameter {parameter.name!r} of {where}, of udptf(): {error}"
            ) from None
        if arguments:
            raise JobDefinitionError(
                f"{where}: state parameters come before the arguments of the call, so put "
                f"{parameter.name!r} before {arguments[0].name!r}"
            )
    timer = getattr(function, "on_timer", None)
    made = ProcessSignature(
        function,
        tuple(arguments),
        tuple(states),
        row_type,
        (context, timer is not None and _timer_context(timer, len(states), where)),
        timer is not None,
        getattr(function, "get_changelog_mode", ChangelogMode.insert_only)().kinds,
    )
    _check(made, where)
    return made


def _takes_context(parameters: Sequence[inspect.Parameter], hints: dict[str, Any]) -> bool:
    if not parameters:
        return False
    hint = hints.get(parameters[0].name, Any)
    if hint is Any:
        return parameters[0].name in ("ctx", "context")
    return isinstance(hint, type) and issubclass(hint, ProcessTableContext)


def _timer_context(timer: Callable[..., Any], states: int, where: str) -> bool:
    count = len(inspect.signature(timer).parameters)
    if count not in (states, states + 1):
        raise JobDefinitionError(
            f"{timer.__qualname__} takes {count} parameters; it must take a context "
            f"(optional) and then the {states} states of {where}"
        )
    return count == states + 1


def _check(signature: ProcessSignature, where: str) -> None:
    tables, trait = signature.tables, ArgumentTrait
    rows = [table for table in tables if not table.is_set]
    stateful = bool(signature.states) or signature.has_timers
    if stateful and (rows or not tables):
        raise JobDefinitionError(
            f"{where} has state or timers, which belong to partitions, so its tables must "
            "be ArgumentTrait.SET_SEMANTIC_TABLE"
        )
    if len(tables) > 1 and rows:
        raise JobDefinitionError(
            f"{where} takes {len(tables)} tables: all of them must be "
            "ArgumentTrait.SET_SEMANTIC_TABLE"
        )
    passing = [table for table in tables if trait.PASS_COLUMNS_THROUGH in table.traits]
    if passing and (signature.has_timers or len(tables) > 1):
        raise JobDefinitionError(
            f"{where}: ArgumentTrait.PASS_COLUMNS_THROUGH requires a function with one "
            "table and without on_timer()"
        )


def _split(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A hint and its annotations."""
    if typing.get_origin(hint) is Annotated:
        given, *extras = typing.get_args(hint)
        return given, tuple(extras)
    return hint, ()


def _state_hint(hint: Any) -> StateHint | None:
    for extra in _split(hint)[1]:
        if extra is StateHint:
            return StateHint()
        if isinstance(extra, StateHint):
            return extra
    return None


def _argument(parameter: inspect.Parameter, hint: Any) -> ProcessArgument:
    given, extras = _split(hint)
    argument_hints = [extra for extra in extras if isinstance(extra, ArgumentHint)]
    argument = argument_hints[0] if argument_hints else ArgumentHint()
    traits = argument.traits | {extra for extra in extras if isinstance(extra, ArgumentTrait)}
    has_default = parameter.default is not inspect.Parameter.empty
    given, optional = _not_none(given), has_default or argument.is_optional
    kind = None if argument.type is None else declared_type(argument.type)
    made = None
    tables = {ArgumentTrait.ROW_SEMANTIC_TABLE, ArgumentTrait.SET_SEMANTIC_TABLE}
    if traits & tables:
        if kind is None and given not in (Any, Row):
            kind, made = hinted_type(given), given
        if kind is not None and not isinstance(kind, RowType):
            raise JobDefinitionError(
                f"the rows of a table must be a Row or a data class, not {kind}"
            )
    elif kind is None:
        if given is Any:
            raise JobDefinitionError(
                "it has no type: annotate values with their types, tables with "
                "Annotated[Row, ArgumentTrait.SET_SEMANTIC_TABLE] or ROW_SEMANTIC_TABLE, "
                "state with Annotated[..., StateHint]"
            )
        others = [extra for extra in extras if not isinstance(extra, ArgumentHint | ArgumentTrait)]
        kind = hinted_type(Annotated[given, *others] if others else given)
    return ProcessArgument(
        argument.name or parameter.name,
        frozenset(traits or {ArgumentTrait.SCALAR}),
        kind,
        made,
        optional,
        parameter.default if has_default else None,
    )


def _not_none(hint: Any) -> Any:
    """``Row`` for ``Row | None``."""
    members = [member for member in typing.get_args(hint) if member is not type(None)]
    union = typing.get_origin(hint) in (Union, type(int | str))
    return members[0] if union and len(members) == 1 else hint


def _state(name: str, hint: Any, state: StateHint) -> StateEntry:
    given = _split(hint)[0]
    name = state.name or name
    try:
        ttl = None if state.ttl is None else read_duration(state.ttl).to_millis()
    except ValueError as error:
        raise JobDefinitionError(f"the ttl of a StateHint: {error}") from None
    origin, args = typing.get_origin(given) or given, typing.get_args(given)
    if origin is ListView or origin is MapView:
        shape = EntryShape.LIST if origin is ListView else EntryShape.MAP
        types = tuple(map(_state_type, args)) or (None, None)
        return StateEntry(name, shape, ttl, None, types)
    if given is Row:
        kind = None if state.type is None else declared_type(state.type)
        if not isinstance(kind, RowType):
            raise JobDefinitionError(
                'state that is a Row must declare its fields: StateHint(type="ROW<count BIGINT>")'
            )
        made = partial(row_without_values, kind.names)
        return StateEntry(name, EntryShape.VALUE, ttl, made)
    if not isinstance(given, type) or given.__module__ == "builtins":
        raise JobDefinitionError(
            "state must be a data class, another class without parameters, a Row, a "
            f"ListView or a MapView, not {given}"
        )
    try:
        given()
    except TypeError as error:
        raise JobDefinitionError(
            f"state of the class {given.__qualname__} begins as {given.__qualname__}(), but "
            f"this call fails: {error}; give its fields defaults"
        ) from None
    return StateEntry(name, EntryShape.VALUE, ttl, given, (_state_type(given),))


def _state_type(hint: Any) -> TypeInformation[Any] | None:
    """Type with which state is stored as plain data; None if it is pickled."""
    try:
        return type_of(hint)
    except JobDefinitionError:
        return None
