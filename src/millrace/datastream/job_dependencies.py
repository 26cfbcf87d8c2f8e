"""Dependencies of a job: Python files, archives, packages, an interpreter and jars.

Semantics: Flink docs, "Python Dependency Management". Spark ships all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from millrace.common.config import options
from millrace.common.config.config_options import ConfigOption
from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobDefinitionError

FILE_SEPARATOR = ","
PARAMETER_SEPARATOR = "#"


class JobDependencies:
    """Base class of environments with the methods that add dependencies, which the configuration
    stores."""

    _configuration: Configuration

    @staticmethod
    def of(configuration: Configuration) -> JobDependencies:
        """The dependencies in a configuration. Dependencies that are added later go into the
        configuration."""
        made = JobDependencies()
        made._configuration = configuration
        return made

    def add_python_file(self, file_path: str) -> None:
        """Let functions import from a ``.py`` file, a zip, egg or wheel, or a directory.

        It goes to every worker by `SparkContext.addPyFile`; a directory as an archive.

        Example:
            >>> from millrace.datastream import StreamExecutionEnvironment
            >>> StreamExecutionEnvironment.get_execution_environment().add_python_file("rules.py")
        """
        self._add(options.PYTHON_FILES, file_path)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive in the working directory of the workers, in ``target_dir`` or in a
        directory with the archive's name: functions open ``target_dir/data.txt``.

        zip, jar, whl, egg, tar and tar.gz are unpacked. The workers of a job with archives have a
        working directory of Spark's, so other relative paths in functions are not the driver's.
        """
        separated = (archive_path, target_dir) if target_dir else (archive_path,)
        self._add(options.PYTHON_ARCHIVES, PARAMETER_SEPARATOR.join(separated))

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Give the workers the packages of a requirements file.

        pip installs them in the driver, for its platform and Python, when the job starts; Spark
        unpacks them on every host.

        Args:
            requirements_file_path: a file such as pip reads.
            requirements_cache_dir: a directory of packages; then nothing is downloaded.
        """
        parts = (requirements_file_path, requirements_cache_dir or "")
        text = PARAMETER_SEPARATOR.join(filter(None, parts))
        self._configuration.set(options.PYTHON_REQUIREMENTS, text)

    def set_python_executable(self, python_exec: str) -> None:
        """Run the workers with this interpreter: a path on every host, or one in an archive
        (``environment.zip/bin/python``). It must have the driver's Python version, and Millrace
        installed."""
        self._configuration.set(options.PYTHON_EXECUTABLE, python_exec)

    def add_jars(self, *jars_path: str) -> None:
        """Start Spark with the given jars, for the driver and the executors.

        Spark takes none once it runs: a job that names a jar which Spark was started without is
        refused.
        """
        self._extend(options.JARS, "add_jars", jars_path)

    def add_classpaths(self, *classpaths: str) -> None:
        """Start Spark with the given jars on the class path; they must exist on every host. A
        running Spark application accepts none (see `add_jars`)."""
        self._extend(options.CLASSPATHS, "add_classpaths", classpaths)

    def _add(self, option: ConfigOption[str | None], path: str) -> None:
        if not isinstance(path, str) or not path or FILE_SEPARATOR in path:
            raise JobDefinitionError(
                f"{option.key} takes paths without commas, as text; got {path!r}"
            )
        named = self._configuration.get(option)
        self._configuration.set(option, f"{named},{path}" if named else path)

    def _extend(self, option: ConfigOption[list[str]], method: str, paths: Sequence[str]) -> None:
        for path in paths:
            if not isinstance(path, str) or not path:
                raise JobDefinitionError(
                    f"{method}() takes each path as a separate argument, as text; got {path!r}"
                )
        self._configuration.set(option, [*self._configuration.get(option), *paths])
