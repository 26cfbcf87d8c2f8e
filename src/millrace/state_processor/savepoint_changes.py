"""Operators of a savepoint that are kept, removed or renamed, and the effect on its stages."""

from __future__ import annotations

import dataclasses
import time
import uuid
from dataclasses import dataclass

from millrace.common.errors import StateError
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.checkpoint.snapshot import SAVEPOINT
from millrace.state.key_groups import MAX_KEY_GROUPS

__all__ = ["SavepointChanges", "StageChange", "empty_manifest"]


def empty_manifest(max_parallelism: int) -> Manifest:
    """The manifest of an empty snapshot.

    Raises:
        StateError: no job can have that many key groups.
    """
    if not 1 <= max_parallelism <= MAX_KEY_GROUPS:
        raise StateError(
            f"the max parallelism of a savepoint is between 1 and {MAX_KEY_GROUPS}, not "
            f"{max_parallelism}"
        )
    return Manifest(
        job_id="bootstrapped",
        job_name="bootstrapped",
        run_id=uuid.uuid4().hex[:12],
        checkpoint=1,
        epoch=1,
        timestamp=0,
        parent=None,
        max_parallelism=max_parallelism,
        stages={},
        operators={},
        versions={},
        delta_files=(),
        sources={},
        pending={},
    )


@dataclass(frozen=True, slots=True)
class StageChange:
    """Change of a stage's name and uids."""

    old: str
    new: str
    """New name of the stage."""
    uids: dict[str, str | None]
    """New uid of each operator of the stage; None if the operator is removed."""

    @property
    def rewritten(self) -> bool:
        """Whether the stage's state must be rewritten."""
        return any(uid != new for uid, new in self.uids.items())


class SavepointChanges:
    """Changes of a savepoint that a writer will make.

    Args:
        base: manifest of the savepoint that is changed.
    """

    def __init__(self, base: Manifest) -> None:
        if base.stages and not base.chains:
            raise StateError(
                "the snapshot does not record which operators are in which stage, because "
                "an older version made it. Let a job resume from it, and take a savepoint "
                "of this job"
            )
        self._base = base
        self._uids: dict[str, str | None] = {uid: uid for uid in base.operators}

    def require_free(self, uid: str) -> None:
        """Raise StateError if an operator has the uid."""
        if uid in self._uids.values():
            raise StateError(
                f"the savepoint has an operator '{uid}' already; call remove_operator('{uid}') "
                "before its state is rewritten"
            )

    def remove(self, uid: str) -> None:
        """Remove an operator; raises StateError if there is none."""
        self._uids[self._known(uid)] = None

    def rename(self, uid: str, new_uid: str) -> None:
        """Give an operator another uid; raises StateError if that is impossible."""
        old = self._known(uid)
        if new_uid != uid:
            self.require_free(new_uid)
        self._uids[old] = new_uid

    def _known(self, uid: str) -> str:
        for old, new in self._uids.items():
            if new == uid:
                return old
        names = ", ".join(sorted(new for new in self._uids.values() if new)) or "none"
        raise StateError(f"the savepoint has no operator '{uid}' (it has: {names})")

    def by_stage(self) -> list[StageChange]:
        """Changes of the stages that are kept."""
        changes = []
        for stage, chain in self._base.chains.items():
            uids = {uid: self._uids.get(uid) for uid in chain}
            left = [new for new in uids.values() if new is not None]
            if left:
                # a stage is called as its first operator
                new = left[0] if uids.get(stage, stage) != stage else stage
                changes.append(StageChange(stage, new, uids))
        return changes

    def manifest(self) -> Manifest:
        """The manifest of the changed savepoint, without its deltas."""
        base, changes = self._base, self.by_stage()
        new_stage = {change.old: change.new for change in changes}
        chains = {c.new: tuple(u for u in c.uids.values() if u) for c in changes}
        savepoint = base.kind == SAVEPOINT
        return dataclasses.replace(
            base,
            kind=SAVEPOINT,
            timestamp=time.time_ns() // 1_000_000,
            snapshot_id=f"{SAVEPOINT}-{base.job_id}-{uuid.uuid4().hex[:12]}",
            ancestor=base.snapshot_id if savepoint else base.ancestor,
            stages={new: base.stages[old] for old, new in new_stage.items()},
            chains=chains,
            inputs={
                new_stage[stage]: tuple(new_stage.get(source, source) for source in sources)
                for stage, sources in base.inputs.items()
                if stage in new_stage
            },
            operators={new: base.operators[old] for old, new in self._uids.items() if new},
            stateful=tuple(sorted(filter(None, map(self._uids.get, base.stateful)))),
            sources={
                new: base.sources[uid]
                for uid, new in self._uids.items()
                if new and uid in base.sources
            },
            # what the sinks of the job have left to commit is the job's own business
            pending={},
            versions={},
            delta_files=(),
        )
