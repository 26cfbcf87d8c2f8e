"""Checks that the clocks of workers and driver agree."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.cli.doctor.diagnosis import Diagnosis, failure, ok, warning

CHECK = "clocks"
NOTICEABLE, TOO_MUCH = 1.0, 60.0
_FIX = (
    "Let chrony or systemd-timesyncd set the clocks of all machines: processing time, "
    "leases and requests to object stores depend on them."
)


def check_clocks(skews: Mapping[str, tuple[float, float]]) -> Diagnosis:
    """Judge the skew of the workers' clocks against the driver's.

    Args:
        skews: by host, the lower and upper bound of its skew in seconds, since answers take time.
    """
    if not skews:
        return ok(CHECK, "no worker was asked")
    least = {host: _certain(*skew) for host, skew in skews.items()}
    host, skew = max(least.items(), key=lambda pair: abs(pair[1]))
    if abs(skew) < NOTICEABLE:
        width = max(max(abs(low), abs(high)) for low, high in skews.values())
        return ok(CHECK, f"within {width:.2f} s of the driver's")
    word = "ahead of" if skew > 0 else "behind"
    deviation = f"{host} is {abs(skew):.1f} s or more {word} the driver"
    return (
        failure(CHECK, deviation, _FIX) if abs(skew) > TOO_MUCH else warning(CHECK, deviation, _FIX)
    )


def _certain(low: float, high: float) -> float:
    """The skew of the smallest magnitude between two bounds, in seconds."""
    return low if low > 0 else min(high, 0.0)
