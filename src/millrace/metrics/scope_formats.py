"""Scope formats, which build the full name of a metric from its scope's variables."""

from __future__ import annotations

import re

from millrace.common.config.configuration import Configuration
from millrace.metrics import metric_options
from millrace.metrics.measurement import Measurement, MetricScope

__all__ = ["ScopeFormats"]

_VARIABLE = re.compile(r"<[a-z_]+>")


class ScopeFormats:
    """The format of each kind of scope, from a configuration.

    Args:
        delimiter: delimiter that replaces the configured one (``metrics.scope.delimiter``).

    Example:
        >>> formats = ScopeFormats(Configuration({"metrics.scope.jm-job": "jobs.<job_name>"}))
        >>> formats.prefix(MetricScope("jobmanager.job", {"<job_name>": "count"}))
        'jobs.count'
    """

    def __init__(self, configuration: Configuration, delimiter: str | None = None) -> None:
        self.delimiter = delimiter or configuration.get(metric_options.SCOPE_DELIMITER)
        self._formats = {
            logical: configuration.get(option)
            for logical, option in metric_options.SCOPE_FORMATS.items()
        }
        for logical, text in self._formats.items():
            # as in Flink: a star at the beginning stands for the format of the scope around it
            if text.startswith("*."):
                around = self._formats.get(logical.rpartition(".")[0], "")
                self._formats[logical] = f"{around}{text[1:]}" if around else text[2:]

    def prefix(self, scope: MetricScope) -> str:
        """Common prefix of the full names of a scope's metrics; unknown variables stay."""
        text = self._formats[scope.logical]
        parts = (_filled(part, scope) for part in text.split("."))
        return self.delimiter.join(parts)

    def identifier(self, measurement: Measurement) -> str:
        """The full name of a metric."""
        name = measurement.name.replace(".", self.delimiter)
        return f"{self.prefix(measurement.scope)}{self.delimiter}{name}"


def _filled(part: str, scope: MetricScope) -> str:
    return _VARIABLE.sub(lambda found: scope.variables.get(found[0], found[0]), part)
