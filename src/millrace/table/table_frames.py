"""`TableFrames`: the final rows of a query, as frames of other libraries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from millrace.table.table_result import TableResult

if TYPE_CHECKING:
    import pyarrow

__all__ = ["TableFrames"]


class TableFrames(ABC):
    """Base class of tables with the methods that run a query and return its final rows as a frame.

    Columns stay columns all the way. The query has to end: one over an unbounded source is waited
    for until somebody cancels its job.
    """

    @abstractmethod
    def execute(self) -> TableResult:
        """Run the query; its rows are available as they arrive."""

    def to_pandas(self) -> Any:
        """Run the query and return its final rows as a pandas DataFrame. Integer columns with
        NULLs stay integers (``Int64``); maps and rows become dicts."""
        return self.execute().to_pandas()

    def to_arrow(self) -> pyarrow.Table:
        """Run the query and return its final rows as an Arrow table."""
        return self.execute().to_arrow()

    def to_polars(self) -> Any:
        """Run the query and return its final rows as a Polars DataFrame.

        Raises:
            JobDefinitionError: Polars is not installed.
        """
        return self.execute().to_polars()

    def to_dataframe(self) -> Any:
        """Run the query and return its final rows as a Spark DataFrame. The rows pass through this
        process.

        Raises:
            JobDefinitionError: Spark has no type for a column.
        """
        return self.execute().to_dataframe()
