"""Parts of PyFlink that Millrace does not have yet: importing one raises an error that says so.

Python calls a finder at the end of ``sys.meta_path`` for what nobody else has found, so a module
that is added later needs no change here but its line removed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["MISSING", "MissingModules"]

_TABLE = (
    "Millrace has no Table API yet: write the program with millrace.datastream; what Spark SQL "
    "computes comes in by from_dataframe"
)


def _connector(name: str) -> str:
    return (
        f"Millrace has no {name} connector yet: what Spark can read comes in by from_dataframe, "
        "and a connector of your own is a Source or a Sink (see Writing a connector in the "
        "documentation)"
    )


def _format(name: str) -> str:
    return f"Millrace has no {name} format yet: it reads and writes CSV, JSON lines and Parquet"


MISSING: dict[str, str] = {
    "millrace.table": _TABLE,
    "millrace.datastream.connectors.cassandra": _connector("Cassandra"),
    "millrace.datastream.connectors.dynamic_kafka": _connector("Kafka"),
    "millrace.datastream.connectors.elasticsearch": _connector("Elasticsearch"),
    "millrace.datastream.connectors.hybrid_source": _connector("hybrid source"),
    "millrace.datastream.connectors.jdbc": _connector("JDBC"),
    "millrace.datastream.connectors.kafka": _connector("Kafka"),
    "millrace.datastream.connectors.kinesis": _connector("Kinesis"),
    "millrace.datastream.connectors.pulsar": _connector("Pulsar"),
    "millrace.datastream.connectors.rabbitmq": _connector("RabbitMQ"),
    "millrace.datastream.formats.avro": _format("Avro"),
    "millrace.datastream.formats.orc": _format("ORC"),
}
"""Modules of PyFlink that are not there, and what to say."""


class MissingModules(MetaPathFinder):
    """Refuses the import of what is known to be missing."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """None for what is not ours to explain.

        Raises:
            ModuleNotFoundError: the module is one that Millrace does not have.
        """
        sentence = MISSING.get(fullname)
        if sentence is not None:
            raise ModuleNotFoundError(sentence, name=fullname)
        return None


def install() -> None:
    """Explain missing modules from now on."""
    sys.meta_path.append(MissingModules())
