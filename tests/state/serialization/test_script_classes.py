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
