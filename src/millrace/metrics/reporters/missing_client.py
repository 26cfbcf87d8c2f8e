"""The error of a reporter whose client library is not installed."""

from __future__ import annotations

from millrace.common.installation import missing_package

__all__ = ["missing_client"]


def missing_client(reporter: str, package: str, extra: str) -> ModuleNotFoundError:
    """Error that names the missing package and its installation.

    Example:
        >>> str(missing_client("statsd", "statsd", "statsd"))
        "the metric reporter statsd needs the package statsd: pip install 'millrace[statsd]'"
    """
    return ModuleNotFoundError(
        missing_package(f"the metric reporter {reporter} needs", package, extra),
        name=package,
    )
