"""Any source or sink of a Python program as a table: ``'connector' = 'python'``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from millrace.common.config.config_options import ConfigOptions
from millrace.common.errors import JobDefinitionError
from millrace.common.sink import Sink
from millrace.common.source import Boundedness, Source
from millrace.planner.catalog_reader import ResolvedTable
from millrace.planner.execution.table_factory import (
    OptionValues,
    ScanRequest,
    SinkRequest,
    TableFactory,
)

__all__ = ["PythonFactory"]

SOURCE = ConfigOptions.key("source").string_type().no_default_value()
SINK = ConfigOptions.key("sink").string_type().no_default_value()


class PythonFactory(TableFactory):
    """Takes ``'source' = 'module:name'`` and ``'sink' = 'module:name'``, each the name of a
    `Source` or `Sink`, or of a function without arguments that returns one.

    Records are rows, dicts or tuples; columns are used as they are.
    """

    identifier = "python"
    optional = (SOURCE, SINK)

    def boundedness(self, table: ResolvedTable, options: Mapping[str, str]) -> Boundedness:
        path = options.get(SOURCE.key)
        return Boundedness.BOUNDED if path is None else _made(path, Source, SOURCE.key).boundedness

    def create_source(self, request: ScanRequest, options: OptionValues) -> Source[Any]:
        path = options.get(SOURCE)
        if path is None:
            raise self.refused(request.table, "read: the option 'source' is not set")
        source: Source[Any] = _made(path, Source, SOURCE.key)
        return source

    def create_sink(self, request: SinkRequest, options: OptionValues) -> Sink[Any]:
        path = options.get(SINK)
        if path is None:
            raise self.refused(request.table, "written: the option 'sink' is not set")
        sink: Sink[Any] = _made(path, Sink, SINK.key)
        return sink


def _made(path: str, kind: type[Any], option: str) -> Any:
    module, _, name = path.partition(":")
    try:
        imported = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise JobDefinitionError(
            f"'{option}' = '{path}' cannot be imported ({error}); write it as 'module:name'"
        ) from error
    made = imported() if callable(imported) and not isinstance(imported, kind) else imported
    if not isinstance(made, kind):
        raise JobDefinitionError(f"'{option}' = '{path}' is {made!r}, no {kind.__name__}")
    return made
