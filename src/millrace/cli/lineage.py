"""Drawing of a history with branches in lines of text, like ``git log --graph``."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

__all__ = ["LineageNode", "draw"]


@dataclass(frozen=True, slots=True)
class LineageNode:
    """A point of the history."""

    id: str
    parent: str
    """The id of the point it came from; empty: it is a beginning."""
    timestamp: int
    label: str
    present: bool = True
    """Whether it is known for itself, not only as a parent."""


def draw(nodes: Sequence[LineageNode], missing: Callable[[str], str]) -> Iterator[str]:
    """The lines of the drawing, the newest first.

    Args:
        missing: the label of a parent, by its id, that is not among ``nodes``.

    Example:
        >>> nodes = [LineageNode(id, "" if id == "a" else "a", n, id) for n, id in enumerate("abc")]
        >>> for line in draw(nodes, str):
        ...     print(line)
        * c
        | * b
        |/
        * a
    """
    columns: list[str] = []
    """Which id the line in each column leads to."""
    ended = -1
    known = _without_rings(_distinct(nodes))
    for node in _in_order(_with_missing(known, missing)):
        yield from _merged(columns, node.id)
        if node.id not in columns:
            if ended == len(columns):  # else the beginning above would seem to come from this one
                yield ("| " * ended).rstrip()
            columns.append(node.id)
        column = columns.index(node.id)
        mark = "*" if node.present else "o"
        row = [mark if i == column else "|" for i in range(len(columns))]
        yield f"{' '.join(row)} {node.label}"
        ended = column if not node.parent and column == len(columns) - 1 else -1
        if node.parent:
            columns[column] = node.parent
        else:
            yield from _closed(columns, column)


def _distinct(nodes: Sequence[LineageNode]) -> list[LineageNode]:
    """Nodes in which copies, which have the same id, are nodes of their own; children belong to
    the first copy."""
    counted: Counter[str] = Counter()
    distinct = []
    for node in nodes:
        copies = counted[node.id]
        counted[node.id] += 1
        distinct.append(replace(node, id=f"{node.id}\0{copies}") if copies else node)
    return distinct


def _without_rings(nodes: Sequence[LineageNode]) -> list[LineageNode]:
    """Nodes without rings. Only a savepoint that was tampered with makes a ring; it begins at
    its oldest node."""
    by_id = {node.id: node for node in nodes}
    settled: set[str] = set()
    for node in nodes:
        path: dict[str, None] = {}
        at = node.id
        while at and at in by_id and at not in settled and at not in path:
            path[at] = None
            at = by_id[at].parent
        if at in path:
            ids = list(path)
            oldest = min(ids[ids.index(at) :], key=lambda id: by_id[id].timestamp)
            by_id[oldest] = replace(by_id[oldest], parent="")
        settled.update(path)
    return list(by_id.values())


def _with_missing(nodes: Sequence[LineageNode], missing: Callable[[str], str]) -> list[LineageNode]:
    known = {node.id for node in nodes}
    gone: dict[str, int] = {}
    for node in nodes:
        if node.parent and node.parent not in known:
            gone[node.parent] = min(node.timestamp, gone.get(node.parent, node.timestamp))
    return [*nodes, *(LineageNode(id, "", time, missing(id), False) for id, time in gone.items())]


def _in_order(nodes: Sequence[LineageNode]) -> Iterator[LineageNode]:
    """Nodes, the newest first; a node never comes before its children, even if clocks disagree."""
    by_id = {node.id: node for node in nodes}
    children = dict.fromkeys(by_id, 0)
    for node in by_id.values():
        if node.parent:
            children[node.parent] += 1
    ready = [(-node.timestamp, id) for id, node in by_id.items() if not children[id]]
    heapq.heapify(ready)
    while ready:
        node = by_id[heapq.heappop(ready)[1]]
        yield node
        if node.parent:
            children[node.parent] -= 1
            if not children[node.parent]:
                parent = by_id[node.parent]
                heapq.heappush(ready, (-parent.timestamp, parent.id))


def _merged(columns: list[str], id: str) -> Iterator[str]:
    """Lines of the drawing that merge all columns of ``id`` into the first of these columns."""
    while columns.count(id) > 1:
        first = columns.index(id)
        last = len(columns) - 1 - columns[::-1].index(id)
        yield from _shifted(columns, last, first)


def _shifted(columns: list[str], column: int, to: int) -> Iterator[str]:
    """Remove a column: its line goes left to column ``to``, and the columns to its right move
    up."""
    count = len(columns)
    del columns[column]
    for step in range(column, to, -1):
        cells = [" "] * (2 * count)
        for other in range(count - 1):
            # on the first line the columns on the right are still on their way
            moving = step == column and other >= column
            cells[2 * other + (1 if moving else 0)] = "/" if moving else "|"
        cells[2 * step - 1] = "/"
        yield "".join(cells).rstrip()


def _closed(columns: list[str], column: int) -> Iterator[str]:
    """Remove the column of a node without a parent."""
    count = len(columns)
    del columns[column]
    if column < count - 1:
        left = "| " * column
        yield f"{left} {' '.join('/' for _ in range(count - 1 - column))}".rstrip()
