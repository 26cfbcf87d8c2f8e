"""Guarantees of sinks to systems without transactions, where repeated writes are harmless."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.sink import DeliveryGuarantee

__all__ = ["require_repeatable"]


def require_repeatable(guarantee: Any, system: str, instead: str) -> None:
    """Refuse ``EXACTLY_ONCE``. The other two guarantees are the same, since every epoch ends with
    completed writes.

    Args:
        system: name of the system without transactions.
        instead: advice by which each result is written once.

    Raises:
        JobDefinitionError: it is ``EXACTLY_ONCE``, or no `DeliveryGuarantee`.
    """
    if not isinstance(guarantee, DeliveryGuarantee):
        raise JobDefinitionError(
            f"set_delivery_guarantee() takes a DeliveryGuarantee, not {guarantee!r}"
        )
    if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
        raise JobDefinitionError(f"{system} has no transactions: use AT_LEAST_ONCE and {instead}")
