"""Futures with Flink's name."""

from __future__ import annotations

import pytest

from millrace.common import CompletableFuture


def test_a_completed_future_has_its_result() -> None:
    future = CompletableFuture.completed("there")
    assert future.done()
    assert not future.cancelled()
    assert future.result() == "there"
    assert future.exception() is None


def test_a_pending_future_can_be_cancelled_or_fail() -> None:
    pending: CompletableFuture[int] = CompletableFuture()
    assert not pending.done()
    assert pending.cancel()
    assert pending.cancelled()
    failed: CompletableFuture[int] = CompletableFuture()
    failed.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        failed.result()
