"""The registry of configuration keys. Each room declares its own options.

A module declares an option with `known`. The modules are loaded when the registry is first read,
so that a key is known whatever a program has imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final, TypeVar

from millrace.common.config.config_options import ConfigOption

__all__ = ["OPTIONS", "free_prefix", "is_checked_elsewhere", "known"]

T = TypeVar("T")

_DECLARING: Final = (
    "millrace.common.config.options",
    "millrace.common.config.flink_options",
    "millrace.common.config.table_options",
    "millrace.runtime.logs.logging_options",
    "millrace.metrics.metric_options",
    "millrace.server.server_options",
    "millrace.server.high_availability_options",
)
"""Modules that declare options. This room imports none of the rooms above it: it only knows where
their options are."""


class _KnownOptions(Mapping[str, ConfigOption[Any]]):
    """All known options, by key."""

    def __init__(self) -> None:
        self._declared: dict[str, ConfigOption[Any]] = {}
        self._is_loaded = False

    def add(self, option: ConfigOption[Any]) -> None:
        """Add an option that a module declares."""
        self._declared[option.key] = option

    def __getitem__(self, key: str) -> ConfigOption[Any]:
        return self._all()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, ConfigOption[Any]]:
        if not self._is_loaded:
            for module in _DECLARING:
                import_module(module)
            self._is_loaded = True
        return self._declared


_known_options = _KnownOptions()
OPTIONS: Mapping[str, ConfigOption[Any]] = _known_options
"""All options of Millrace by key."""


def known(option: ConfigOption[T], description: str) -> ConfigOption[T]:
    """Add an option to the known options."""
    described = option.with_description(description)
    _known_options.add(described)
    return described


_free_prefixes = {"spark.", "user.", "pipeline.global-job-parameters."}
_free_prefixes_in_file: set[str] = set()


def free_prefix(prefix: str, *, only_in_file: bool = False) -> str:
    """Declare a prefix of keys that the registry does not check, because the declaring room checks
    them.

    Args:
        only_in_file: whether such keys are for ``config.yaml`` only, not for jobs.

    Returns:
        The prefix.
    """
    (_free_prefixes_in_file if only_in_file else _free_prefixes).add(prefix)
    return prefix


def is_checked_elsewhere(key: str, in_file: bool = False) -> bool:
    """Whether the registry does not check a key, because it is Spark's, the user's, or has a prefix
    of `free_prefix`.

    Args:
        in_file: whether the key is in ``config.yaml``.

    Example:
        >>> is_checked_elsewhere("spark.master"), is_checked_elsewhere("parallelism.default")
        (True, False)
    """
    len(OPTIONS)  # loads the modules that declare prefixes
    prefixes = _free_prefixes | _free_prefixes_in_file if in_file else _free_prefixes
    return key.startswith(tuple(prefixes))
