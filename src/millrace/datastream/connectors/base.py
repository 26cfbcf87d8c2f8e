"""The interfaces of sources and sinks, and the delivery guarantees of sinks."""

from __future__ import annotations

from millrace.common.sink.delivery_guarantee import DeliveryGuarantee
from millrace.common.sink.sink import Sink
from millrace.common.source import Source

__all__ = [
    "DeliveryGuarantee",
    "Sink",
    "Source",
]
