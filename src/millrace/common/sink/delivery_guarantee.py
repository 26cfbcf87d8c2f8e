"""Delivery guarantees of sinks (Flink docs, "Fault Tolerance Guarantees of Data Sources and
Sinks")."""

from __future__ import annotations

from enum import Enum

__all__ = ["DeliveryGuarantee"]


class DeliveryGuarantee(Enum):
    """Number of times that a sink delivers each record when the job fails and resumes from a
    checkpoint.

    Sinks whose system leaves the choice, as Kafka's, take one. The whole job gives the weakest of
    what its sources and sinks give. The values are the texts of Flink's configuration.

    Example::

        DeliveryGuarantee("exactly-once") is DeliveryGuarantee.EXACTLY_ONCE  # True
    """

    EXACTLY_ONCE = "exactly-once"
    """Once: what an epoch writes becomes visible with its checkpoint, by a transaction of the
    system or by a write that can be repeated."""
    AT_LEAST_ONCE = "at-least-once"
    """Once or, after a failure, more often: what is written is durable before its checkpoint."""
    NONE = "none"
    """Not promised: after a failure records may be missing or come twice. The fastest."""

    def __str__(self) -> str:
        return self.value
