"""Checks that executors stay: workers hold state between epochs."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.cli.doctor.diagnosis import Diagnosis, ok, warning

CHECK = "executors"


def check_executors(settings: Mapping[str, str]) -> Diagnosis:
    """Judge the Spark settings of a run."""
    if settings.get("spark.dynamicAllocation.enabled", "false").lower() == "true":
        return warning(
            CHECK,
            "come and go (spark.dynamicAllocation.enabled)",
            "Set spark.dynamicAllocation.enabled=false and spark.cores.max or "
            "spark.executor.instances, because state is restored whenever an executor is "
            "removed.",
        )
    return ok(CHECK, "stay")
