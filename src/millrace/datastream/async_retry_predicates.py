"""Predicates for the retry of asynchronous requests, for `AsyncRetryStrategy`.

Semantics: Flink docs, "Asynchronous I/O for External Data Access" (Retry Support).
"""

from __future__ import annotations

from typing import Any

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]


def empty_result_predicate(result: list[Any] | None) -> bool:
    """Whether the request gave no result.

    Example:
        >>> empty_result_predicate([]), empty_result_predicate([1])
        (True, False)
    """
    return not result


def has_exception_predicate(error: BaseException | None) -> bool:
    """Whether the request failed."""
    return error is not None


def exception_type_predicate(
    error: BaseException | None, expected_error_type: type[BaseException]
) -> bool:
    """Whether the request failed with an exception of a type."""
    return isinstance(error, expected_error_type)
