"""The fraud application: killed, resumed, upgraded, and compared with a plain computation."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import fraud_reference as reference
import pytest
from application import EXAMPLES, Application
from payments import DAY, FILES, FIRST, HOUR, MINUTE, deliver, files

pytestmark = [pytest.mark.spark, pytest.mark.fault]


@pytest.mark.turns(7)
@pytest.mark.usefixtures("spark")
def test_three_days_of_fraud(tmp_path: Path) -> None:
    """Day 1; new rules; day 2 with kill -9 in the middle; an upgrade; day 3."""
    live_through(Application(tmp_path, "fraud"))


def live_through(application: Application) -> None:
    directory = application.directory

    def rules(kind: str, name: str) -> None:
        deliver(directory / "rules" / kind, name, (EXAMPLES / "fraud/rules" / name).read_text())

    def watermark() -> int:
        return application.progress().get("watermark") or 0

    def end_of(day: int) -> int:
        return FIRST + (day - 1) * DAY + 21 * HOUR - 5 * MINUTE - 1

    with application:
        rules("patterns", "probe-1.jsonl")
        rules("limits", "limits-1.jsonl")
        application.start_process("fraud/fraud.py")
        application.wait_for(lambda: application.progress().get("records") == 3)
        arrive(directory, 1)
        application.wait_for(lambda: watermark() == end_of(1))
        read = application.progress()["records"]
        rules("patterns", "probe-2.jsonl")
        rules("limits", "limits-2.jsonl")
        application.wait_for(lambda: application.progress()["records"] == read + 2)
        arrive(directory, 2, until=FILES // 2)
        application.wait_for(lambda: watermark() > end_of(1))
        application.kill()
        arrive(directory, 2, since=FILES // 2)

        application.start("fraud/fraud.py", resume=True)
        application.wait_for(lambda: watermark() == end_of(2))
        savepoint = application.stop()

        application.start("fraud/fraud_2.py", parallelism=3, savepoint=savepoint)
        arrive(directory, 3)
        application.wait_for(lambda: watermark() == end_of(3))
        application.stop("--drain")

        found = Counter(map(told, application.written("alerts")))
        assert found == reference.alerts()
        assert {kind for kind, _, _ in found} == {
            "probe 1", "probe 2", "two places", "daily limit", "third country",
        }  # fmt: skip
        assert (
            Counter(
                (one["country"], one["hour"], one["cents"])
                for one in application.written("turnover")
            )
            == reference.turnover()
        )
        broken = Counter((one["file"], one["line"]) for one in application.written("broken"))
        assert broken == Counter(map(tuple, broken_lines()))
        [ahead] = application.written("ahead")
        [late] = application.written("late")
        assert (ahead["card"], late["card"]) == ("c08", "c07")
        [rejected] = application.written("rejected")
        assert "got '=<'" in rejected["reason"]


def arrive(directory: Path, day: int, since: int = 0, until: int = FILES) -> None:
    for name, text in list(files(day).items())[since:until]:
        deliver(directory / "inbox", name, text)


def told(alert: dict[str, Any]) -> reference.Found:
    return alert["kind"], alert["card"], tuple(alert.get("cents", ()))


def broken_lines() -> list[list[Any]]:
    return [
        [name, number]
        for day in (1, 2, 3)
        for name, text in files(day).items()
        for number, line in enumerate(text.splitlines(), 1)
        if not ((line.endswith("}") and '"time": 1' in line) or '"time": 4' in line)
    ]
