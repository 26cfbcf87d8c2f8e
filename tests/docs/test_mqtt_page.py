"""The page about MQTT: its program runs as it stands there, against a real server."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from mosquitto import Mosquitto
from wall_clock import WallClock

from millrace.connectors.mqtt.connection import MqttConnection
from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_local

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "mqtt.md"


@pytest.mark.connectors
def test_the_alerts_of_the_page(mosquitto: Mosquitto, tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    page = ModuleType("mqtt_page")
    sys.modules["mqtt_page"] = page
    exec(compile(code, str(PAGE), "exec"), page.__dict__)
    found: list[tuple[str, bytes]] = []
    lost: list[str] = []
    listener = MqttConnection(
        mosquitto.url, "", False, lost.append, lambda m: found.append((m.topic, m.payload))
    )
    assert listener.subscribe(["alerts/#"]) == ""
    with run_local(clock=WallClock(), checkpoint_dir=str(tmp_path)):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(20)
        page.alerts(env, mosquitto.url)
        job = env.execute_async("alerts")
        until = time.monotonic() + 60
        number = 0
        while len(found) < 2:  # the first ones may come before the source has subscribed
            assert time.monotonic() < until, lost
            for celsius in (20, 90):
                reading = json.dumps({"id": f"{number}-{celsius}", "celsius": celsius})
                listener.client.publish("sensors/oven/temperature", reading, 1)
            number += 1
            time.sleep(0.05)
        job.cancel().result()
    listener.close()
    assert set(found) == {("alerts/oven", b"oven 90")}
