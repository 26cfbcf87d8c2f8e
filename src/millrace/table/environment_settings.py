"""Whether queries run over streams or bounded data, and where names are looked up first."""

from __future__ import annotations

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.config.table_options import BUILTIN_CATALOG, BUILTIN_DATABASE

__all__ = ["EnvironmentSettings"]


class EnvironmentSettings:
    """Settings of a `TableEnvironment` that cannot be changed later. Flink: the class of that name.

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
        """Makes settings step by step; begin with `EnvironmentSettings.new_instance`."""

        def __init__(self) -> None:
            self._configuration = Configuration()

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Queries give changes as their input comes (the default)."""
            self._configuration.set(options.RUNTIME_MODE, "STREAMING")
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """Queries read bounded tables and give their final result."""
            self._configuration.set(options.RUNTIME_MODE, "BATCH")
            return self

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Options of the session; ``execution.runtime-mode`` among them is its mode."""
            self._configuration.add_all(config)
            return self

        def with_built_in_catalog_name(self, name: str) -> EnvironmentSettings.Builder:
            """Name of the catalog that is there from the beginning."""
            self._configuration.set(BUILTIN_CATALOG, name)
            return self

        def with_built_in_database_name(self, name: str) -> EnvironmentSettings.Builder:
            """Name of the database that is there from the beginning."""
            self._configuration.set(BUILTIN_DATABASE, name)
            return self

        def build(self) -> EnvironmentSettings:
            """The settings.

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
        """Queries give changes as their input comes."""
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Queries read bounded tables and give their final result."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()

    def is_streaming_mode(self) -> bool:
        """Whether queries run over streams."""
        return self._configuration.get(options.RUNTIME_MODE) == "STREAMING"

    def get_configuration(self) -> Configuration:
        """Options of the session; its mode is ``execution.runtime-mode``."""
        return self._configuration

    def get_built_in_catalog_name(self) -> str:
        """Name of the catalog that is there from the beginning."""
        return self._configuration.get(BUILTIN_CATALOG)

    def get_built_in_database_name(self) -> str:
        """Name of the database that is there from the beginning."""
        return self._configuration.get(BUILTIN_DATABASE)
