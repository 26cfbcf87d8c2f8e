"""The error of a reporter whose client library is not installed."""

from __future__ import annotations

__all__ = ["missing_client"]


def missing_client(reporter: str, package: str, extra: str) -> ModuleNotFoundError:
    """Error that names the missing package and its installation.

    Example:
        >>> str(missing_client("statsd", "statsd", "statsd"))
        "the metric reporter statsd needs the package statsd: pip install 'millrace[statsd]'"
    """
    return ModuleNotFoundError(
        f"the metric reporter {reporter} needs the package {package}: "
        f"pip install 'millrace[{extra}]'",
        name=package,
    )
