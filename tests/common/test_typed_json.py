"""JSON is read into classes by several threads at once."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

import millrace
from millrace.common.typed_json import decode_json, learn


@dataclass
class Order:
    """Something to read."""

    id: int
    items: list[str]


def test_a_dataclass() -> None:
    assert decode_json(b'{"id": 1, "items": ["a"]}', Order) == Order(1, ["a"])
    assert learn(Order) is learn(Order)


def test_something_else() -> None:
    with pytest.raises(msgspec.ValidationError, match="Expected `int`, got `str` - at `\\$.id`"):
        decode_json('{"id": "1", "items": []}', Order)


# msgspec.json.decode in place of decode_json ends this process by SIGSEGV
MANY_THREADS = """
import dataclasses, gc, json, sys, threading
from millrace.common.typed_json import decode_json

sys.setswitchinterval(1e-6)
gc.set_threshold(20, 2, 2)
KINDS = ["int", "str", "dict[str, list[int]]", "float | None", "list[dict[str, str]]"] * 4
VALUES = [1, "x", {"a": [1]}, None, [{"a": "b"}]] * 4
TEXT = json.dumps({f"f{n}": value for n, value in enumerate(VALUES)} | {"inner": {"a": 1}})
read = []

def made(name, annotations):
    return dataclasses.dataclass(type(name, (), {"__annotations__": annotations}))

def work(kind, begin):
    begin.wait()
    read.append(decode_json(TEXT, kind).inner.a)

for number in range(150):
    Inner = made("Inner", {"a": "int"})
    kind = made("Outer", {f"f{n}": kind for n, kind in enumerate(KINDS)} | {"inner": "Inner"})
    begin = threading.Barrier(6)
    threads = [threading.Thread(target=work, args=(kind, begin)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
assert read == [1] * 900
"""


def test_threads_learn_a_dataclass_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", MANY_THREADS],
        env={"PYTHONPATH": str(Path(millrace.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
