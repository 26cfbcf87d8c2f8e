"""Features that older versions of PySpark 4 lack. Jobs run without them."""

from __future__ import annotations

import logging
from dataclasses import dataclass

__all__ = ["VersionGap", "gaps_of", "log_gaps"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VersionGap:
    """A feature of Spark that a version of PySpark introduced.

    Args:
        since: first version that has it.
        without: what older versions do instead, at what price.
    """

    since: tuple[int, int]
    without: str


GAPS = (
    VersionGap(
        (4, 1),
        "data reaches Python workers through TCP instead of Unix sockets, which makes each epoch "
        "of a job on epochs slower",
    ),
)


def gaps_of(version: str) -> list[VersionGap]:
    """The features that a version of PySpark lacks.

    Example:
        >>> [gap.since for gap in gaps_of("4.0.1")]
        [(4, 1)]
        >>> gaps_of("4.3.0")
        []
    """
    major, minor = version.split(".")[:2]
    return [gap for gap in GAPS if (int(major), int(minor)) < gap.since]


def log_gaps(version: str) -> None:
    """Log one line for each feature that a version of PySpark lacks."""
    for gap in gaps_of(version):
        since = ".".join(map(str, gap.since))
        log.info("PySpark %s, without what came with %s: %s", version, since, gap.without)
