"""Names of part files. Flink docs: "FileSystem", Part file configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from millrace.common.errors import JobDefinitionError
from millrace.connectors.file_listing import is_hidden

__all__ = ["OutputFileConfig", "OutputFileConfigBuilder"]


class OutputFileConfigBuilder:
    """Collects the prefix and suffix of part files."""

    def __init__(self) -> None:
        self._config = OutputFileConfig()

    def with_part_prefix(self, prefix: str) -> OutputFileConfigBuilder:
        """Set the prefix of part file names."""
        self._config = replace(self._config, part_prefix=prefix)
        return self

    def with_part_suffix(self, suffix: str) -> OutputFileConfigBuilder:
        """Set the suffix of part file names, for example ``.csv``."""
        self._config = replace(self._config, part_suffix=suffix)
        return self

    def build(self) -> OutputFileConfig:
        """The configuration with all settings made so far.

        Raises:
            JobDefinitionError: prefix or suffix cannot be part of a visible file's name.
        """
        prefix, suffix = self._config.part_prefix, self._config.part_suffix
        if not prefix or is_hidden(prefix) or "/" in prefix + suffix:
            raise JobDefinitionError(
                f"part files cannot be called {prefix!r}...{suffix!r}: names have no '/', and "
                "readers ignore files that begin with '.' or '_'"
            )
        return self._config


@dataclass(frozen=True, slots=True)
class OutputFileConfig:
    """Prefix and suffix of the names of part files.

    >>> OutputFileConfig.builder().with_part_suffix(".csv").build().get_part_suffix()
    '.csv'
    """

    part_prefix: str = "part"
    part_suffix: str = ""

    @staticmethod
    def builder() -> OutputFileConfigBuilder:
        """A builder with the prefix ``part`` and no suffix."""
        return OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """Prefix of the names of part files."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """Suffix of the names of part files."""
        return self.part_suffix

    OutputFileConfigBuilder: ClassVar = OutputFileConfigBuilder
