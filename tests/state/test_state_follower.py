"""A copy that follows a job's checkpoints, against the tables of the job itself."""

from __future__ import annotations

import tempfile
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.errors import CheckpointCorruptError
from millrace.engine.checkpoint_storage import CheckpointStorage
from millrace.engine.lease import Lease
from millrace.state.checkpoint.manifest import Manifest
from millrace.state.frozen import MISSING
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.state.state_delta import StateDelta
from millrace.state.state_follower import StateFollower
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import FLAT, LIST, MAP, TTL_FLAT, TTL_LIST, TTL_MAP

GROUPS = 16
KINDS = {
    TableId("op", "value"): FLAT,
    TableId("op", "list"): LIST,
    TableId("op", "map"): MAP,
    TableId("other", "secret"): FLAT,
}
FOLLOWED = (TableId("op", "value"), TableId("op", "list"), TableId("op", "map"))


def everything_of(state: SubtaskState) -> StateDelta:
    state.adopt(state.version)
    delta = state.snapshot(0, "everything")
    assert delta is not None
    return delta


def inline(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


class Job:
    """One stage whose subtasks have a value, a list and a map per key."""

    def __init__(self, directory: str, parallelism: int = 1, retained: int = 2) -> None:
        lease = Lease.acquire(directory, "run")
        self.storage = CheckpointStorage(directory, "run", lease, durable=False, retained=retained)
        self.epoch = 0
        self.subtasks = [SubtaskState() for _ in range(parallelism)]
        self.versions: dict[tuple[str, int], str] = {}
        self.unsaved: list[tuple[str, int, StateDelta]] = []

    def change(self, key: Any, number: int) -> None:
        """Do something to the states of a key; zero clears them."""
        state = self._owner(key)
        value, items, entries = (state.table(name, KINDS[name]) for name in FOLLOWED)
        state.table(TableId("other", "secret"), FLAT).put(key, number)
        if number == 0:
            value.remove(key)
            items.remove(key)
            entries.drop(key)
        else:
            value.put(key, number)
            items.append(key, number)
            entries.put(key, number % 3, number)

    def _owner(self, key: Any) -> SubtaskState:
        group = key_group_of(key, GROUPS)
        width = len(self.subtasks)
        index = next(i for i in range(width) if group in key_group_range(i, width, GROUPS))
        return self.subtasks[index]

    def end_epoch(self) -> None:
        self.epoch += 1
        for index, state in enumerate(self.subtasks):
            version = f"{self.epoch}-{index}"
            delta = state.snapshot(self.epoch, version)
            if delta is not None:
                self.unsaved.append(("stage", index, delta))
                self.versions["stage", index] = version
                state.align(version, (), lambda delta: b"")

    def rescale(self, parallelism: int) -> None:
        """What was handed over before stays valid; the new subtasks write everything."""
        old, self.subtasks = self.subtasks, [SubtaskState() for _ in range(parallelism)]
        deltas = [everything_of(state) for state in old]
        for index, state in enumerate(self.subtasks):
            own = key_group_range(index, parallelism, GROUPS)
            for delta in deltas:
                state.take(
                    [delta],
                    inline,
                    lambda name, kind: True,
                    lambda key, own=own: key_group_of(key, GROUPS) in own,
                )
        self.versions.clear()
        self.end_epoch()

    def checkpoint(self) -> Manifest:
        manifest, _ = self.storage.publish(
            Manifest(
                job_name="job",
                epoch=self.epoch,
                timestamp=0,
                max_parallelism=GROUPS,
                stages={"stage": len(self.subtasks)},
                operators={"op": "op", "other": "other"},
                versions=dict(self.versions),
                sources={},
                pending={},
            ),
            self.unsaved,
        )
        self.unsaved = []
        return manifest

    def model(self) -> dict[str, dict[Any, Any]]:
        """What the states hold."""
        return {
            name: deepcopy(
                {k: v for s in self.subtasks for k, v in s.table(name, kind).data.items()}
            )
            for name, kind in KINDS.items()
            if name in FOLLOWED
        }


@pytest.fixture
def directory(tmp_path) -> str:
    return str(tmp_path / "job")


def expected(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The changes from one model to another."""
    changes = {
        name: {
            key: (old[name].get(key, MISSING), new[name].get(key, MISSING))
            for key in {*old[name], *new[name]}
            if old[name].get(key) != new[name].get(key)
        }
        for name in FOLLOWED
    }
    return {name: found for name, found in changes.items() if found}


def test_the_first_look_gives_everything(directory) -> None:
    job, follower = Job(directory), StateFollower(directory, FOLLOWED)
    job.change("a", 1)
    job.end_epoch()
    changes = follower.advance(job.checkpoint())
    assert changes == {
        TableId("op", "value"): {"a": (MISSING, 1)},
        TableId("op", "list"): {"a": (MISSING, [1])},
        TableId("op", "map"): {"a": (MISSING, {1: 1})},
    }
    assert follower.checkpoint == 1
    assert [follower.kind(name) for name in (*FOLLOWED, TableId("other", "secret"))] == [
        FLAT, LIST, MAP, None,
    ]  # fmt: skip


def test_loading_tells_nothing_of_what_is_there(directory) -> None:
    """But of what changes from then on."""
    job, follower = Job(directory), StateFollower(directory, FOLLOWED)
    for number in range(40):
        job.change(number, 1)
    job.end_epoch()
    follower.load(job.checkpoint())
    assert {name: follower.entries(name) for name in FOLLOWED} == job.model()
    job.change(3, 2)
    job.end_epoch()
    assert follower.advance(job.checkpoint())[TableId("op", "value")] == {3: (1, 2)}


def test_what_a_look_gave_does_not_change_later(directory) -> None:
    """The copy's lists and dicts grow in place."""
    job, follower = Job(directory), StateFollower(directory, FOLLOWED)
    for number in range(40):
        job.change(number, 1)
    job.change("a", 1)
    job.end_epoch()
    first = follower.advance(job.checkpoint())
    job.change("a", 2)
    job.end_epoch()
    second = follower.advance(job.checkpoint())
    assert first[TableId("op", "list")]["a"] == (MISSING, [1])
    assert second[TableId("op", "list")] == {"a": ([1], [1, 2])}
    assert second[TableId("op", "map")] == {"a": ({1: 1}, {1: 1, 2: 2})}


def test_a_key_that_moves_to_another_subtask_has_not_changed(directory) -> None:
    job, follower = Job(directory), StateFollower(directory, FOLLOWED)
    for number in range(40):
        job.change(number, 1)
    job.end_epoch()
    follower.advance(job.checkpoint())
    for parallelism in (3, 2):
        job.rescale(parallelism)
        assert follower.advance(job.checkpoint()) == {}
    job.change(7, 0)
    job.end_epoch()
    assert follower.advance(job.checkpoint())[TableId("op", "value")] == {7: (1, MISSING)}


def test_a_checkpoint_whose_files_are_gone_costs_nothing(directory) -> None:
    """The next look finds what was missed."""
    job, follower = Job(directory, parallelism=2, retained=1), StateFollower(directory, FOLLOWED)
    old = job.model()
    manifests = []
    for number in range(1, 30):
        job.change(number % 5, number)
        job.end_epoch()
        manifests.append(job.checkpoint())
    job.storage.close()
    with pytest.raises(CheckpointCorruptError):
        follower.advance(manifests[3])
    assert follower.checkpoint is None
    assert follower.advance(manifests[-1]) == expected(old, job.model())


def test_only_the_stages_of_the_followed_operators_are_read(directory, monkeypatch) -> None:
    job = Job(directory)
    job.change("a", 1)
    job.end_epoch()
    manifest = job.checkpoint()
    object.__setattr__(manifest, "chains", {"stage": ("other",)})
    assert StateFollower(directory, FOLLOWED).advance(manifest) == {}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("change"), st.integers(0, 12), st.integers(0, 5)),
        st.tuples(st.just("epoch")),
        st.tuples(st.just("checkpoint"), st.booleans()),
        st.tuples(st.just("rescale"), st.integers(1, 4)),
    ),
    max_size=60,
)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_changes_are_the_difference_of_any_two_checkpoints(steps) -> None:
    """However many the follower does not look at, and whatever the parallelism becomes."""
    with tempfile.TemporaryDirectory() as directory:
        job, follower = Job(directory, retained=1), StateFollower(directory, FOLLOWED)
        seen = job.model()
        for step, *arguments in [*steps, ("epoch",), ("checkpoint", True)]:
            if step == "change":
                job.change(*arguments)
            elif step == "rescale":
                job.end_epoch()
                job.rescale(*arguments)
            elif step == "epoch":
                job.end_epoch()
            else:
                job.end_epoch()
                manifest = job.checkpoint()
                if arguments[0]:
                    changes, now = follower.advance(manifest), job.model()
                    assert changes == expected(seen, now)
                    assert {name: follower.entries(name) for name in FOLLOWED} == now
                    seen = now
        job.storage.close()


def test_stamps_are_taken_off() -> None:
    assert TTL_FLAT.shown(("a", 5)) == "a"
    assert TTL_LIST.shown([("a", 5), ("b", 6)]) == ["a", "b"]
    assert TTL_MAP.shown({"k": ("a", 5)}) == {"k": "a"}
    assert FLAT.shown(("a", 5)) == ("a", 5)
    assert TTL_FLAT.shown(MISSING) is MISSING
