"""The page about changes of PostgreSQL: its program runs as it stands there, against a server."""

from __future__ import annotations

import re
import sys
from itertools import islice
from pathlib import Path
from types import ModuleType

import psycopg
from kafka_topics import WallClock
from postgresql import PostgreSQL

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "postgres-cdc.md"


def test_the_open_amounts_of_the_page(postgresql: PostgreSQL, tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    page = ModuleType("postgres_cdc_page")
    sys.modules["postgres_cdc_page"] = page
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    postgresql.run_sql("create database shop")
    with psycopg.connect(postgresql.url("shop"), autocommit=True) as sql:
        sql.execute("create table orders (id int primary key, customer text, cents int)")
        sql.execute("alter table orders replica identity full")
        sql.execute("insert into orders values (1, 'ada', 500)")
        with run_local(clock=WallClock(), checkpoint_dir=str(tmp_path)):
            env = StreamExecutionEnvironment.get_execution_environment()
            env.set_parallelism(1)
            place = "127.0.0.1", postgresql.port, postgresql.password
            with page.open_amounts(env, *place).execute_and_collect() as records:
                assert list(islice(records, 1)) == ["ada: 500"]
                sql.execute("insert into orders values (2, 'ada', 70)")
                sql.execute("update orders set cents = 80 where id = 2")
                sql.execute("delete from orders where id = 1")
                found = list(islice(records, 4))
    assert found == ["ada: 570", "ada: 500", "ada: 580", "ada: 80"]
