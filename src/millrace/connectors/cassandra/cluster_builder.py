"""Makes the connection to a cluster. Flink: class ``ClusterBuilder``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["ClusterBuilder"]


class ClusterBuilder(ABC):
    """Makes a ``Cluster`` of the package cassandra-driver, with TLS, policies and the like.

    It goes to the workers, and is called there.
    """

    @abstractmethod
    def build_cluster(self) -> Any:
        """A new ``cassandra.cluster.Cluster``."""

    def __call__(self) -> Any:
        """The same: a function does for a builder, and a builder for a function."""
        return self.build_cluster()
