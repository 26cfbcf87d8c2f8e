"""What becomes of stages when operators go or get another uid."""

from __future__ import annotations

import dataclasses

import pytest

from millrace.common.errors import StateError
from millrace.state.checkpoint.manifest import Manifest
from millrace.state_processor.savepoint_changes import SavepointChanges, empty_manifest

BASE = dataclasses.replace(
    empty_manifest(128),
    job_id="job",
    snapshot_id="before",
    kind="savepoint",
    epoch=7,
    stages={"source": 1, "map": 2, "window": 2},
    chains={"source": ("source",), "map": ("map", "count"), "window": ("window", "sink")},
    inputs={"source": (), "map": ("source",), "window": ("map",)},
    operators={"source": "Source", "map": "Map", "count": "Count", "window": "W", "sink": "Sink"},
    stateful=("count", "map", "source"),
    sources={"source": b"positions"},
    pending={"sink": [b"part"]},
)


def changed(changes: SavepointChanges) -> dict[str, tuple[str, bool]]:
    return {change.old: (change.new, change.rewritten) for change in changes.by_stage()}


def test_nothing_changes() -> None:
    """Every stage is copied; the new savepoint comes after the old one."""
    changes = SavepointChanges(BASE)
    assert changed(changes) == {stage: (stage, False) for stage in BASE.stages}
    manifest = changes.manifest()
    assert manifest.stages == BASE.stages
    assert manifest.sources == BASE.sources
    assert manifest.pending == {}
    assert (manifest.ancestor, manifest.epoch) == ("before", 7)
    assert manifest.snapshot_id not in ("", "before")


def test_a_checkpoint_is_no_ancestor() -> None:
    """But the savepoint before it is."""
    checkpoint = dataclasses.replace(BASE, kind="checkpoint", ancestor="earlier")
    assert SavepointChanges(checkpoint).manifest().ancestor == "earlier"


def test_an_operator_goes() -> None:
    """With others in its stage, that is written anew and called as the first of them."""
    changes = SavepointChanges(BASE)
    changes.remove("map")
    assert changed(changes)["map"] == ("count", True)
    manifest = changes.manifest()
    assert manifest.chains == {"source": ("source",), "count": ("count",),
                               "window": ("window", "sink")}  # fmt: skip
    assert manifest.inputs == {"source": (), "count": ("source",), "window": ("count",)}
    assert manifest.stateful == ("count", "source")
    assert "map" not in manifest.operators


def test_a_stage_goes() -> None:
    """If nobody is left in it; of a source, its positions go too."""
    changes = SavepointChanges(BASE)
    changes.remove("source")
    assert "source" not in changed(changes)
    assert changes.manifest().sources == {}


def test_another_uid() -> None:
    """Is the operator's everywhere."""
    changes = SavepointChanges(BASE)
    changes.rename("source", "input")
    changes.rename("count", "counter")
    manifest = changes.manifest()
    assert manifest.sources == {"input": b"positions"}
    assert manifest.chains["map"] == ("map", "counter")
    assert manifest.inputs["map"] == ("input",)
    assert manifest.operators["counter"] == "Count"
    assert changed(changes)["map"] == ("map", True)


def test_uids_are_checked() -> None:
    """One must be there, the other must be free; both as of the changes so far."""
    changes = SavepointChanges(BASE)
    with pytest.raises(StateError, match="no operator 'lost' .*count, map"):
        changes.remove("lost")
    with pytest.raises(StateError, match="has an operator 'map' already"):
        changes.rename("count", "map")
    changes.rename("map", "other")
    changes.rename("count", "map")
    changes.remove("other")
    changes.require_free("other")
    with pytest.raises(StateError, match="no operator 'count'"):
        changes.remove("count")


def test_a_snapshot_that_does_not_tell_its_chains() -> None:
    """Is refused, for its state would be lost."""
    old: Manifest = dataclasses.replace(BASE, chains={})
    with pytest.raises(StateError, match="older version"):
        SavepointChanges(old)


@pytest.mark.parametrize("highest", [0, 32769])
def test_a_max_parallelism_that_no_job_has_is_refused(highest: int) -> None:
    with pytest.raises(StateError, match="between 1 and 32768"):
        empty_manifest(highest)
