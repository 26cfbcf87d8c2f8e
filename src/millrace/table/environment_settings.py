"""Settings of a table environment: streaming or batch mode, and the default catalog."""

from __future__ import annotations

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.config.table_options import BUILTIN_CATALOG, BUILTIN_DATABASE

__all__ = ["EnvironmentSettings"]


class EnvironmentSettings:
    """Immutable settings of a `TableEnvironment`. Flink: the class of that name.

    Example:
        >>> EnvironmentSettings.in_batch_mode().is_streaming_mode()
        False
        >>> config = Configuration({"execution.runtime-mode": "BATCH"})
        >>> settings = EnvironmentSettings.new_instance().with_configuration(config).build()
        >>> settings.is_streaming_mode()
        False
        >>> builder = EnvironmentSettings.new_instance().with_built_in_catalog_name("mine")
        >>> builder.build().get_built_in_catalog_name()
        'mine'
    """

    class Builder:
        """Builder of settings; begin with `EnvironmentSettings.new_instance`."""

        def __init__(self) -> None:
            self._configuration = Configuration()

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Set streaming mode, the default: queries emit changes as their input arrives."""
            self._configuration.set(options.RUNTIME_MODE, "STREAMING")
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """Set batch mode: queries read bounded tables and emit their final result."""
            self._configuration.set(options.RUNTIME_MODE, "BATCH")
            return self

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Set options of the session; ``execution.runtime-mode`` sets its mode."""
            self._configuration.add_all(config)
            return self

        def with_built_in_catalog_name(self, name: str) -> EnvironmentSettings.Builder:
            """Set the name of the initial catalog."""
            self._configuration.set(BUILTIN_CATALOG, name)
            return self

        def with_built_in_database_name(self, name: str) -> EnvironmentSettings.Builder:
            """Set the name of the initial database."""
            self._configuration.set(BUILTIN_DATABASE, name)
            return self

        def build(self) -> EnvironmentSettings:
            """Build the settings.

            Raises:
                ConfigurationError: an unknown key, or a value of the wrong type.
            """
            self._configuration.validate()
            return EnvironmentSettings(self._configuration)

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """A builder of settings."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Settings of streaming mode: queries emit changes as their input arrives."""
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Settings of batch mode: queries read bounded tables and emit their final result."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()

    def is_streaming_mode(self) -> bool:
        """Whether queries run over streams."""
        return self._configuration.get(options.RUNTIME_MODE) == "STREAMING"

    def get_configuration(self) -> Configuration:
        """Options of the session; ``execution.runtime-mode`` is its mode."""
        return self._configuration

    def get_built_in_catalog_name(self) -> str:
        """Name of the initial catalog."""
        return self._configuration.get(BUILTIN_CATALOG)

    def get_built_in_database_name(self) -> str:
        """Name of the initial database."""
        return self._configuration.get(BUILTIN_DATABASE)
