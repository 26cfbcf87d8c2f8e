"""The page about Redis: its program runs as it stands there, against a real server."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

from redis_server import RedisServer
from wall_clock import WallClock

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "redis.md"


def test_the_orders_of_the_page(redis_server: RedisServer, tmp_path: Path) -> None:
    import redis

    client = redis.Redis.from_url(redis_server.url, decode_responses=True)
    client.flushall()
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    page = ModuleType("redis_page")
    sys.modules["redis_page"] = page
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    orders = [{"customer": "ada", "id": n} for n in range(5)] + [{"customer": "bob", "id": 9}]
    with run_local(clock=WallClock(), checkpoint_dir=str(tmp_path)):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(1)
        page.write_orders(env.from_collection(orders), redis_server.url)
        env.execute("orders")
    assert client.mget("last:ada", "last:bob") == ["4", "9"]
    assert client.hgetall("orders") == {"ada": "5", "bob": "1"}
    assert 0 < client.ttl("last:ada") <= 7 * 86_400
    client.close()
