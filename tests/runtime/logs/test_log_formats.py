from __future__ import annotations

import json
import logging
import sys

from millrace.runtime.logs.log_formats import JsonLogFormat, TextLogFormat, placed, use_format


def record(**fields) -> logging.LogRecord:
    known = {"name": "shop", "levelname": "ERROR", "msg": "no price of %s", "args": ("tea",)}
    return logging.makeLogRecord({**known, "created": 1.25, **fields})


def failed() -> logging.LogRecord:
    try:
        raise KeyError("tea")
    except KeyError:
        return record(exc_info=sys.exc_info(), job="j", operator="Map", subtask=2)


def test_text() -> None:
    lines = TextLogFormat().format(failed()).splitlines()
    assert lines[0].endswith(" ERROR shop: [Map 2] no price of tea")
    assert lines[-1] == "KeyError: 'tea'"
    assert TextLogFormat().format(record()).endswith(" ERROR shop: no price of tea")


def test_json_is_one_line() -> None:
    line = JsonLogFormat().format(failed())
    assert "\n" not in line
    content = json.loads(line)
    assert content["time"] == "1970-01-01T00:00:01.250Z"
    assert content["message"] == "no price of tea"
    assert (content["job"], content["operator"], content["subtask"]) == ("j", "Map", 2)
    assert content["exception"].endswith("KeyError: 'tea'")
    assert json.loads(JsonLogFormat().format(record())).keys().isdisjoint(["job", "operator"])


def test_handlers_of_others_keep_their_format() -> None:
    logger = logging.getLogger("tests.formats")
    ours, others = placed(logging.StreamHandler()), logging.StreamHandler()
    logger.handlers = [ours, others]
    use_format(True, logger.name)
    assert isinstance(ours.formatter, JsonLogFormat)
    assert others.formatter is None
