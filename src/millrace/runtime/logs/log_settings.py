"""Log settings of a job."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from millrace.common.config.configuration import Configuration
from millrace.common.errors import ConfigurationError
from millrace.runtime.logs import logging_options

__all__ = ["FAILURE_REPORT", "RUN_LOG", "LogSettings"]

RUN_LOG = "MILLRACE_LOG"
"""Environment variable that names the log file of a run, set by tools that start jobs. If it is
unset, each run has a new file."""
FAILURE_REPORT = "MILLRACE_FAILURE_REPORT"
"""Environment variable that names a file for the error message of a failed program, set by tools
that start jobs."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Levels and format of the log, in the driver and in workers."""

    level: str | None = None
    """Level of the root logger in workers. None if the executor chooses it."""
    levels: Mapping[str, str] = field(default_factory=dict)
    """Levels by name of the logger."""
    json: bool = False
    ships: bool = False
    """Whether workers send logged and printed lines to the driver with their acknowledgements,
    because they are on other machines."""
    file: str | None = None
    """Log file that workers append to. None for standard error."""

    @staticmethod
    def of(configuration: Configuration) -> LogSettings:
        """Log settings of a configuration.

        Raises:
            ConfigurationError: a level is invalid.

        Example:
            >>> LogSettings.of(Configuration({"millrace.logging.levels": "shop:debug"})).levels
            {'shop': 'DEBUG'}
        """
        level = configuration.get(logging_options.LEVEL)
        levels = configuration.get(logging_options.LEVELS)
        return LogSettings(
            None if level is None else _level(logging_options.LEVEL.key, level),
            {name: _level(logging_options.LEVELS.key, text) for name, text in levels.items()},
            configuration.get(logging_options.FORMAT) == "json",
        )

    def apply_levels(self) -> None:
        """Set the levels of the loggers that the settings name."""
        for name, level in self.levels.items():
            logging.getLogger(name).setLevel(level)


def _level(key: str, text: str) -> str:
    name = text.strip().upper()
    known = logging.getLevelNamesMapping()
    if name not in known:
        raise ConfigurationError(
            f"{key}: {text!r} is not a log level; the levels are {', '.join(known)}"
        )
    return name
