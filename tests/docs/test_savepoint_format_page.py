"""The example of the page on the format of savepoints, run with pandas alone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from millrace.common import Types
from millrace.datastream import KeyedProcessFunction
from millrace.datastream.state import ValueStateDescriptor
from millrace.state.canonical.savepoint import write_canonical_savepoint
from millrace.state.checkpoint.snapshot import open_snapshot
from millrace.testing import MiniJob

PAGE = Path(__file__).parents[2] / "docs" / "savepoints" / "format.md"


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield value


def test_pandas_reads_a_savepoint(tmp_path: Path) -> None:
    """In a process that has never heard of millrace."""
    with MiniJob(2, checkpoint_dir=str(tmp_path / "jobs")) as job:
        source = job.source()
        job.collect(source.stream.key_by(lambda word: word).process(Count()).uid("count"))
        source.push(*"abracadabra")
        job.process()
        (job_dir,) = (tmp_path / "jobs").iterdir()
        found = open_snapshot(job_dir)
        deltas = found.deltas.by_subtask()
        write_canonical_savepoint(tmp_path / "savepoint", str(job_dir), found.manifest, deltas, {})
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys\nassert 'millrace' not in sys.modules"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "count count 5" in lines
    assert [line.split() for line in lines[-5:]] == [
        ["a", "5"], ["b", "2"], ["c", "1"], ["d", "1"], ["r", "2"]
    ]  # fmt: skip
