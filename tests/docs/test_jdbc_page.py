"""The page about JDBC: its program runs as it stands there, against a real database."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from postgresql import PostgreSQL

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "jdbc.md"


def test_the_totals_of_the_page(
    postgresql: PostgreSQL, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    page = ModuleType("jdbc_page")
    sys.modules["jdbc_page"] = page
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    database = postgresql.create_database()
    [table] = re.findall(r"`(CREATE TABLE .*?)`", text)
    postgresql.run_sql(table, database)
    with run_local(checkpoint_dir=str(tmp_path)):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(1)
        url = f"jdbc:postgresql://127.0.0.1:{postgresql.port}/{database}"
        page.totals(env, url, postgresql.user, postgresql.password)
        env.execute("totals")
        again = page.JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url)
        options = again.with_user_name(postgresql.user).with_password(postgresql.password).build()
        page.cents(env, options)
        env.execute("cents")
        assert sorted(capsys.readouterr().out.split()) == ["6", "7"]
        page.looked_up(env, options)
        env.execute("looked up")
    assert capsys.readouterr().out in text
    found = postgresql.run_sql("SELECT * FROM totals ORDER BY customer", database)
    assert found == "ada|6\nbob|7"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert postgresql.password.encode() not in path.read_bytes(), path
