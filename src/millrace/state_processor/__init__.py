"""State as tables: checkpoints and savepoints as Spark DataFrames, new savepoints from DataFrames
(Flink docs, "State Processor API"), and the changes of a job's state as a stream.

Example:
    >>> from millrace.state_processor import SavepointReader
    >>> def keys_without_a_name(spark, path):
    ...     return SavepointReader.read(spark, path).read_keyed_state("users", "name")
"""

from __future__ import annotations

from millrace.state_processor.functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    StateBootstrapFunction,
    WindowReaderFunction,
)
from millrace.state_processor.savepoint_reader import SavepointReader
from millrace.state_processor.savepoint_writer import SavepointWriter
from millrace.state_processor.state_changes_source import StateChangesSource
from millrace.state_processor.transformations import (
    OperatorTransformation,
    StateBootstrapTransformation,
)
from millrace.state_processor.window_savepoint_reader import WindowSavepointReader

__all__ = [
    "BroadcastStateBootstrapFunction",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "OperatorTransformation",
    "SavepointReader",
    "SavepointWriter",
    "StateBootstrapFunction",
    "StateBootstrapTransformation",
    "StateChangesSource",
    "WindowReaderFunction",
    "WindowSavepointReader",
]
