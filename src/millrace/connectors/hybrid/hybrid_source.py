"""A source of several sources, one after the other. Flink docs: "Hybrid Source"; FLIP-150."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.source import Boundedness, ReaderContext, Source, SplitEnumerator
from millrace.common.types.result_type_queryable import ResultTypeQueryable
from millrace.common.types.type_information import TypeInformation
from millrace.connectors.hybrid.hybrid_enumerator import HybridEnumerator
from millrace.connectors.hybrid.hybrid_reader import HybridReader
from millrace.connectors.hybrid.member import SourceListEntry

__all__ = ["HybridSource", "HybridSourceBuilder"]

T = TypeVar("T")


class HybridSource(Source[T]):
    """Reads one source to its end, then the next: history first, then live data.

    All splits of a source are read to their ends before the next one begins. The switch is part of
    the checkpoints: a job that resumes goes on with the source that it was at. Made by
    `HybridSource.builder`.

    Example:
        >>> from millrace.connectors import NumberSequenceSource
        >>> first, second = NumberSequenceSource(1, 3), NumberSequenceSource(4, 6)
        >>> numbers = HybridSource.builder(first).add_source(second).build()
        >>> numbers.boundedness.name
        'BOUNDED'
    """

    def __init__(self, members: Sequence[SourceListEntry]) -> None:
        self._members = tuple(members)

    @staticmethod
    def builder(first_source: Source[Any]) -> HybridSourceBuilder[Any]:
        """Begin with the source that is read first."""
        return HybridSourceBuilder(first_source)

    @property
    def boundedness(self) -> Boundedness:
        """Boundedness of the last source."""
        return self._members[-1].boundedness

    @property
    def supports_available_now(self) -> bool:
        """Whether all sources support runs that end with the available input. A source that a
        function makes is checked when its turn comes."""
        declared = [m.declared for m in self._members if m.declared is not None]
        return all(source.supports_available_now for source in declared)

    @property
    def requires_checkpoints(self) -> bool:
        declared = [m.declared for m in self._members if m.declared is not None]
        return any(source.requires_checkpoints for source in declared)

    @property
    def acknowledges_records(self) -> bool:
        """Whether any of the sources acknowledges records to its external system. A source that a
        function makes later counts as one that does.
        """
        declared = [member.declared for member in self._members]
        return any(source is None or source.acknowledges_records for source in declared)

    def create_enumerator(self) -> SplitEnumerator:
        return HybridEnumerator(self._members)

    def create_reader(self, context: ReaderContext) -> HybridReader:
        return HybridReader(self._members, context)


class _TypedHybridSource(HybridSource[T], ResultTypeQueryable):
    """A hybrid source with a known record type."""

    def __init__(
        self, members: Sequence[SourceListEntry], produced_type: TypeInformation[Any]
    ) -> None:
        super().__init__(members)
        self._produced_type = produced_type

    def get_produced_type(self) -> TypeInformation[Any]:
        return self._produced_type


class HybridSourceBuilder(Generic[T]):
    """Collects the sources of a `HybridSource`; names as in PyFlink."""

    def __init__(self, first_source: Source[Any]) -> None:
        self._members: list[SourceListEntry] = []
        self.add_source(first_source)

    def add_source(
        self,
        source: Source[Any] | Callable[[Any], Source[Any]],
        boundedness: Boundedness | None = None,
        switch_position: Callable[[Any], Any] | None = None,
    ) -> HybridSourceBuilder[T]:
        """Add the next source to read.

        Where it starts may depend on what was read before: then give a function that makes the
        source from a *switch position*, and a function that derives this position from the
        enumerator of the source before, when that has ended. The position is part of the
        checkpoint, and workers make their sources from it, too: it must be plain data.

        Args:
            source: a source, or a function from the switch position to a source.
            boundedness: boundedness of the source that the function makes.
            switch_position: function of the previous enumerator that returns the switch position;
                by default None. The enumerator of a `FileSource` has ``files``, the found paths.

        Raises:
            JobDefinitionError: the source before never ends, arguments are missing, or the source
                is a DataFrame.

        Example:
            >>> from millrace.common.source import Boundedness
            >>> from millrace.connectors import NumberSequenceSource
            >>> builder = HybridSource.builder(NumberSequenceSource(1, 3))
            >>> source = builder.add_source(
            ...     lambda start: NumberSequenceSource(start, start + 2),
            ...     Boundedness.BOUNDED,
            ...     switch_position=lambda enumerator: 4,
            ... ).build()
        """
        if self._members and self._members[-1].boundedness is not Boundedness.BOUNDED:
            raise JobDefinitionError(
                f"source {len(self._members) - 1} of the HybridSource never ends, so no "
                "source can follow it: all but the last must be bounded, for example with "
                "set_bounded()"
            )
        self._members.append(self._member(source, boundedness, switch_position))
        return self

    def _member(
        self,
        source: Any,
        boundedness: Boundedness | None,
        switch_position: Callable[[Any], Any] | None,
    ) -> SourceListEntry:
        index = len(self._members)
        if isinstance(source, Source):
            if switch_position is not None:
                raise JobDefinitionError(
                    "the start position of a source object is already fixed; with "
                    "switch_position pass a function that makes the source"
                )
            if source.is_delivered:
                raise JobDefinitionError(
                    f"source {index} of the HybridSource is a DataFrame, whose rows Spark jobs "
                    "cannot deliver to a part of a source: read its files with a FileSource, or "
                    "union the stream of from_spark() with that of the other sources"
                )
            return SourceListEntry(index, source.boundedness, source)
        if not callable(source) or isinstance(source, type) or not self._members:
            raise JobDefinitionError(
                "a HybridSource consists of sources, or of functions that make them behind "
                f"the first source, not of {source!r}"
            )
        if not isinstance(boundedness, Boundedness):
            raise JobDefinitionError(
                "declare whether the source that the function makes ends: "
                "add_source(function, Boundedness.CONTINUOUS_UNBOUNDED), for example"
            )
        return SourceListEntry(index, boundedness, None, source, switch_position)

    def build(self) -> HybridSource[T]:
        """The source with all settings made so far.

        Raises:
            JobDefinitionError: the sources give records of different types.
        """
        declared = [m.declared for m in self._members if m.declared is not None]
        typed = [s.get_produced_type() for s in declared if isinstance(s, ResultTypeQueryable)]
        for other in typed:
            if other != typed[0]:
                raise JobDefinitionError(
                    "the sources of a HybridSource must give records of one type, not "
                    f"{typed[0].name} and {other.name}"
                )
        if typed and len(typed) == len(declared):
            return _TypedHybridSource(self._members, typed[0])
        return HybridSource(self._members)
