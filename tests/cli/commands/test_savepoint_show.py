"""``millrace savepoint show``: everything about one savepoint or checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from millrace.common import Types
from millrace.common.serialization import Encoder
from millrace.connectors.file_sink import FileSink
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import CheckpointedFunction, MapFunction
from millrace.datastream.state import ListStateDescriptor
from millrace.testing import MiniJob, run_local

ID, PARENT = "1" * 12, "2" * 12


def test_everything_for_people(place: Any, millrace: Any) -> None:
    path = place.savepoint("aab", id=ID, parent=PARENT, parallelism=2)
    shown = millrace("savepoint", "show", path)
    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert lines[0] == f"savepoint {path}"
    assert "  job          count (count-6c35493a)" in lines
    assert f"  id           {ID}" in lines
    assert f"  parent       {PARENT}" in lines
    assert any(line.startswith("  size         ") and " files" in line for line in lines)
    assert "  parallelism  2, at most 128" in lines
    assert "  letters (uid letters) x 1" in lines
    assert "  count (uid count) x 2" in lines
    assert "    no split is being read" in lines
    assert any(line.startswith("    count (value") and line.endswith(": 2 entries")
               for line in lines)  # fmt: skip
    assert "@" not in shown.out


def test_everything_for_machines(place: Any, millrace: Any) -> None:
    path = place.savepoint("aab", id=ID, parallelism=2)
    told = json.loads(millrace("savepoint", "show", "--json", "--all", path).out)
    assert (told["kind"], told["id"], told["parent"]) == ("savepoint", ID, None)
    assert told["size"] == sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    [count] = [operator for operator in told["operators"] if operator["uid"] == "count"]
    states = {state["name"]: state["entries"] for state in count["states"]}
    assert states == {"count": 2, "@event-timers": 0, "@processing-timers": 0}


def test_states_need_not_be_read(place: Any, millrace: Any) -> None:
    told = json.loads(millrace("savepoint", "show", "--json", "--no-count", place.savepoint()).out)
    states = [state for operator in told["operators"] for state in operator["states"]]
    assert [state["entries"] for state in states if state["name"] == "count"] == [None]


def test_a_checkpoint_or_the_newest_of_a_job(place: Any, millrace: Any) -> None:
    job_dir = place.run("ab")
    for path in (job_dir, job_dir / "chk-1"):
        assert "--allow-pickle" in millrace("savepoint", "show", path).err
        shown = millrace("savepoint", "show", "--allow-pickle", path)
        assert shown.out.startswith(f"checkpoint {job_dir / 'chk-1'}\n")


def test_the_beginning_of_an_id_is_enough(place: Any, millrace: Any) -> None:
    path = place.savepoint(id="abcdef012345")
    place.savepoint(id="abcd00000000")
    assert millrace("savepoint", "show", "abcdef").out.startswith(f"savepoint {path}\n")
    ambiguous = millrace("savepoint", "show", "abcd")
    assert ambiguous.code == 1
    assert "abcd could be " in ambiguous.err


def test_nothing_there(place: Any, millrace: Any) -> None:
    told = millrace("savepoint", "show", place.directory / "none")
    assert told.code == 1
    assert told.err.startswith("millrace: there is no complete savepoint or checkpoint at")


class Remember(MapFunction, CheckpointedFunction):
    """A union list of what this subtask has seen."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.seen = store.get_union_list_state(ListStateDescriptor("seen", Types.LONG()))

    def snapshot_state(self, context: Any) -> None:
        pass

    def map(self, value: Any) -> Any:
        self.seen.add(value)
        return value


def test_a_union_list_is_what_all_subtasks_have(tmp_path: Path, millrace: Any) -> None:
    with MiniJob(2, checkpoint_dir=str(tmp_path)) as job:
        source = job.source()
        job.collect(source.stream.rebalance().map(Remember()).uid("remember"))
        source.push(*range(6))
        job.process()
        (job_dir,) = tmp_path.iterdir()
        told = millrace("savepoint", "show", "--allow-pickle", job_dir)
    assert "    seen (union-list of LONG): 6 entries" in told.out.splitlines()


def test_what_has_been_committed_is_not_pending(place: Any, millrace: Any) -> None:
    """The checkpoint names it, for it was complete before the commit."""
    with run_local(checkpoint_dir=str(place.checkpoints)):
        env = StreamExecutionEnvironment.get_execution_environment()
        encoder = Encoder.simple_string_encoder()
        sink = FileSink.for_row_format(str(place.directory / "out"), encoder).build()
        env.from_collection(["a", "b"]).sink_to(sink)
        env.execute("files")
    [committed] = place.checkpoints.glob("files-*/chk-*/_committed")
    words = ("savepoint", "show", "--json", "--allow-pickle", committed.parent)
    assert json.loads(millrace(*words).out)["pending_commits"] == {}
    assert "pending commit" not in millrace(*words[:2], *words[3:]).out
    committed.unlink()
    assert list(json.loads(millrace(*words).out)["pending_commits"].values()) == [1]
    assert "1 pending commit" in millrace(*words[:2], *words[3:]).out
