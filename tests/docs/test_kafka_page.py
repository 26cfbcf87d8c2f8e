"""The page about Kafka: its program runs as it stands there, against a real broker."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType

from kafka_broker import KafkaBroker
from kafka_topics import Topics, WallClock

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "kafka.md"


def test_the_totals_of_the_page(kafka_broker: KafkaBroker, tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    page = ModuleType("kafka_page")
    sys.modules["kafka_page"] = page
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    topics = Topics(kafka_broker.bootstrap_servers)
    orders, totals = topics.create(2, "orders"), topics.create(2, "totals")
    for partition in range(2):
        topics.send(orders, ['{"customer": "ada", "cents": 5}'] * 3, partition)
    with run_local(clock=WallClock(), checkpoint_dir=str(tmp_path)):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(1)
        page.totals(env, kafka_broker.bootstrap_servers)
        env.execute("totals")
    found = topics.read(totals)
    assert {message.key() for message in found} == {b"ada"}
    assert [json.loads(message.value())["cents"] for message in found] == [5, 10, 15, 20, 25, 30]
