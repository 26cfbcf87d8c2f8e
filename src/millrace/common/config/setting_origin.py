"""Origins of configuration values, in their order of precedence."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["SettingOrigin"]


class SettingOrigin(StrEnum):
    """Place from which the value of a setting comes."""

    PROGRAM = "program"
    SERVER = "server"
    """The job server sets it for each of its jobs, whatever the others say."""
    COMMAND_LINE = "command-line"
    SUBMISSION = "submission"
    """The request that submitted the job to a server."""
    ENVIRONMENT = "environment"
    """The variable ``MILLRACE_SETTINGS``."""
    FILE = "config.yaml"
    DEFAULT = "default"
    """Built into Millrace."""
