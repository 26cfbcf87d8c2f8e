"""Our own backends conform; one that does not is found out."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.common.config.configuration import Configuration
from millrace.state.backend.keyed_state_backend import HeapKeyedStateBackend
from millrace.state.backend.rocksdb import EmbeddedRocksDBStateBackend
from millrace.state.backend.spilling_backend import NewStores, SpillingKeyedStateBackend
from millrace.state.backend.state_backend import HashMapStateBackend, StateBackend
from millrace.state.flat_table import FlatTable
from millrace.state.table_kinds import FLAT
from millrace.testing.sorted_store import SortedStore
from millrace.testing.state_backend_conformance import StateBackendConformance


class TestHashMap(StateBackendConformance):
    def create(self) -> StateBackend:
        return HashMapStateBackend()


class TestRocksDB(StateBackendConformance):
    """Without any memory between epochs, and with plenty."""

    programs = 4

    @pytest.fixture(autouse=True, params=["0 bytes", "1 mb"])
    def _local(self, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        pytest.importorskip("rocksdict")
        self.options = {
            "state.backend.rocksdb.localdir": str(tmp_path),
            "millrace.state.rocksdb.cache-size": request.param,
        }

    def create(self) -> StateBackend:
        return EmbeddedRocksDBStateBackend().configured(Configuration(self.options))


class Sorted(StateBackend):
    """Somebody else's, over a store of their own; now and then it gives up what is in memory."""

    name = "sorted"

    def create_keyed_state_backend(self, subtask):
        return SpillingKeyedStateBackend(NewStores(SortedStore), cache_bytes=3000)


class TestSorted(StateBackendConformance):
    programs = 15

    def create(self) -> StateBackend:
        return Sorted()


class _Forgetful(FlatTable):
    def roll_back(self) -> None:
        self.undo.clear()


class _Hasty(FlatTable):
    """Takes the next epoch's begin for the acceptance of the one before."""

    def begin_next(self) -> None:
        self.undo.clear()


class _Broken(HeapKeyedStateBackend):
    def __init__(self, flat: type[FlatTable]) -> None:
        self._flat = flat

    def create_table(self, name, kind):
        return self._flat() if kind is FLAT else super().create_table(name, kind)


class Broken(StateBackend):
    name = "broken"

    def __init__(self, flat: type[FlatTable]) -> None:
        self._flat = flat

    def create_keyed_state_backend(self, subtask):
        return _Broken(self._flat)


def conformance(flat: type[FlatTable]) -> StateBackendConformance:
    class Conformance(StateBackendConformance):
        def create(self) -> StateBackend:
            return Broken(flat)

    return Conformance()


def test_one_that_does_not_take_epochs_back() -> None:
    with pytest.raises(AssertionError, match="after an epoch"):
        conformance(_Forgetful).test_accepted_and_aborted_epochs()


def test_one_that_cannot_undo_a_waiting_epoch() -> None:
    with pytest.raises(AssertionError, match="after the decision on the waiting epoch"):
        conformance(_Hasty).test_two_epochs_in_flight()
