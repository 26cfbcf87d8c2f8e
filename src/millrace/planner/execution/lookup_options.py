"""`lookup_behaviour`: settings of a look-up join, from its table's options and its hint.

Options: FLIP-221; hint: FLIP-204 and FLIP-234 (Flink docs, "Hints", LOOKUP).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import time
from math import inf
from typing import Any

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.errors import ConfigurationError, JobDefinitionError
from millrace.common.similar_names import did_you_mean
from millrace.common.time.amounts import Duration
from millrace.table_runtime.full_cache import CacheReload, PeriodicReload, TimedReload
from millrace.table_runtime.lookups import CacheSettings, LookupBehaviour

__all__ = ["LOOKUP_OPTIONS", "lookup_hint", "lookup_behaviour"]

CACHE = ConfigOptions.key("lookup.cache").string_type().default_value("NONE")
RELOAD = (
    ConfigOptions.key("lookup.full-cache.reload-strategy").string_type().default_value("PERIODIC")
)
RELOAD_INTERVAL = (
    ConfigOptions.key("lookup.full-cache.periodic-reload.interval")
    .duration_type()
    .no_default_value()
)
RELOAD_MODE = (
    ConfigOptions.key("lookup.full-cache.periodic-reload.schedule-mode")
    .string_type()
    .default_value("FIXED_DELAY")
)
RELOAD_TIME = (
    ConfigOptions.key("lookup.full-cache.timed-reload.iso-time").string_type().no_default_value()
)
RELOAD_DAYS = (
    ConfigOptions.key("lookup.full-cache.timed-reload.interval-in-days")
    .int_type()
    .default_value(1)
    .at_least(1)
)

MAX_CACHED = (
    ConfigOptions.key("lookup.partial-cache.max-rows").int_type().no_default_value().at_least(1)
)
AFTER_WRITE = (
    ConfigOptions.key("lookup.partial-cache.expire-after-write").duration_type().no_default_value()
)
AFTER_ACCESS = (
    ConfigOptions.key("lookup.partial-cache.expire-after-access").duration_type().no_default_value()
)
MISSING = (
    ConfigOptions.key("lookup.partial-cache.cache-missing-key").boolean_type().default_value(True)
)
MAX_RETRIES = ConfigOptions.key("lookup.max-retries").int_type().default_value(3).at_least(0)
LOOKUP_OPTIONS: tuple[ConfigOption[Any], ...] = (
    CACHE,
    MAX_CACHED,
    AFTER_WRITE,
    AFTER_ACCESS,
    MISSING,
    RELOAD,
    RELOAD_INTERVAL,
    RELOAD_MODE,
    RELOAD_TIME,
    RELOAD_DAYS,
    MAX_RETRIES,
    ConfigOptions.key("lookup.async").boolean_type().default_value(False),
)
"""Options of tables that can be looked up."""

_HINT: tuple[ConfigOption[Any], ...] = (
    ConfigOptions.key("table").string_type().no_default_value(),
    ConfigOptions.key("async").boolean_type().no_default_value(),
    ConfigOptions.key("output-mode").string_type().default_value("ordered"),
    ConfigOptions.key("capacity").int_type().default_value(100).at_least(1),
    ConfigOptions.key("timeout").duration_type().default_value(Duration.of_minutes(3)),
    ConfigOptions.key("retry-predicate").string_type().no_default_value(),
    ConfigOptions.key("retry-strategy").string_type().no_default_value(),
    ConfigOptions.key("fixed-delay").duration_type().no_default_value(),
    ConfigOptions.key("max-attempts").int_type().no_default_value().at_least(1),
    ConfigOptions.key("shuffle").boolean_type().default_value(False),
)
_WORDS = {
    "output-mode": ("ordered", "allow_unordered"),
    "retry-predicate": ("lookup_miss",),
    "retry-strategy": ("fixed_delay",),
}
_RETRY = ("retry-predicate", "retry-strategy", "fixed-delay", "max-attempts")
Hints = tuple[tuple[str, Any], ...]


def lookup_hint(hints: Hints, names: tuple[str, ...]) -> dict[str, Any]:
    """Options of the LOOKUP hint for a table, found by any of the table's names; the defaults if
    there is no hint.

    Raises:
        JobDefinitionError: an option is unknown or wrong.
    """
    for kind, given in hints:
        if kind != "LOOKUP":
            continue
        values = dict(given) if all(isinstance(option, tuple) for option in given) else {}
        if "table" not in values:
            raise JobDefinitionError(
                "the hint LOOKUP needs the name of its table: LOOKUP('table'='customers')"
            )
        if values["table"] in names:
            return _read(values)
    return _read({})


def _read(values: Mapping[str, str]) -> dict[str, Any]:
    known = {option.key: option for option in _HINT}
    for key, value in values.items():
        if key not in known:
            hint = did_you_mean(key, known, f"there are {', '.join(known)}")
            raise JobDefinitionError(f"the hint LOOKUP has no option {key!r}{hint}")
        if key in _WORDS and value.lower() not in _WORDS[key]:
            raise JobDefinitionError(
                f"the hint LOOKUP takes '{key}'='{' or '.join(_WORDS[key])}', not {value!r}"
            )
    missing = [key for key in _RETRY if key not in values]
    if missing and len(missing) < len(_RETRY):
        raise JobDefinitionError(f"to retry look-ups the hint LOOKUP needs {', '.join(missing)}")
    return {option.key: _value(option, values) for option in _HINT}


def lookup_behaviour(
    table: str, options: Mapping[str, str], hint: Mapping[str, Any], zone: str = "UTC"
) -> LookupBehaviour:
    """Settings of a look-up join.

    Args:
        table: name of the table.
        options: options of the table.
        hint: result of `lookup_hint`.
        zone: time zone of times of day without an offset.

    Raises:
        JobDefinitionError: an option is wrong or not supported.
    """
    kind = _word(table, CACHE, options, ("NONE", "PARTIAL", "FULL"))
    cache = None
    if kind == "PARTIAL":
        cache = CacheSettings(
            _value(MAX_CACHED, options) or sys.maxsize,
            _seconds(_value(AFTER_WRITE, options)),
            _seconds(_value(AFTER_ACCESS, options)),
            _value(MISSING, options),
        )
    delay = hint["fixed-delay"]
    return LookupBehaviour(
        table,
        cache,
        _reload(table, options, zone) if kind == "FULL" else None,
        max_retries=_value(MAX_RETRIES, options),
        capacity=hint["capacity"],
        timeout_s=_seconds(hint["timeout"]),
        miss_attempts=hint["max-attempts"] or 0,
        miss_delay_s=0.0 if delay is None else _seconds(delay),
    )


def _reload(table: str, options: Mapping[str, str], zone: str) -> CacheReload:
    """Schedule on which a full cache of the table is reloaded."""
    if _word(table, RELOAD, options, ("PERIODIC", "TIMED")) == "PERIODIC":
        mode = _word(table, RELOAD_MODE, options, ("FIXED_DELAY", "FIXED_RATE"))
        interval: Duration = _required(table, RELOAD_INTERVAL, options)
        if interval.to_millis() <= 0:
            raise JobDefinitionError(
                f"table {table}: '{RELOAD_INTERVAL.key}' must be more than 0 ms"
            )
        return PeriodicReload(interval.to_millis(), mode == "FIXED_RATE")
    text: str = _required(table, RELOAD_TIME, options)
    try:
        at = time.fromisoformat(text)
    except ValueError:
        raise JobDefinitionError(
            f"table {table}: '{RELOAD_TIME.key}' must be a time of day such as '10:15' or "
            f"'10:15+01:00', not {text!r}"
        ) from None
    return TimedReload(at, zone, _value(RELOAD_DAYS, options))


def _required(table: str, option: ConfigOption[Any], options: Mapping[str, str]) -> Any:
    value = _value(option, options)
    if value is None:
        strategy = _value(RELOAD, options).upper()
        raise JobDefinitionError(
            f"table {table}: 'lookup.cache' = 'FULL' with '{RELOAD.key}' = '{strategy}' needs "
            f"'{option.key}'"
        )
    return value


def _word(
    table: str, option: ConfigOption[Any], options: Mapping[str, str], words: tuple[str, ...]
) -> str:
    word: str = _value(option, options).upper()
    if word not in words:
        raise JobDefinitionError(
            f"table {table}: '{option.key}' must be {' or '.join(words)}, not {word!r}"
        )
    return word


def _seconds(duration: Duration | None) -> float:
    return inf if duration is None else duration.to_millis() / 1000


def _value(option: ConfigOption[Any], values: Mapping[str, str]) -> Any:
    text = values.get(option.key)
    if text is None:
        return option.default
    try:
        return option.read(text)
    except ConfigurationError as error:
        raise JobDefinitionError(str(error)) from None
