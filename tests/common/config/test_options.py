"""The registry of options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import millrace
from millrace.common.config.known_options import _DECLARING, OPTIONS
from millrace.common.config.options_page import options_as_markdown


@pytest.mark.parametrize("key", sorted(OPTIONS))
def test_every_option_is_complete(key: str) -> None:
    """It is registered under its key, described, and its default is one of its own values."""
    option = OPTIONS[key]
    assert option.key == key
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z]+)*(\.[a-z]+(-[a-z]+)*)+", key)
    assert option.description.endswith(".")
    if option.default is not None:
        assert option.read(option.default) == option.default


@pytest.mark.parametrize("key", sorted(OPTIONS))
def test_every_default_reads_back_from_its_text(key: str) -> None:
    """What the documentation shows can be set."""
    option = OPTIONS[key]
    if option.default not in (None, {}):
        assert option.read(str(option.default)) == option.default


def test_markdown_table_shows_every_option_once() -> None:
    """One row per key, of four cells, sorted."""
    head, rule, *rows = options_as_markdown().partition("\n\n## ")[0].splitlines()
    assert head == "| key | type | default | meaning |"
    assert rule == "| --- | --- | --- | --- |"
    assert [row.split("`")[1] for row in rows] == sorted(OPTIONS)
    assert {row.count("|") for row in rows} == {5}
    assert "| `parallelism.default` | number | `1` |" in options_as_markdown()
    assert "| `STREAMING` / `BATCH` / `AUTOMATIC` | `STREAMING` |" in options_as_markdown()


def test_the_registry_loads_every_module_that_declares_options() -> None:
    """Else a key would be known only to programs that have imported the module."""
    root = Path(millrace.__file__).parent
    declares = re.compile(r"^\w+ = (known|free_prefix)\(", re.MULTILINE)
    declaring = {
        ".".join(path.relative_to(root.parent).with_suffix("").parts)
        for path in root.rglob("*.py")
        if declares.search(path.read_text(encoding="utf-8"))
    }
    assert declaring == set(_DECLARING)
