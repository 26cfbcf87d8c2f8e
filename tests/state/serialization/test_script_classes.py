"""Classes of a script, in one run of it and in the next one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
from dataclasses import dataclass
from pathlib import Path

import cloudpickle

from millrace.state.serialization.script_classes import track_script_classes


@dataclass
class Place:
    name: str


class Other:
    pass


track_script_classes()
track_script_classes()
stored = Path(sys.argv[1])
if stored.exists():
    place = cloudpickle.loads(stored.read_bytes())
    print(type(place) is Place, place == Place("Oslo"))
else:
    stored.write_bytes(cloudpickle.dumps(Place("Oslo")))
"""


def run(script: Path, stored: Path) -> str:
    command = [sys.executable, str(script), str(stored)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_value_of_an_earlier_run_is_of_the_same_class(tmp_path: Path) -> None:
    script, stored = tmp_path / "script.py", tmp_path / "stored"
    script.write_text(SCRIPT)
    run(script, stored)
    assert run(script, stored) == "True True"
    script.write_text(SCRIPT + "\n# changed: its classes are others\n")
    assert run(script, stored) == "False False"


ALIKE = """
from collections import namedtuple
from enum import Enum

import cloudpickle

from millrace.state.serialization.script_classes import track_script_classes


def made(*names):
    class Made:
        fields = names

    return Made


Vertex = namedtuple("Row", "id name")
Edge = namedtuple("Row", "source target weight")
First, Second = made("a"), made("b", "c")
Again = First
Colour, Size = Enum("E", "RED BLUE"), Enum("E", "BIG SMALL")
values = [Vertex(1, "a"), Edge(1, 2, 3.0), First(), Second(), Colour.RED, Size.BIG]
track_script_classes()
for value in values:
    print(type(cloudpickle.loads(cloudpickle.dumps(value))) is type(value))

Former, First = First, made("d")  # before the next job
track_script_classes()
for value in (Former(), First()):
    print(type(cloudpickle.loads(cloudpickle.dumps(value))) is type(value))
Later = made("e")
track_script_classes()
former = cloudpickle.dumps(Later())
del Later
Later = made("f")
track_script_classes()
print(cloudpickle.loads(cloudpickle.dumps(Later())).fields)
print(cloudpickle.loads(former).fields)
"""


def test_classes_of_one_name_stay_apart(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ALIKE)
    assert run(script, tmp_path).splitlines() == 8 * ["True"] + ["('f',)", "('e',)"]
