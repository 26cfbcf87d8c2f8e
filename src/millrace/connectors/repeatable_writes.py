"""Guarantees of sinks to systems without transactions, where repeated writes are harmless."""

from __future__ import annotations

from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.sink import DeliveryGuarantee

__all__ = ["writes_ahead"]


def writes_ahead(guarantee: Any) -> bool:
    """Whether writes wait for their checkpoint, as with ``EXACTLY_ONCE``. The other two guarantees
    mean the same, because every epoch ends with completed writes.

    Raises:
        JobDefinitionError: it is no `DeliveryGuarantee`.
    """
    if not isinstance(guarantee, DeliveryGuarantee):
        raise JobDefinitionError(
            f"set_delivery_guarantee() takes a DeliveryGuarantee, not {guarantee!r}"
        )
    return guarantee is DeliveryGuarantee.EXACTLY_ONCE
