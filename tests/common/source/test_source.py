"""A fixed list of splits is handed out once, whatever happens in between."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.source import Source, SourceReader, StaticEnumerator


@dataclass(frozen=True)
class Part:
    split_id: str


PARTS = [Part("a"), Part("b")]


def test_hands_out_its_splits_once():
    enumerator = StaticEnumerator(PARTS)
    assert not enumerator.no_more_splits()
    assert list(enumerator.discover(0)) == PARTS
    assert list(enumerator.discover(1)) == []
    assert enumerator.no_more_splits()


def test_a_restored_one_knows_that_it_has_handed_them_out():
    first = StaticEnumerator(PARTS)
    first.discover(0)
    second = StaticEnumerator(PARTS)
    second.restore_state(first.snapshot_state())
    assert list(second.discover(0)) == []


def test_the_package_exports_what_connectors_need():
    assert Source.__module__ == "millrace.common.source.source"
    assert SourceReader.__module__ == "millrace.common.source.source_reader"
