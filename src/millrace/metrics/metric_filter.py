"""Metric filters, which select the metrics of a reporter (Flink docs, "Metric Reporters",
filters)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate

from millrace.common.errors import ConfigurationError
from millrace.metrics.measurement import Measurement, MetricKind

__all__ = ["MetricFilter"]


class _Rule:
    """One ``<scope>[:<name>[,<name>]][:<type>[,<type>]]``; ``*`` matches anything."""

    def __init__(self, text: str, key: str) -> None:
        scope, *others = (part.strip() for part in text.split(":"))
        if len(others) > 2:
            raise ConfigurationError(f"{key}: {text!r} is not <scope>[:<names>[:<types>]]")
        names = others[0] if others else "*"
        kinds = others[1] if len(others) > 1 else "*"
        self._scope = re.compile(translate(scope))
        self._names = [re.compile(translate(name.strip())) for name in names.split(",")]
        self._kinds = set(MetricKind) if kinds == "*" else _kinds(kinds, key)

    def matches(self, measurement: Measurement) -> bool:
        """Whether the rule matches a metric."""
        groups, _, name = measurement.logical_name.rpartition(".")
        logical = measurement.scope.logical + (f".{groups}" if groups else "")
        return (
            measurement.kind in self._kinds
            and self._scope.match(logical) is not None
            and any(wanted.match(name) for wanted in self._names)
        )


class MetricFilter:
    """Filter that passes metrics matched by one of the ``includes`` and none of the ``excludes``.

    Args:
        includes: rules of the form ``<scope>[:<name>[,<name>]][:<type>[,<type>]]``.
        excludes: likewise.
        key: configuration key of the filters, for error messages.

    Raises:
        ConfigurationError: a rule is not one.

    Example:
        >>> from millrace.metrics.measurement import Measurement, MetricScope
        >>> restarts = Measurement(
        ...     MetricScope("jobmanager.job"), "numRestarts", MetricKind.GAUGE, 0, "numRestarts"
        ... )
        >>> MetricFilter(["jobmanager.job:num*,uptime:gauge"]).passes(restarts)
        True
        >>> MetricFilter(["*"], ["jobmanager*:*Restarts"]).passes(restarts)
        False
    """

    def __init__(
        self, includes: Iterable[str] = ("*",), excludes: Iterable[str] = (), key: str = "filter"
    ) -> None:
        wanted, unwanted = list(includes), list(excludes)
        self._passes_all = "*" in wanted and not unwanted
        self._includes = [_Rule(text, f"{key}.includes") for text in wanted]
        self._excludes = [_Rule(text, f"{key}.excludes") for text in unwanted]

    def passes(self, measurement: Measurement) -> bool:
        """Whether the filter passes a metric."""
        if self._passes_all:
            return True
        return any(rule.matches(measurement) for rule in self._includes) and not any(
            rule.matches(measurement) for rule in self._excludes
        )


def _kinds(text: str, key: str) -> set[MetricKind]:
    try:
        return {MetricKind(kind.strip().lower()) for kind in text.split(",")}
    except ValueError:
        known = ", ".join(kind.value for kind in MetricKind)
        raise ConfigurationError(f"{key}: {text!r} is not among the types {known}") from None
