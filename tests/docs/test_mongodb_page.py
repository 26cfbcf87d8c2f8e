"""The page about MongoDB: its program runs as it stands there, against a real server."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ferretdb import FerretDB

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "mongodb.md"


@pytest.mark.connectors
def test_the_users_of_the_page(
    ferretdb: FerretDB, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import pymongo

    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    page = ModuleType("mongodb_page")
    monkeypatch.setitem(sys.modules, "mongodb_page", page)
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    for part in (page.write_users, page.print_users):
        with run_local():
            env = StreamExecutionEnvironment.get_execution_environment()
            part(env, ferretdb.uri)
            env.execute("users")
    client: Any = pymongo.MongoClient(ferretdb.uri)
    assert list(client.shop.users.find()) == [{"_id": 1, "id": 1, "name": "Ada", "born": 1815}]
    client.close()
    assert capsys.readouterr().out == "{'name': 'Ada', 'born': 1815}\n"
