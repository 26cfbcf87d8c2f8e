"""Operator state of each mode in jobs: rescaled while they run, restored, forked and claimed."""

from __future__ import annotations

import random
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from millrace.common.config import options
from millrace.common.config.configuration import Configuration
from millrace.common.config.memory_size import MemorySize
from millrace.common.types.batch import RowBatch
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.declared_state import DeclaredValue, declared_table
from millrace.runtime.epoch import EpochContext
from millrace.runtime.operator import Operator
from millrace.runtime.operator_state_declaration import OperatorStateDeclaration
from millrace.state.redistribution_mode import RedistributionMode
from millrace.testing import run_local

NUMBERS = 80
ELEMENTS = OperatorStateDeclaration("elements", RedistributionMode.SPLIT)
FILES = OperatorStateDeclaration("files", RedistributionMode.SPLIT, dropped_on_fork=True)
ALL = OperatorStateDeclaration("all", RedistributionMode.UNION)
RULES = OperatorStateDeclaration("rules", RedistributionMode.BROADCAST)
WATERMARK = OperatorStateDeclaration("watermark", RedistributionMode.SMALLEST_WATERMARK)
TOTAL = OperatorStateDeclaration("total", RedistributionMode.MERGE, sum)


class Owner(Operator):
    """Has a state of each mode, and tells what is in them when it begins and after each epoch."""

    operator_states = ELEMENTS, FILES, ALL, RULES, WATERMARK, TOTAL

    def open(self) -> None:
        self._lists = [declared_table(self, of) for of in (ELEMENTS, FILES, ALL)]
        self._rules = declared_table(self, RULES)
        self._values = [DeclaredValue(self, of) for of in (WATERMARK, TOTAL)]
        self._restored = False

    def restore(self) -> None:
        self._restored = True

    def begin_epoch(self, epoch: EpochContext) -> None:
        if self._restored:
            self._tell("restored")
        self._restored, self._epoch = False, epoch.number

    def process(self, values: list[Any], timestamps: list[int] | None) -> None:
        for table in self._lists:
            number = max((n for _, n in table.data), default=-1)
            for value in values:
                number += 1
                table.put((self.context.subtask_index, number), value)

    def end_epoch(self, ended: bool) -> None:
        self._rules.put("epoch", self._epoch)
        for state in self._values:
            state.put(10 * self._epoch + self.context.subtask_index)
        self._tell("kept")

    def _tell(self, when: str) -> None:
        content = {
            **{
                of.name: [table.data[place] for place in sorted(table.data)]
                for of, table in zip((ELEMENTS, FILES, ALL), self._lists, strict=True)
            },
            "rules": dict(self._rules.data),
            "watermark": self._values[0].get(),
            "total": self._values[1].get(),
        }
        context = self.context
        told = (when, context.subtask_index, context.parallelism, content)
        self.output.emit(RowBatch([told], None))


def run(directory: Path, parallelism: int, act: Any = None, **settings: Any) -> list[Any]:
    """What the owners told, an epoch after the other; ``act`` is done after each epoch."""
    configuration = Configuration()
    configuration.set(options.SAVEPOINT_DIR, str(directory / "savepoints"))
    for key, value in settings.items():
        configuration.set(getattr(options, key), value)
    with run_local(1, epoch_records=2, checkpoint_dir=str(directory / "ckpt")) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism).enable_checkpointing(0)
        numbers = env.from_collection(range(NUMBERS)).uid("numbers").rebalance()
        started: Future[Any] = Future()
        if act is not None:
            cluster.listeners.append(lambda progress: act(started.result(60), progress.epochs))
        told = numbers._then("Owner", Owner, None).uid("owner").execute_and_collect("owners")
        started.set_result(told._client)
        return list(told)


def restores(told: list[Any]) -> list[tuple[list[Any], list[Any]]]:
    """What was kept before each change of the parallelism, and restored after it, by subtask."""
    changes = []
    last: dict[int, Any] = {}
    restored: dict[int, Any] = {}
    known = told[0][2]
    for when, index, parallelism, content in told:
        if parallelism != known:
            if when == "restored":
                restored[index] = content
            if len(restored) == parallelism:
                changes.append((by_index(last), by_index(restored)))
                known, last, restored = parallelism, {}, {}
        elif when == "kept":
            last[index] = content
    return changes


def by_index(contents: dict[int, Any]) -> list[Any]:
    return [contents[index] for index in range(len(contents))]


def check(kept: list[Any], restored: list[Any], forked: bool = False) -> None:
    """By the words of `RedistributionMode`, with other parallelism."""
    everything = {name: [e for c in kept for e in c[name]] for name in ("elements", "files")}
    for index, content in enumerate(restored):
        assert content["elements"] == everything["elements"][index :: len(restored)]
        files = [] if forked else everything["files"][index :: len(restored)]
        assert content["files"] == files
        assert sorted(content["all"]) == sorted(e for c in kept for e in c["all"])
        assert content["rules"] == kept[0]["rules"]
        assert content["watermark"] == min(c["watermark"] for c in kept)
        assert content["total"] == sum(c["total"] for c in kept)


@pytest.mark.parametrize("seed", range(4))
def test_rescaled_while_it_runs(tmp_path: Path, seed: int) -> None:
    """Several times, up and down; every element is in one subtask in the end."""
    chance = random.Random(seed)
    changes = {at: chance.randint(1, 5) for at in (3, 8, 13)}
    told = run(
        tmp_path, 2, lambda client, at: client.rescale(changes[at]) if at in changes else None
    )
    found = restores(told)
    assert found or set(changes.values()) == {2}
    for kept, restored in found:
        check(kept, restored)
    last = {index: content for when, index, _, content in told if when == "kept"}
    width = told[-1][2]
    elements = [e for index in range(width) for e in last[index]["elements"]]
    assert sorted(elements) == list(range(NUMBERS))


@pytest.mark.parametrize("mode", ["NO_CLAIM", "CLAIM"])
@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 5)])
def test_restored_from_a_savepoint(tmp_path: Path, mode: str, before: int, after: int) -> None:
    """A fork leaves to its parent what is the parent's; who claims has it all."""

    def stop(client: Any, at: int) -> None:
        if at == 4:
            client.stop_with_savepoint()

    first = run(tmp_path, before, stop)
    [savepoint] = (tmp_path / "savepoints").iterdir()
    second = run(tmp_path / "second", after, START_FROM=str(savepoint), CLAIM_MODE=mode)
    [(kept, restored)] = restores([*first, *second])
    check(kept, restored, forked=mode == "NO_CLAIM")


def test_a_fork_of_the_same_parallelism_leaves_its_parents_files_too(tmp_path: Path) -> None:
    first = run(tmp_path, 2, lambda client, at: client.stop_with_savepoint() if at == 4 else None)
    [savepoint] = (tmp_path / "savepoints").iterdir()
    for mode, dropped in (("NO_CLAIM", True), ("CLAIM", False)):
        told = run(tmp_path / mode, 2, START_FROM=str(savepoint), CLAIM_MODE=mode)
        kept = {index: content for when, index, _, content in first if when == "kept"}
        begun: dict[int, Any] = {}
        for when, index, _, content in told:
            if when == "restored":
                begun.setdefault(index, content)
        for index in range(2):
            assert begun[index]["elements"] == kept[index]["elements"]
            assert begun[index]["files"] == ([] if dropped else kept[index]["files"])
            assert begun[index]["total"] == kept[index]["total"]


@pytest.mark.parametrize("after", [1, 3])
def test_rows_of_keys_stay_in_the_files_of_a_rescaling(tmp_path: Path, after: int) -> None:
    """The rows are big enough for files, all else is not: the new subtasks need every file."""
    configuration = Configuration()
    configuration.set(options.STATE_INLINE_LIMIT, MemorySize(8_000))
    keys, rounds = 6_000, 2
    with run_local(1, epoch_records=keys, checkpoint_dir=str(tmp_path / "ckpt")) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(2).enable_checkpointing(0)
        numbers = [(n % keys, 1) for n in range(rounds * keys)] + [(0, 1)] * keys
        started: Future[Any] = Future()
        rescaled = []

        def act(progress: Any) -> None:
            if progress.epochs >= rounds and not rescaled:
                rescaled.append(started.result(60).rescale(after))

        cluster.listeners.append(act)
        counts = env.from_collection(numbers).key_by(lambda pair: pair[0]).sum(1)
        told = counts.execute_and_collect("counts")
        started.set_result(told._client)
        last = dict(told)
    assert rescaled
    assert last == {0: rounds + keys, **dict.fromkeys(range(1, keys), rounds)}
