"""Assignment of a snapshot's state to the subtasks of a job that continues from it.

State is matched by the uids of operators, as in Flink (Flink docs, "Savepoints", allowing
non-restored state). A new operator starts empty; state of an operator that no longer exists is
refused, unless this is allowed. The subtasks of an unchanged stage restore their own deltas. All
other subtasks, and all subtasks of a job that does not own the snapshot, get a restore assignment:
the state handles of the subtasks that had their operators.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from millrace.common.errors import CheckpointError
from millrace.filesystem.location import located
from millrace.job_graph.job_graph import JobGraph
from millrace.runtime.epoch import RestoreAssignment, StateHandle
from millrace.runtime.program import Stage
from millrace.state.checkpoint.delta_file import SubtaskKey
from millrace.state.checkpoint.manifest import QUERY_UIDS, Manifest
from millrace.state.state_delta import FileRef, StateDelta, StatePart

SubtaskId = tuple[int, int]
"""(stage, subtask)."""
DeltasOf = Mapping[SubtaskKey, list[StateDelta]]
Parts = Mapping[SubtaskKey, tuple[StatePart, ...]]
"""Parts of the state that each former subtask made, one per new subtask, by former subtask."""


@dataclass(frozen=True, slots=True)
class StateAssignment:
    """State handles with which each subtask of a job starts."""

    unchanged: dict[SubtaskId, tuple[str, list[StateDelta]]] = field(default_factory=dict)
    """Version and deltas of each subtask of an unchanged stage."""
    redistributed: dict[SubtaskId, tuple[str, RestoreAssignment]] = field(default_factory=dict)
    """For each other subtask: the version that it restores, and the handles to read."""


@dataclass(frozen=True, slots=True)
class RestoredSnapshot:
    """Checkpoint or savepoint that a job restores."""

    manifest: Manifest
    deltas: DeltasOf
    directory: str | None = None
    """Directory of the snapshot's files; None if it is the job's own directory."""
    forked: bool = False
    """Whether the snapshot continues to belong to the other job (claim mode ``NO_CLAIM``)."""
    allow_non_restored: bool = False
    """Whether state of operators that the job does not have may be left out."""
    committed: bool = False
    """Whether the sinks have committed all committables of the snapshot."""
    parts: Parts = field(default_factory=dict)
    """State of the subtasks that have divided it themselves (see `state.division`)."""

    @property
    def name(self) -> str:
        """Name of the snapshot in error messages."""
        kind, number = self.manifest.kind, self.manifest.checkpoint
        return f"{kind} {number}" if self.directory is None else f"the {kind} in {self.directory}"

    def deltas_of(self, stage: str, subtask: int) -> tuple[StateDelta, ...]:
        """Deltas of a subtask, with paths relative to the job's directory."""
        deltas = self.deltas.get((stage, subtask), [])
        if self.directory is None:
            return tuple(deltas)
        return tuple(_located(delta, self.directory) for delta in deltas)


def assign_state(origin: RestoredSnapshot, graph: JobGraph) -> StateAssignment:
    """Match the state of ``origin`` with the operators of ``graph``.

    Raises:
        CheckpointError: the state does not fit the operators.
    """
    _check_max_parallelism(origin, graph)
    if not origin.allow_non_restored:
        _check_all_restored(origin, graph)
    assignment = StateAssignment()
    inputs = inputs_of(graph)
    for stage in graph.program.stages:
        distinct = _same_channels(origin.manifest, stage, graph)
        if distinct and _is_unchanged(origin, stage, inputs[stage.uid]):
            for index in range(stage.parallelism):
                version = origin.manifest.versions.get((stage.uid, index))
                if version is not None:
                    deltas = list(origin.deltas_of(stage.uid, index))
                    assignment.unchanged[stage.id, index] = (version, deltas)
        else:
            _redistribute(assignment, origin, stage, inputs[stage.uid], distinct)
    return assignment


def chains_of(graph: JobGraph) -> dict[str, tuple[str, ...]]:
    """Uids of each stage's operators, by stage uid."""
    return {s.uid: tuple(node.uid for node in s.nodes) for s in graph.program.stages}


def inputs_of(graph: JobGraph) -> dict[str, tuple[str, ...]]:
    """Uids of the operators that feed each stage, in the order of its inputs, by stage uid."""
    sources = {
        route.edge: node.uid
        for stage in graph.program.stages
        for node in stage.nodes
        for route in node.routes
        if route.edge is not None
    }
    return {s.uid: tuple(sources[edge] for edge in s.inputs) for s in graph.program.stages}


def _same_channels(manifest: Manifest, stage: Stage, graph: JobGraph) -> bool:
    """Whether a stage's channels still belong to the same inputs. Channels are identified by
    numbers, so their inputs are confused if one input has become wider and another narrower."""
    before = {uid: manifest.stages[s] for s, chain in manifest.chains.items() for uid in chain}
    now = {uid: s.parallelism for s in graph.program.stages for uid in chains_of(graph)[s.uid]}
    inputs = inputs_of(graph)[stage.uid]
    old, new = [before.get(uid, 0) for uid in inputs], [now[uid] for uid in inputs]
    return old == new or sum(old) != sum(new)


def _is_unchanged(origin: RestoredSnapshot, stage: Stage, inputs: tuple[str, ...]) -> bool:
    """Whether a stage has its former operators, inputs and parallelism, or no state yet."""
    manifest = origin.manifest
    own = {node.uid for node in stage.nodes}
    before = [uid for uid, chain in manifest.chains.items() if own & set(chain)]
    if not before:
        return True
    return (
        origin.directory is None
        and before == [stage.uid]
        and manifest.stages[stage.uid] == stage.parallelism
        and set(manifest.chains[stage.uid]) <= own
        and manifest.inputs.get(stage.uid) == inputs
    )


def _redistribute(
    assignment: StateAssignment,
    origin: RestoredSnapshot,
    stage: Stage,
    inputs: tuple[str, ...],
    distinct: bool,
) -> None:
    manifest = origin.manifest
    uids = {node.uid for node in stage.nodes}
    handles = [
        StateHandle(index, manifest.stages[uid], deltas, uid == stage.uid)
        for uid, chain in manifest.chains.items()
        if uids & set(chain)
        for index in range(manifest.stages[uid])
        if (deltas := origin.deltas_of(uid, index))
    ]
    divided = _divided(origin, stage)
    same_inputs = manifest.inputs.get(stage.uid) == inputs
    for index in range(stage.parallelism):
        version = f"{manifest.snapshot_id}@{stage.uid}"
        own = divided[index] if divided else tuple(handles)
        assignment.redistributed[stage.id, index] = (
            version,
            RestoreAssignment(own, same_inputs, distinct, origin.forked),
        )


def _divided(origin: RestoredSnapshot, stage: Stage) -> list[tuple[StateHandle, ...]]:
    """Parts for each new subtask of the state that the former subtasks of the stage have
    divided; empty if they have not divided it."""
    width = origin.manifest.stages.get(stage.uid, 0)
    parts = [origin.parts.get((stage.uid, index), ()) for index in range(width)]
    if not parts or any(len(part) != stage.parallelism for part in parts):
        return []
    return [
        tuple(
            StateHandle(former, width, (part[index].rows, part[index].rest), True, True)
            for former, part in enumerate(parts)
        )
        for index in range(stage.parallelism)
    ]


def widths_of(graph: JobGraph) -> dict[str, int]:
    """Parallelism of each stage, by stage uid."""
    return {stage.uid: stage.parallelism for stage in graph.program.stages}


def divisions(now: JobGraph, then: JobGraph) -> dict[int, int]:
    """Number of subtasks among which a stage can divide its state, by stage id of the graph
    ``now``. It contains the stages that differ only in parallelism in the graph ``then``."""
    chains = chains_of(then)
    widths = widths_of(then)
    return {
        stage.id: widths[stage.uid]
        for stage in now.program.stages
        if chains_of(now)[stage.uid] == chains.get(stage.uid)
        and widths[stage.uid] != stage.parallelism
    }


def _located(delta: StateDelta, directory: str) -> StateDelta:
    ref = delta.data
    if not isinstance(ref, FileRef):
        return delta
    path = located(directory, ref.path)
    return dataclasses.replace(delta, data=dataclasses.replace(ref, path=path))


def _check_max_parallelism(origin: RestoredSnapshot, graph: JobGraph) -> None:
    was, now = origin.manifest.max_parallelism, graph.program.max_parallelism
    if was != now:
        raise CheckpointError(
            f"{origin.name} was made with max parallelism {was}, but the job has {now}. Keys are "
            "divided by the max parallelism, so it cannot change: set pipeline.max-parallelism "
            f"to {was}"
        )


def _check_all_restored(origin: RestoredSnapshot, graph: JobGraph) -> None:
    manifest = origin.manifest
    known = {node.uid: node.name for stage in graph.program.stages for node in stage.nodes}
    needed = {*manifest.stateful, *manifest.sources, *(u for u, p in manifest.pending.items() if p)}
    gone = sorted(needed - known.keys())
    if gone:
        kept = sorted(needed & known.keys())
        names = manifest.operators
        kinds = {_kind(names.get(uid, uid)) for uid in gone}
        alike = sorted(uid for uid in known if uid not in names and _kind(known[uid]) in kinds)
        raise CheckpointError(
            f"{origin.name} has state of {_named(names, gone)}, which the job does not have: it "
            "belongs to another job or an older version of this one"
            + (f"; the job has the operators of other state: {_named(names, kept)}" if kept else "")
            + (f"; it has no state of {_named(known, alike)}, which begin empty" if alike else "")
            + ". "
            + (_of_other_queries(manifest, gone) or _ADVICE)
        )


_QUERY_UID = re.compile(r"[^ ]+-[0-9a-f]{12}(-[0-9]+)?")
_ADVICE = (
    "Give operators fixed uids, so that their state is found again (operators of a query keep "
    "their uids while its keys, columns, expressions and aggregates stay the same). Or start with "
    "--allow-non-restored-state, which drops the state of the missing operators"
)


def _of_other_queries(manifest: Manifest, gone: Iterable[str]) -> str:
    """Advice about the state of queries, if another version wrote the snapshot with uids of
    another form; empty if there is no such state."""
    if manifest.query_uids == QUERY_UIDS or not any(map(_QUERY_UID.fullmatch, gone)):
        return ""
    other = "an earlier" if manifest.query_uids < QUERY_UIDS else "a later"
    return (
        f"It was written by {other} version of Millrace, which named the state of queries in "
        f"another way (query_uids {manifest.query_uids}; here {QUERY_UIDS}): this version cannot "
        "tell whether a query's state fits. Let the version that wrote it finish the job. Or start "
        "with --allow-non-restored-state: sources continue at their positions, and queries begin "
        "without state. Or, if the query is the same to the letter, give the operators their new "
        "uids with the state processor's change_operator_identifier"
    )


def _named(names: Mapping[str, str], uids: Iterable[str]) -> str:
    return ", ".join(f"'{names.get(uid, uid)}' (uid {uid})" for uid in uids)


def _kind(name: str) -> str:
    """Name of a query's operator without its number."""
    return name.partition("[")[0]
