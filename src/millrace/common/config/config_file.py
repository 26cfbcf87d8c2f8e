"""The file ``config.yaml``: settings for all jobs, and for the job server (Flink docs,
"Configuration").

Keys may be nested, dotted, or both, as in Flink's standard YAML.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millrace.common.config.configuration import (
    OPTIONS,
    Configuration,
    named_here,
    unknown_key,
)
from millrace.common.config.flink_options import OTHER_NAMES, is_without_effect
from millrace.common.config.known_options import is_checked_elsewhere
from millrace.common.config.setting_origin import SettingOrigin
from millrace.common.errors import ConfigurationError
from millrace.common.installation import missing_package
from millrace.common.similar_names import nearest_name

__all__ = [
    "CONFIG_FILE",
    "CONF_DIR_VARIABLE",
    "ConfigFile",
    "find_config_file",
    "read_config_file",
    "settings_for",
]

CONF_DIR_VARIABLE = "MILLRACE_CONF_DIR"
"""Directory of ``config.yaml``."""
CONFIG_FILE = "config.yaml"
_DEPTH = 32
"""Deepest nesting of keys. An alias may contain itself."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The settings in a file."""

    path: Path | None = None
    """None if there is no file."""
    values: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    """Line of each key, counted from 1."""
    ignored: tuple[str, ...] = ()
    """Keys of Flink that have no effect here."""

    def settings(self, wanted: Callable[[str], bool]) -> Configuration:
        """The settings of jobs, or those of the job server, by their keys."""
        chosen = {key: value for key, value in self.values.items() if wanted(key)}
        return Configuration(chosen).marked(SettingOrigin.FILE)


def find_config_file(named: Path | None, environment: Mapping[str, str]) -> Path | None:
    """The file with the settings: the named file, else the file in ``MILLRACE_CONF_DIR``, else
    ``conf/config.yaml`` in the working directory. None if there is no such file, or if the variable
    is empty.

    Args:
        named: a file, or a directory with a ``config.yaml``; None if none is named.

    Raises:
        ConfigurationError: a file or directory that is named does not exist.
    """
    if named is not None:
        path = named / CONFIG_FILE if named.is_dir() else named
        if not path.is_file():
            raise ConfigurationError(f"--config: there is no file {path}")
        return path.absolute()
    directory = environment.get(CONF_DIR_VARIABLE)
    if directory == "":
        return None
    if directory is not None:
        path = Path(directory, CONFIG_FILE)
        if not path.is_file():
            raise ConfigurationError(f"{CONF_DIR_VARIABLE}: there is no file {path}")
        return path.absolute()
    path = Path("conf", CONFIG_FILE)
    return path.absolute() if path.is_file() else None


def read_config_file(path: Path) -> ConfigFile:
    """The settings in a file, each checked.

    Raises:
        ConfigurationError: the file cannot be read, is no YAML, or has an unknown key or a wrong
            value. The message names the line.
    """
    root = _parsed(path)
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    ignored: list[str] = []
    for key, value, line in _flat(path, root):
        name = named_here(key)
        where = f"{path}, line {line}"
        if name in lines:
            raise ConfigurationError(f"{where}: {key} has a value already, in line {lines[name]}")
        lines[name] = line
        if _check(where, name, value):
            values[name] = value
        else:
            ignored.append(key)
    return ConfigFile(path, values, lines, tuple(ignored))


def _parsed(path: Path) -> Any:
    """The root node of a YAML file; None if the file is empty."""
    try:
        import yaml
    except ModuleNotFoundError:
        raise ConfigurationError(missing_package(f"{path} needs", "pyyaml", "config")) from None
    try:
        with path.open(encoding="utf-8") as file:
            root = yaml.compose(file, Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from None
    except RecursionError:
        raise ConfigurationError(f"{path} is nested too deeply") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark is not None else str(path)
        problem = getattr(error, "problem", None) or error
        raise ConfigurationError(f"{where} is not YAML: {problem}") from None
    if root is not None and root.id != "mapping":
        raise ConfigurationError(f"{path} must have keys and values, as in parallelism.default: 2")
    return root


def _flat(
    path: Path, root: Any, prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, Any, int]]:
    """Dotted keys of a mapping, with their values and lines. Keys without a value are left out."""
    if depth > _DEPTH:
        raise ConfigurationError(f"{path}: the key {prefix[:200]} is nested too deeply")
    for key_node, node in root.value if root is not None else ():
        line = key_node.start_mark.line + 1
        if key_node.id != "scalar":
            raise ConfigurationError(f"{path}, line {line}: a key is a text")
        if key_node.value == "<<":
            raise ConfigurationError(f"{path}, line {line}: YAML's merge key '<<' is not supported")
        key = prefix + key_node.value
        option = OPTIONS.get(named_here(key))
        if node.id == "mapping" and (option is None or option.type_name != "map"):
            yield from _flat(path, node, f"{key}.", depth + 1)
        elif not node.tag.endswith(":null"):
            yield key, _value(path, node), line


def _value(path: Path, node: Any) -> Any:
    """Value of a node. Numbers and durations stay text, which the options parse."""
    if node.id == "scalar":
        return node.value
    pairs = node.value if node.id == "mapping" else [(item, item) for item in node.value]
    for pair in pairs:
        if any(part.id != "scalar" for part in pair):
            line = pair[0].start_mark.line + 1
            raise ConfigurationError(f"{path}, line {line}: an item is a text or a number")
    if node.id == "mapping":
        return {key.value: value.value for key, value in pairs}
    return [item.value for item, _ in pairs]


def _check(where: str, key: str, value: Any) -> bool:
    """Whether a key has an effect.

    Raises:
        ConfigurationError: the key is unknown, or the value is not of its type.
    """
    if key in OPTIONS:
        try:
            OPTIONS[key].read(value)
        except ConfigurationError as error:
            raise ConfigurationError(f"{where}: {error}") from None
        return True
    if is_checked_elsewhere(key, in_file=True):
        return True
    names = [*OPTIONS, *OTHER_NAMES]
    # Flink's wildcards would hide misspelt keys
    if is_without_effect(key) and nearest_name(key, names, likeness=0.93) is None:
        return False
    raise unknown_key(key, names, f"{where}: ")


def settings_for(named: Path | None, environment: Mapping[str, str] = os.environ) -> ConfigFile:
    """The settings of the file that `find_config_file` finds; empty if there is none."""
    path = find_config_file(named, environment)
    if path is None:
        return ConfigFile()
    try:
        return read_config_file(path)
    except ConfigurationError as error:
        if named is not None or environment.get(CONF_DIR_VARIABLE):
            raise
        # other programs have a file of this name, too
        raise ConfigurationError(
            f"{error}. The file was read because it is in the working directory; if it is not "
            f"Millrace's, set {CONF_DIR_VARIABLE} to an empty value"
        ) from None
