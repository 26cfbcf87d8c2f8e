"""The page about HDFS: its program runs as it stands there, against a real namenode."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from millrace.datastream import StreamExecutionEnvironment
from millrace.filesystem.registry import file_system_of
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "hdfs.md"

pytestmark = pytest.mark.connectors


def test_the_program_of_the_page(hdfs_root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    page = ModuleType("hdfs_page")
    monkeypatch.setitem(sys.modules, "hdfs_page", page)
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    files = file_system_of(hdfs_root)
    for number in range(2):
        lines = "".join(json.dumps({"cents": cents}) + "\n" for cents in (5, 1000 + number))
        files.publish(f"{hdfs_root}/orders/{number}.jsonl", [lines.encode()])
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment(page.settings(hdfs_root))
        page.large_orders(env, hdfs_root)
        env.execute("large orders")
    parts = [f.location for f in files.list(f"{hdfs_root}/large", recursive=True)]
    rows = [json.loads(line) for part in parts for line in files.read(part).splitlines()]
    assert sorted(row["cents"] for row in rows) == [1000, 1001]
    assert list(files.list(f"{hdfs_root}/checkpoints", recursive=True))
