"""Backends by name, from options, from code and from other people's packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from millrace.common.config.configuration import Configuration
from millrace.common.errors import StateError
from millrace.datastream import EmbeddedRocksDBStateBackend, HashMapStateBackend
from millrace.state.backend.loading import chosen_backend, load_backend

OTHERS = """
from millrace.state.backend.spilling_backend import NewStores, SpillingKeyedStateBackend
from millrace.state.backend.state_backend import StateBackend
from millrace.testing.sorted_store import SortedStore

class Mine(StateBackend):
    name = "mine"

    def create_keyed_state_backend(self, subtask):
        return SpillingKeyedStateBackend(NewStores(SortedStore))

class Broken(Mine):
    def __init__(self):
        raise OSError("no disk")
"""


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with backends."""
    (tmp_path / "others_backend.py").write_text(OTHERS)
    info = tmp_path / "others-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[millrace.state_backends]\nmine = others_backend:Mine\n"
        "broken = others_backend:Broken\nstrange = pathlib:Path\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


def test_own_ones() -> None:
    assert isinstance(load_backend("hashmap"), HashMapStateBackend)
    assert isinstance(load_backend("rocksdb"), EmbeddedRocksDBStateBackend)


@pytest.mark.usefixtures("others")
def test_somebody_elses() -> None:
    """Found by its entry point; what is wrong with it is said."""
    assert load_backend("mine").name == "mine"
    with pytest.raises(
        StateError, match="'broken' of others 1.0 .*cannot be loaded: OSError: no d"
    ):
        load_backend("broken")
    with pytest.raises(
        StateError, match="'strange' of others 1.0 .pathlib:Path. is not a StateBackend"
    ):
        load_backend("strange")
    with pytest.raises(StateError, match="no state backend 'heap'.*'hashmap', 'mine', 'rocksdb'"):
        load_backend("heap")


def test_code_goes_before_options() -> None:
    options = Configuration({"state.backend.type": "nowhere"})
    given = HashMapStateBackend()
    assert chosen_backend(options, given) is given
    with pytest.raises(StateError, match="nowhere"):
        chosen_backend(options, None)


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is asked for by name, before the job starts."""
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    options = Configuration({"state.backend.type": "rocksdb"})
    with pytest.raises(StateError, match=r"pip install 'millrace\[rocksdb\]'"):
        chosen_backend(options, None)
