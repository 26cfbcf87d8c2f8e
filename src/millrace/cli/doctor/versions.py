"""Checks that driver and workers run the same Python, Spark and packages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from millrace.cli.doctor.diagnosis import Diagnosis, failure, ok, warning
from millrace.cli.printing import plural

if TYPE_CHECKING:
    from millrace.spark.worker_survey import WorkerReport

OLDEST = (3, 11)
_INTERPRETER = (
    "Set PYSPARK_PYTHON to an interpreter that every machine has at the same path, or ship "
    "one (python.archives and python.executable)."
)
_SAME = ("millrace", "pyspark")
"""Packages whose versions must be equal; of others a difference is only suspicious."""


def check_driver_python(version: str, executable: str) -> Diagnosis:
    """Judge the driver's Python."""
    if _minor(version) < OLDEST:
        fix = "Install Python 3.11 or newer, and Millrace into it."
        return failure("Python", f"{version} ({executable})", fix)
    return ok("Python", f"{version} ({executable})")


def check_pyspark(python: str, jvm: str) -> Diagnosis:
    """Judge PySpark's version against the version of the JVM's Spark."""
    if _release(python) == _release(jvm):
        return ok("Spark", jvm)
    fix = f"Install pyspark=={jvm}, or unset SPARK_HOME so that PySpark brings its own Spark."
    return failure("Spark", f"PySpark is {python}, the driver's Spark is {jvm}", fix)


def check_worker_python(version: str, reports: Sequence[WorkerReport]) -> Diagnosis:
    """Judge the workers' interpreters."""
    check = "workers' Python"
    other = [report for report in reports if _minor(report.python) != _minor(version)]
    if other:
        versions = f"{other[0].python} on {other[0].host}, {version} in the driver"
        return failure(check, versions, _INTERPRETER)
    kinds = sorted({f"{report.python} ({report.executable})" for report in reports})
    hosts = plural(len({report.host for report in reports}), "host")
    return ok(check, f"{', '.join(kinds)}; {plural(len(reports), 'worker')} on {hosts}")


def check_packages(
    driver: Mapping[str, str], reports: Sequence[WorkerReport]
) -> Iterator[Diagnosis]:
    """Judge the workers' packages against the driver's, one diagnosis per package."""
    for package, version in driver.items():
        check = f"workers' {package}"
        other = {
            f"{report.packages[package]} on {report.host}"
            for report in reports
            if report.packages[package] != version
        }
        if not other:
            yield ok(check, version)
            continue
        versions = f"{', '.join(sorted(other))}; {version} in the driver"
        broken = any("Error" in text for text in other)
        if broken or package in _SAME:
            yield failure(check, versions, _cure(package, version))
        else:
            yield warning(check, versions, _cure(package, version))


def _cure(package: str, version: str) -> str:
    if package == "pyspark":
        return f"Install PySpark of the cluster's version for the driver, not {version}."
    return f"Install {package} {version} for the workers' Python, or ship a packed environment."


def _release(version: str) -> str:
    """Release without a vendor's suffix: 4.3.0-vendor-1 is pyspark 4.3.0+vendor.1."""
    match = re.match(r"\d+(\.\d+)*", version)
    return version if match is None else match[0]


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
