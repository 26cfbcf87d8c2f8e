"""Checks for a Java that Spark can use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.cli.doctor.diagnosis import Diagnosis, failure, ok, warning

if TYPE_CHECKING:
    from millrace.spark.java_version import Java

CHECK = "Java"


def check_java(java: Java) -> Diagnosis:
    """Judge the driver's Java; executors use the cluster's."""
    problem = java.problem()
    if problem is not None:
        found = f"Java {java.version} ({java.path})" if java.path else "none"
        return failure(CHECK, found, f"{problem}.")
    if java.version is None:
        fix = "Run 'java -version' and check that the version is 17 or newer."
        return warning(CHECK, f"{java.path} does not show its version", fix)
    return ok(CHECK, f"{java.version} ({java.path})")
