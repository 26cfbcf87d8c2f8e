"""Batch sizes and retries for writes to a database, with PyFlink's names."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millrace.common.errors import JobDefinitionError

__all__ = ["JdbcExecutionOptions"]


@dataclass(frozen=True)
class JdbcExecutionOptions:
    """Batch size, batch interval and retries. PyFlink: class ``JdbcExecutionOptions``.

    Example:
        >>> JdbcExecutionOptions.builder().with_batch_size(200).build().get_batch_size()
        200
    """

    batch_interval_ms: int = 0
    """Accepted for PyFlink programs: every epoch writes what it has."""
    batch_size: int = 5000
    """Rows."""
    max_retries: int = 3
    """Retries of a batch, each on a new connection, before its epoch fails."""

    def get_batch_interval_ms(self) -> int:
        """Maximum age of a batch in ms; 0 means no limit."""
        return self.batch_interval_ms

    def get_batch_size(self) -> int:
        """Number of rows of a batch."""
        return self.batch_size

    def get_max_retries(self) -> int:
        """Maximum number of retries of a batch."""
        return self.max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Options with Flink's defaults."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """A builder of options, all at their defaults."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Collects the options; names as in PyFlink."""

        def __init__(self) -> None:
            self._options = JdbcExecutionOptions()

        def with_batch_interval_ms(self, batch_interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Accepted for PyFlink programs, without effect: every epoch writes all its rows."""
            return self._with(batch_interval_ms=batch_interval_ms)

        def with_batch_size(self, batch_size: int) -> JdbcExecutionOptions.Builder:
            """Set the number of rows of a batch (default 5000)."""
            return self._with(batch_size=batch_size)

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Set the maximum number of retries of a batch, each on a new connection (default
            3)."""
            return self._with(max_retries=max_retries)

        def _with(self, **options: int) -> JdbcExecutionOptions.Builder:
            self._options = replace(self._options, **options)
            return self

        def build(self) -> JdbcExecutionOptions:
            """The options as set so far.

            Raises:
                JobDefinitionError: one is not a whole number, or too small.
            """
            options = self._options
            for name, least in (("batch_interval_ms", 0), ("batch_size", 1), ("max_retries", 0)):
                value = getattr(options, name)
                if not isinstance(value, int) or value < least:
                    raise JobDefinitionError(
                        f"{name} must be an int from {least} on, not {value!r}"
                    )
            return options
