"""`annotated_result` and `annotated_inputs`: types of functions from type hints.

They are taken where a program declares no types. Flink: ``TypeInference`` by reflection.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.hinted_type import hinted_type, hints_of
from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.row import Row

__all__ = ["annotated_inputs", "annotated_result"]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def annotated_result(
    function: Any, method: str, made_by: str, rows: bool = False, parameter: str = "result_type"
) -> LogicalType:
    """The type of a function's result.

    Args:
        method: method to inspect if the function is an object.
        made_by: name of the decorator, such as ``udf``, for errors.
        rows: whether the function returns any number of rows; the type is then that of one row.
        parameter: parameter of ``made_by`` that declares the type instead of hints, for errors.

    Raises:
        JobDefinitionError: the function has no type hint for its result, or one without a type.
    """
    body = _body(function, method)
    hint = hints_of(body).get("return", inspect.Parameter.empty)
    hint = _element(hint) if rows else hint
    where = getattr(body, "__qualname__", type(function).__name__)
    if hint in (inspect.Parameter.empty, Any, type(None), Row):
        declared = "result_types=['STRING']" if parameter.endswith("s") else "result_type='BIGINT'"
        example = "Iterator[str]" if rows else "int"
        raise JobDefinitionError(
            f"{made_by}() needs the {parameter} of {where}: declare {declared}, or write it as a "
            f"type hint: -> {example}"
        )
    try:
        return hinted_type(hint)
    except JobDefinitionError as error:
        raise JobDefinitionError(f"the result of {where}, of {made_by}(): {error}") from None


def annotated_inputs(
    function: Any, method: str, made_by: str, skipped: int = 0
) -> tuple[LogicalType, ...] | None:
    """The types of a function's parameters; None if it takes any, because a hint is missing, a
    parameter is optional, or their number is variable.

    Args:
        skipped: number of leading parameters that are not arguments, such as the accumulator.

    Raises:
        JobDefinitionError: a hint says no type.
    """
    body = _body(function, method)
    try:
        parameters = list(inspect.signature(body).parameters.values())[skipped:]
    except (TypeError, ValueError):
        return None
    hints = hints_of(body)
    types: list[LogicalType] = []
    for parameter in parameters:
        hint = hints.get(parameter.name, Any)
        optional = parameter.default is not inspect.Parameter.empty
        if (
            hint in (Any, Row)
            or optional
            or parameter.kind not in _POSITIONAL
            or _says_no_element(hint)
        ):
            return None
        try:
            types.append(hinted_type(hint))
        except JobDefinitionError as error:
            where = getattr(body, "__qualname__", parameter.name)
            raise JobDefinitionError(
                f"the parameter {parameter.name!r} of {where}, of {made_by}(): {error}"
            ) from None
    return tuple(types)


def _body(function: Any, method: str) -> Callable[..., Any]:
    body: Callable[..., Any] = getattr(function, method, function)
    return body


def _says_no_element(hint: Any) -> bool:
    """Whether the hint is a column without an element type, such as ``pandas.Series``."""
    module = getattr(hint, "__module__", "").partition(".")[0]
    if not isinstance(hint, type) or module not in ("pandas", "pyarrow"):
        return False
    try:
        hinted_type(hint)
    except JobDefinitionError:
        return True
    return False


def _element(hint: Any) -> Any:
    """Element type of an iterator, a generator or a list of rows; a row's own hint unchanged."""
    origin = typing.get_origin(hint)
    if origin is None or origin is tuple or not isinstance(origin, type):
        return hint
    rows = issubclass(origin, Iterable | AsyncIterable | Sequence) and not hasattr(origin, "keys")
    return typing.get_args(hint)[0] if rows else hint
