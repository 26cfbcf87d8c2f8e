"""Handlers of writes that the cluster refuses. Flink: interface ``CassandraFailureHandler``."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["CassandraFailureHandler"]


class CassandraFailureHandler(ABC):
    """Is called with the error of each write that the cluster refuses.

    Writes that no node takes for the moment are sent again instead, and at last fail the job.
    """

    @abstractmethod
    def on_failure(self, failure: Exception) -> None:
        """Return to continue without the write, or raise to fail the job."""

    @staticmethod
    def no_op() -> CassandraFailureHandler:
        """A handler that fails the job, as a sink without a handler does."""
        return _Raising()


class _Raising(CassandraFailureHandler):
    def on_failure(self, failure: Exception) -> None:
        raise failure
