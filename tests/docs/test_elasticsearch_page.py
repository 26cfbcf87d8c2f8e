"""The page about Elasticsearch: its program runs as it stands there, against a real cluster."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from opensearch import OpenSearch

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "elasticsearch.md"


@pytest.mark.connectors
def test_the_users_of_the_page(
    opensearch: OpenSearch, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    page = ModuleType("elasticsearch_page")
    monkeypatch.setitem(sys.modules, "elasticsearch_page", page)
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    opensearch.request("PUT", "/users", {"mappings": {"properties": {"born": {"type": "long"}}}})
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        page.users(env, opensearch.url)
        env.execute("users")
    assert opensearch.documents("users") == {"1": {"id": 1, "name": "Ada", "born": 1815}}
    assert capsys.readouterr().out == "left out: 3 mapper_parsing_exception\n"
