"""Settings from an environment variable, since all users of a machine can see command lines."""

from __future__ import annotations

import json
from collections.abc import Mapping

from millrace.common.errors import ConfigurationError

__all__ = ["SETTINGS_VARIABLE", "settings_in"]

SETTINGS_VARIABLE = "MILLRACE_SETTINGS"
"""Settings of ``millrace run`` as a JSON object; ``--conf`` goes over them."""


def settings_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings in the variable.

    Raises:
        ConfigurationError: the argument is not a JSON object of texts.

    Example:
        >>> settings_in({"MILLRACE_SETTINGS": '{"metrics.reporter.dog.apikey": "x"}'})
        {'metrics.reporter.dog.apikey': 'x'}
    """
    try:
        values = json.loads(environment.get(SETTINGS_VARIABLE) or "{}")
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or not all(isinstance(v, str) for v in values.values()):
        raise ConfigurationError(
            f"{SETTINGS_VARIABLE} must be a JSON object of texts, such as "
            '{"parallelism.default": "2"}'
        )
    return values
