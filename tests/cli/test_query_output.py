"""Answers to queries in every format."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from typing import Any

import pytest

from millrace.cli.query_output import print_rows

NAMES = ("key", "value")
ROWS: list[tuple[Any, Any]] = [
    ("ann", {"f0": 1, "f1": [2, None]}),
    ('b "quoted", text', None),
    ("c", dt.date(2026, 1, 2)),
]


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """For people."""
    print_rows(NAMES, ROWS, "table")
    assert capsys.readouterr().out.splitlines() == [
        "key               value",
        'ann               {"f0": 1, "f1": [2, null]}',
        'b "quoted", text  NULL',
        "c                 2026-01-02",
    ]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """One document, an object per row."""
    print_rows(NAMES, ROWS, "json")
    assert json.loads(capsys.readouterr().out) == [
        {"key": "ann", "value": {"f0": 1, "f1": [2, None]}},
        {"key": 'b "quoted", text', "value": None},
        {"key": "c", "value": "2026-01-02"},
    ]
    print_rows(NAMES, [], "json")
    assert json.loads(capsys.readouterr().out) == []


def test_csv(capsys: pytest.CaptureFixture[str]) -> None:
    """As programs read it."""
    print_rows(NAMES, ROWS, "csv")
    assert list(csv.reader(io.StringIO(capsys.readouterr().out))) == [
        ["key", "value"],
        ["ann", '{"f0": 1, "f1": [2, null]}'],
        ['b "quoted", text', ""],
        ["c", "2026-01-02"],
    ]
