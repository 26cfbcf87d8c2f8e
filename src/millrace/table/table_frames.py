"""`TableFrames`: what a query leaves in the end, as frames of other libraries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from millrace.table.table_result import TableResult

if TYPE_CHECKING:
    import pyarrow

__all__ = ["TableFrames"]


class TableFrames(ABC):
    """A query that becomes a frame: it is run, and the frame has what it leaves in the end.

    Columns stay columns all the way. The query has to end: one over an unbounded source is waited
    for until somebody cancels its job.
    """

    @abstractmethod
    def execute(self) -> TableResult:
        """Run the query; its rows come as they are made."""

    def to_pandas(self) -> Any:
        """Run the query and wait; what it leaves as a DataFrame of pandas. Integers of which some
        are NULL stay integers (``Int64``); maps and rows become dicts."""
        return self.execute().to_pandas()

    def to_arrow(self) -> pyarrow.Table:
        """Run the query and wait; what it leaves as an Arrow table."""
        return self.execute().to_arrow()

    def to_polars(self) -> Any:
        """Run the query and wait; what it leaves as a DataFrame of Polars.

        Raises:
            JobDefinitionError: Polars is not installed.
        """
        return self.execute().to_polars()

    def to_dataframe(self) -> Any:
        """Run the query and wait; what it leaves as a DataFrame of Spark. The rows pass through
        this process.

        Raises:
            JobDefinitionError: Spark has no type for a column.
        """
        return self.execute().to_dataframe()
