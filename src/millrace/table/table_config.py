"""Options of a session that may change between statements. Flink: ``TableConfig``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from millrace.common.config import options, table_options
from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError
from millrace.common.time.amounts import Duration
from millrace.expressions.asynchronous import AsyncOptions
from millrace.expressions.session_settings import SessionSettings
from millrace.table.sql_dialect import SqlDialect

__all__ = ["TableConfig"]

_OFFSET = re.compile(r"GMT(?P<sign>[+-])(?P<hours>\d|0\d|1[0-2])(:00)?")


class TableConfig:
    """Options that SET changes: of SQL, and of the jobs of queries.

    Example:
        >>> config = TableConfig().set("table.exec.state.ttl", "1 h")
        >>> config.get("table.exec.state.ttl", "")
        '1 h'
        >>> config.get_local_timezone()
        'UTC'
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._initial = Configuration(configuration)
        self._configuration = Configuration(configuration)

    def get(self, key: str, default_value: str) -> str:
        """The value of an option as text, or the default."""
        return self._configuration.get_string(key, default_value) or default_value

    def set(self, key: str, value: str) -> TableConfig:
        """Set an option.

        Raises:
            ConfigurationError: there is no such option (the nearest is named), or the value is
                not of its type.
        """
        tried = Configuration({key: value})
        tried.validate()
        if key == table_options.LOCAL_TIME_ZONE.key:
            _require_zone(value)
        self._configuration.add_all(tried)
        return self

    def reset(self, key: str | None = None) -> None:
        """Reset one option, or all options, to the initial value in the session."""
        if key is None:
            self._configuration = Configuration(self._initial)
            return
        self._configuration.remove_config(key)
        if self._initial.contains_key(key):
            self._configuration.set_string(key, self._initial.get_string(key) or "")

    def get_configuration(self) -> Configuration:
        """The options of the session."""
        return self._configuration

    def add_configuration(self, configuration: Configuration) -> None:
        """Set the options of another configuration.

        Raises:
            ConfigurationError: an option is unknown, or a value is wrong.
        """
        for key, value in configuration.to_dict().items():
            self.set(key, value)

    def get_local_timezone(self) -> str:
        """Time zone of the session; an offset such as GMT-08:00 is ``Etc/GMT+8``."""
        name = self._configuration.get(table_options.LOCAL_TIME_ZONE)
        offset = _OFFSET.fullmatch(name)
        if offset is None:
            return name
        hours = int(offset["hours"])  # names of IANA count westwards
        return f"Etc/GMT{'-' if offset['sign'] == '+' else '+'}{hours}" if hours else "UTC"

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the time zone of the session.

        Raises:
            ConfigurationError: the time zone is unknown.
        """
        self.set(table_options.LOCAL_TIME_ZONE.key, timezone_id)

    def set_idle_state_retention(self, duration: Any) -> None:
        """Set the retention of idle state: ``table.exec.state.ttl``."""
        self._configuration.set(table_options.STATE_TTL, Duration.of_millis(_millis(duration)))

    def get_idle_state_retention(self) -> Duration:
        """Retention of idle state."""
        return self._configuration.get(table_options.STATE_TTL)

    def session(self) -> SessionSettings:
        """Settings of the session that expressions use."""
        legacy = self._configuration.get(table_options.LEGACY_CAST) == "ENABLED"
        parameters = self._configuration.get(options.GLOBAL_JOB_PARAMETERS)
        return SessionSettings(
            self.get_local_timezone(),
            None,
            legacy,
            tuple(sorted(parameters.items())),
            self._async_options(),
        )

    def _async_options(self) -> AsyncOptions:
        get = self._configuration.get
        return AsyncOptions(
            get(table_options.ASYNC_SCALAR_CAPACITY),
            get(table_options.ASYNC_SCALAR_TIMEOUT).to_millis(),
            get(table_options.ASYNC_SCALAR_ATTEMPTS),
            get(table_options.ASYNC_SCALAR_DELAY).to_millis(),
        )

    def get_python_executable(self) -> str | None:
        """The Python interpreter of the workers; None if it is the driver's interpreter."""
        return self._configuration.get(options.PYTHON_EXECUTABLE)

    def set_python_executable(self, python_exec: str) -> None:
        """Run the workers with this Python interpreter: a path that exists on every host, or a
        path within an archive."""
        self._configuration.set(options.PYTHON_EXECUTABLE, python_exec)

    @staticmethod
    def get_default() -> TableConfig:
        """A configuration with default options only."""
        return TableConfig()

    def get_sql_dialect(self) -> SqlDialect:
        """The grammar of statements."""
        return SqlDialect.DEFAULT

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Set the grammar of statements: only Flink's is supported.

        Raises:
            ConfigurationError: the dialect is not Flink's.
        """
        if sql_dialect is not SqlDialect.DEFAULT:
            raise ConfigurationError(
                f"the only SQL dialect is Flink SQL; {sql_dialect} is not supported"
            )

    def to_map(self) -> dict[str, str]:
        """All set options, sorted by key."""
        return dict(self.to_dict())

    def to_dict(self) -> Mapping[str, str]:
        """All set options, sorted by key."""
        return dict(sorted(self._configuration.to_dict().items()))


def _require_zone(name: str) -> None:
    if _OFFSET.fullmatch(name):
        return
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ConfigurationError(
            f"table.local-time-zone: the zone {name!r} is unknown; use a name such as "
            "'Europe/Berlin' or 'GMT-08:00' (whole hours only)"
        ) from None


def _millis(duration: Any) -> int:
    from millrace.common.time.amounts import millis

    return millis(duration)
