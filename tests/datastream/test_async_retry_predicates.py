"""The ready-made predicates of retries."""

from __future__ import annotations

from millrace.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)


def test_a_result_is_empty_without_records() -> None:
    assert empty_result_predicate([])
    assert empty_result_predicate(None)
    assert not empty_result_predicate([None])


def test_any_error_counts() -> None:
    assert has_exception_predicate(ValueError())
    assert not has_exception_predicate(None)


def test_errors_of_a_type_count() -> None:
    assert exception_type_predicate(KeyError(), LookupError)
    assert not exception_type_predicate(KeyError(), ValueError)
