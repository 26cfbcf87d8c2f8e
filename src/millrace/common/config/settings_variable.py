"""Settings in an environment variable. They are not on the command line, because all users of a
machine can see command lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from millrace.common.errors import ConfigurationError

__all__ = ["DEFAULTS_VARIABLE", "SETTINGS_VARIABLE", "settings_in"]

SETTINGS_VARIABLE = "MILLRACE_SETTINGS"
"""Settings of ``millrace run`` as a JSON object; ``--conf`` goes over them."""

DEFAULTS_VARIABLE = "MILLRACE_DEFAULTS"
"""Settings of a job server's ``config.yaml`` for its jobs, as a JSON object. A job with this
variable reads no file of its own."""


def settings_in(
    environment: Mapping[str, str], variable: str = SETTINGS_VARIABLE
) -> dict[str, str]:
    """The settings in a variable.

    Raises:
        ConfigurationError: the argument is not a JSON object of texts.

    Example:
        >>> settings_in({"MILLRACE_SETTINGS": '{"metrics.reporter.dog.apikey": "x"}'})
        {'metrics.reporter.dog.apikey': 'x'}
    """
    try:
        values = json.loads(environment.get(variable) or "{}")
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or not all(isinstance(v, str) for v in values.values()):
        raise ConfigurationError(
            f'{variable} must be a JSON object of texts, such as {{"parallelism.default": "2"}}'
        )
    return values
