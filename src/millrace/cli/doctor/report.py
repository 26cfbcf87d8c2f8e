"""The results of an examination as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from millrace.cli.doctor.diagnosis import Diagnosis, Severity
from millrace.cli.printing import plural

_WIDTH = 22


def lines_of(results: Iterable[Diagnosis]) -> Iterator[str]:
    """A line for each result with its remedy below it, and a last line with counts.

    Example:
        >>> from millrace.cli.doctor.diagnosis import ok, warning
        >>> for line in lines_of([ok("Java", "21"), warning("disk", "3 GiB", "Free some.")]):
        ...     print(line)
        ok       Java                   21
        warning  disk                   3 GiB
                 -> Free some.
        2 checks: 1 warning, 0 failures
    """
    counts: Counter[Severity] = Counter()
    for result in results:
        counts[result.severity] += 1
        yield f"{result.severity.value:<9}{result.check:<{_WIDTH}} {result.found}"
        if result.fix is not None:
            yield f"         -> {result.fix}"
    yield (
        f"{plural(counts.total(), 'check')}: {plural(counts[Severity.WARNING], 'warning')}, "
        f"{plural(counts[Severity.FAILURE], 'failure')}"
    )
