"""Functions at the end of a JSON path such as ``$.a.length()``, with the semantics of the
library JsonPath."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from millrace.expressions.evaluation_error import EvaluationError

__all__ = ["PATH_FUNCTIONS"]


def _length(value: Any) -> int | None:
    return len(value) if isinstance(value, (dict, list)) else None


def _of_numbers(name: str, found: Callable[[Sequence[float]], float]) -> Callable[[Any], float]:
    def call(value: Any) -> float:
        items = value if isinstance(value, list) else ()
        numbers = [float(item) for item in items if _is_number(item)]
        if not numbers:
            raise EvaluationError(f"{name}() of the JSON path has no numbers")
        return found(numbers)

    return call


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def _item(value: Any, place: int) -> Any:
    return value[place] if isinstance(value, list) and value else None


PATH_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "length": _length,
    "size": _length,
    "keys": lambda value: list(value) if isinstance(value, dict) else None,
    "first": lambda value: _item(value, 0),
    "last": lambda value: _item(value, -1),
    "min": _of_numbers("min", min),
    "max": _of_numbers("max", max),
    "sum": _of_numbers("sum", sum),
    "avg": _of_numbers("avg", statistics.fmean),
    "stddev": _of_numbers("stddev", statistics.pstdev),
}
