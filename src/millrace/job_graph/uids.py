"""Uids: the stable names of operators in savepoints.

A uid is what the user gave, or else a hash of the structure: what the operator is, and the uids of
its inputs. Semantics: Flink docs, "Savepoints", assigning operator ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from millrace.common.errors import JobDefinitionError
from millrace.job_graph.transformation import Role, Transformation


def assign_uids(ordered: Iterable[Transformation]) -> dict[Transformation, str]:
    """The uid of each transformation, given inputs first.

    Raises JobDefinitionError when two operators were given the same uid.
    """
    uids: dict[Transformation, str] = {}
    taken: dict[str, Transformation] = {}
    equal: dict[str, list[str]] = {}
    for transformation in ordered:
        uid = _of_query(transformation, equal) or transformation.uid
        uid = uid or _of_loop(transformation, uids)
        uid = uid or _structural(transformation, uids, taken)
        if uid in taken:
            raise JobDefinitionError(
                f"operators '{taken[uid].name}' and '{transformation.name}' both have the uid "
                f"'{uid}'; give each operator a uid of its own"
            )
        taken[uid] = transformation
        uids[transformation] = uid
    return uids


def _of_query(transformation: Transformation, equal: dict[str, list[str]]) -> str | None:
    """Uid from a query; a number follows it if earlier queries of the job have the same operator.
    None if there is none, or if the program has chosen another.

    Args:
        equal: digests of the filters of the earlier operators, by uid. If they differ, they are
            part of the uid, so that queries in another order do not resume each other's state.
    """
    given = transformation.query_uid
    if given is None or transformation.uid != given.uid:
        return None
    filters = equal.setdefault(given.uid, [])
    filters.append(given.filters)
    if len(filters) == 1:
        return given.uid
    order = ""
    if len(set(filters)) > 1:
        order = f"-{hashlib.sha256(repr(filters).encode()).hexdigest()[:6]}"
    return f"{given.uid}-query{len(filters)}{order}"


def _of_loop(transformation: Transformation, uids: dict[Transformation, str]) -> str | None:
    """Uid of a loop's end, derived from the uid of the loop's beginning. Users can name the
    beginning, so feedback is restored even if the loop's body has changed."""
    if transformation.role is not Role.FEEDBACK:
        return None
    heads = (uid for other, uid in uids.items() if other.loop == transformation.loop)
    head = next(heads, None)
    return None if head is None else f"{head}-feedback"


def _structural(
    transformation: Transformation,
    uids: dict[Transformation, str],
    taken: dict[str, Transformation],
) -> str:
    inputs = [
        f"{uids[i.transformation]}:{i.tag.tag_id if i.tag else ''}"
        f":{i.partitioning.exchange.value if i.partitioning else ''}"
        f"{f':{i.number}' if i.number else ''}"
        for i in transformation.inputs
    ]
    text = "|".join([transformation.role.value, transformation.name, *inputs])
    for copy in range(len(taken) + 1):
        uid = hashlib.sha256(f"{text}#{copy}".encode()).hexdigest()[:16]
        if uid not in taken:
            break
    return uid
