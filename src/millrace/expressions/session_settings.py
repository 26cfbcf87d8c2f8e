"""`SessionSettings`: session settings that affect the values of expressions."""

from __future__ import annotations

from dataclasses import dataclass, field

from millrace.expressions.asynchronous import AsyncOptions

__all__ = ["SessionSettings"]


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Session settings that affect the values of expressions.

    Attributes:
        time_zone: ``table.local-time-zone``: in which TIMESTAMP_LTZ becomes text or a date.
        instant: milliseconds since 1970 of CURRENT_TIMESTAMP in batch mode, where one instant
            holds for the whole query; None: the instant of each batch (Flink evaluates per row,
            here an epoch has one instant).
        legacy_cast: ``table.exec.legacy-cast-behaviour``: CAST returns NULL instead of failing.
        job_parameters: ``pipeline.global-job-parameters``, for functions of the user.
        async_scalar: options for calls of the user's asynchronous functions.
    """

    time_zone: str = "UTC"
    instant: int | None = None
    legacy_cast: bool = False
    job_parameters: tuple[tuple[str, str], ...] = ()
    async_scalar: AsyncOptions = field(default_factory=AsyncOptions)
