"""Settings of one reporter (``metrics.reporter.<name>.<parameter>``) and the scope formats, which
build the full name of a metric from its scope's variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from typing import TypeVar

from millrace.common.config.config_options import ConfigOption
from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError
from millrace.common.time.amounts import Duration
from millrace.metrics import metric_options
from millrace.metrics.measurement import Measurement, MetricKind, MetricScope
from millrace.metrics.metric_options import REPORTER_PREFIX

__all__ = ["ReporterSettings", "ScopeFormats"]

T = TypeVar("T")
INTERVAL = Duration.of_seconds(10)


class ReporterSettings:
    """The parameters of a reporter, converted to their types.

    Args:
        name: the reporter's.
        configuration: configuration of the job.

    Raises:
        ConfigurationError: a parameter that all reporters have is invalid.

    Example:
        >>> settings = ReporterSettings(
        ...     "prom", Configuration({"metrics.reporter.prom.port": "9250-9260"})
        ... )
        >>> settings.ports(range(9249, 9250))
        range(9250, 9261)
        >>> settings.seconds("interval", INTERVAL)
        10.0
    """

    def __init__(self, name: str, configuration: Configuration) -> None:
        self.name = name
        self._prefix = f"{REPORTER_PREFIX}{name}."
        self._configuration = configuration
        self.formats = ScopeFormats(configuration, self.text("scope.delimiter") or None)
        excluded = self.items("scope.variables.excludes")
        self.excluded_variables = frozenset(f"<{item.strip('<>')}>" for item in excluded)
        added = self._read("scope.variables.additional", "map", dict[str, str]())
        self.added_variables = {f"<{key.strip('<>')}>": value for key, value in added.items()}
        self.filter = MetricFilter(
            self.items("filter.includes") or ["*"],
            self.items("filter.excludes"),
            f"{self._prefix}filter",
        )
        self.interval = self.seconds("interval", INTERVAL)

    def text(self, parameter: str, default: str = "") -> str:
        """A parameter as text."""
        return self._configuration.get_string(self._prefix + parameter, default) or ""

    def number(self, parameter: str, default: int) -> int:
        """A parameter as a whole number."""
        return self._read(parameter, "number", default)

    def flag(self, parameter: str, default: bool) -> bool:
        """A parameter as true or false."""
        return self._read(parameter, "boolean", default)

    def seconds(self, parameter: str, default: Duration) -> float:
        """A parameter that is a duration, in seconds."""
        return self._read(parameter, "duration", default).to_millis() / 1000

    def items(self, parameter: str) -> list[str]:
        """A parameter that is a list, separated by ``;``."""
        return self._read(parameter, "list", list[str]())

    def ports(self, default: range) -> range:
        """The parameter ``port``: one port, or a range such as ``9250-9260``."""
        text = self.text("port")
        if not text:
            return default
        low, _, high = text.partition("-")
        try:
            first, last = int(low), int(high or low)
        except ValueError:
            first, last = 1, 0
        if not 0 <= first <= last <= 65_535:
            raise self.error("port", f"{text!r} is neither a port nor a range such as 9250-9260")
        return range(first, last + 1)

    def require(self, parameter: str) -> str:
        """A parameter without a default.

        Raises:
            ConfigurationError: the parameter is missing.
        """
        value = self.text(parameter)
        if not value:
            raise self.error(parameter, "is missing")
        return value

    def error(self, parameter: str, what: str) -> ConfigurationError:
        """Error about a parameter."""
        return ConfigurationError(f"{self._prefix}{parameter}: {what}")

    def labels(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Variables without their brackets and without the excluded ones."""
        wanted = {**variables, **self.added_variables}
        return {k[1:-1]: v for k, v in wanted.items() if k not in self.excluded_variables}

    def _read(self, parameter: str, kind: str, default: T) -> T:
        setting = self._configuration.get(ConfigOption(self._prefix + parameter, kind, default))
        return default if setting is None else setting


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
        """Beginning of the full names of all metrics of a scope. Variables without a value stay as
        they are.
        """
        text = self._formats[scope.logical]
        parts = (_filled(part, scope) for part in text.split("."))
        return self.delimiter.join(parts)

    def identifier(self, measurement: Measurement) -> str:
        """The full name of a metric."""
        name = measurement.name.replace(".", self.delimiter)
        return f"{self.prefix(measurement.scope)}{self.delimiter}{name}"


def _filled(part: str, scope: MetricScope) -> str:
    return _VARIABLE.sub(lambda match: scope.variables.get(match[0], match[0]), part)
