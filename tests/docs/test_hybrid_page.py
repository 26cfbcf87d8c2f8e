"""The page about HybridSource: its program runs as it stands there, against a real broker."""

from __future__ import annotations

import re
import sys
from itertools import islice
from pathlib import Path
from types import ModuleType

from kafka_broker import KafkaBroker
from kafka_topics import Topics, WallClock

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "hybrid.md"


def test_the_orders_of_the_page(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    page = ModuleType("hybrid_page")
    sys.modules["hybrid_page"] = page
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    for until in 1000, 2000:
        (tmp_path / f"{until}.txt").write_text(f"archived before {until}\n")
    topics = Topics(kafka_broker.bootstrap_servers)
    topic = topics.create(2, "new-orders")
    for time in 1500, 2000, 2500:
        topics.send(topic, [f"sent at {time}"], time // 10 % 2, timestamp=time)
    with run_local(clock=WallClock()):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        orders = page.orders(env, str(tmp_path), kafka_broker.bootstrap_servers)
        with orders.execute_and_collect() as records:
            found = list(islice(records, 4))
    assert sorted(found[:2]) == ["archived before 1000", "archived before 2000"]
    assert sorted(found[2:]) == ["sent at 2000", "sent at 2500"]
