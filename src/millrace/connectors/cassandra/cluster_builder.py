"""Builder of the connection to a cluster. Flink: class ``ClusterBuilder``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["ClusterBuilder"]


class ClusterBuilder(ABC):
    """Makes a ``Cluster`` of the package cassandra-driver, for TLS, policies and other options.

    It goes to the workers, and is called there.
    """

    @abstractmethod
    def build_cluster(self) -> Any:
        """A new ``cassandra.cluster.Cluster``."""

    def __call__(self) -> Any:
        """A new ``cassandra.cluster.Cluster``: builders and plain functions are called in the
        same way."""
        return self.build_cluster()
