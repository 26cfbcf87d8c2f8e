"""The page about object stores: its program runs as it stands there, against a real S3 server."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from azurite import Azurite
from seaweedfs import SeaweedFS

from millrace.datastream import StreamExecutionEnvironment
from millrace.filesystem import registry
from millrace.filesystem.registry import file_system_of
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "object-stores.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_totals_of_the_page(s3_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    [code] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    page = ModuleType("object_stores_page")
    monkeypatch.setitem(sys.modules, "object_stores_page", page)
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    files = file_system_of(s3_root)
    for number in range(2):
        lines = json.dumps({"customer": "ada", "cents": 5}) + "\n"
        files.publish(f"{s3_root}/orders/{number}.jsonl", [lines.encode() * 3])
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment(page.settings(s3_root))
        page.totals(env, s3_root, watch=False)
        env.execute("totals")
    parts = [f.location for f in files.list(f"{s3_root}/totals", recursive=True)]
    rows = [json.loads(line) for part in parts for line in files.read(part).splitlines()]
    assert sorted(row["cents"] for row in rows) == [5, 10, 15, 20, 25, 30]
    assert {row["customer"] for row in rows} == {"ada"}
    assert list(files.list(f"{s3_root}/checkpoints", recursive=True))


def test_every_scheme_is_in_the_table() -> None:
    stores = set(registry._factories) - {"file"}
    table = TEXT.partition("| Scheme |")[2].partition("\n\n")[0]
    assert {name for name in stores if f"`{name}://" in table} == stores


def test_the_servers_of_the_tests_are_in_the_table() -> None:
    for service in (SeaweedFS, Azurite):
        assert service.name.partition("(")[2].strip(")") in TEXT
