"""Watermark alignment: limits the reading of splits in sources that wait for each other.

Flink docs, "Generating Watermarks", "Watermark alignment".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from millrace.engine.source_coordinator import SourceCoordinator

__all__ = ["WatermarkAlignments"]


class WatermarkAlignments:
    """Alignment groups of one job."""

    def __init__(self, sources: Iterable[SourceCoordinator]) -> None:
        self._groups: dict[str, list[SourceCoordinator]] = defaultdict(list)
        for source in sources:
            if source.node.alignment is not None:
                self._groups[source.node.alignment.watermark_group].append(source)

    def max_watermark(self, source: SourceCoordinator) -> int | None:
        """Watermark beyond which splits of a source must wait (ms since the epoch). None if the
        source is in no group, or if the group has no split to wait for."""
        alignment = source.node.alignment
        if alignment is None:
            return None
        members = self._groups[alignment.watermark_group]
        marks = [member.lowest_watermark() for member in members]
        lowest = min((mark for mark in marks if mark is not None), default=None)
        return None if lowest is None else lowest + alignment.max_allowed_watermark_drift

    def resumes(self) -> bool:
        """Whether a waiting split can be read again."""
        return any(
            source.pauses_below(self.max_watermark(source))
            for members in self._groups.values()
            for source in members
        )
