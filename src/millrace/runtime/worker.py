"""Runs the subtasks of one task of a level, and passes on buffers for later levels.

Subtasks stay in the worker process between epochs. They are caches of state that can be restored:
any of them may be dropped.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from functools import partial

from millrace.runtime.buffer import Buffer, BufferKind
from millrace.runtime.epoch import EpochPlan
from millrace.runtime.epoch_subtask import EpochSubtask
from millrace.runtime.logs.log_origin import LogOrigin, current_log_origin, enter_log_origin
from millrace.runtime.logs.worker_log import finish_prints
from millrace.runtime.operator import wall_clock
from millrace.runtime.program import Program, Stage
from millrace.runtime.subtask import Clock, SegmentWriter, Subtask
from millrace.runtime.watchdog import Watchdog
from millrace.state.delta_payload import Loader

Element = tuple[int, bytes]
"""(Task of the next level, packed buffer)."""

_watchdog = Watchdog()
"""Watchdog of this process. Its thread starts with the first subtask, after any fork."""


class Worker:
    """Holds and runs the subtasks of this process, ordered from the least recently used one.

    Args:
        source_clock: clock of source readers.
        interruptible: whether a KeyboardInterrupt passes through, because the program itself runs
            in this process. Else it is a failure of the function that raises it.
        watchdog: watchdog for slow subtasks. None for the watchdog of the process.
    """

    def __init__(
        self,
        name: str = "",
        source_clock: Clock = wall_clock,
        interruptible: bool = False,
        watchdog: Watchdog | None = None,
    ) -> None:
        self._subtasks: OrderedDict[tuple[str, int, int], EpochSubtask] = OrderedDict()
        self._widths: dict[str, int] = {}
        """Per run, the number of tasks of its widest level when it last ran here."""
        self._source_clock = source_clock
        self._interruptible = interruptible
        self.watchdog = watchdog or _watchdog
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"

    def run_level(
        self,
        program: Program,
        level: int,
        task: int,
        plan: EpochPlan,
        attempt: int,
        elements: Iterable[bytes],
        load: Loader,
        write_segment: SegmentWriter | None = None,
    ) -> Iterator[Element]:
        """Run the subtasks of one task of a level, one after the other. Buffers for later levels
        and for the driver are passed on."""
        router = _Router(program, level)
        carried = [
            (stage, index)
            for stage in program.stages_at(level)
            for index in program.subtasks_of(stage, task)
        ]
        self.change_width(program, task)
        inbox: dict[tuple[int, int], list[Buffer]] = {(s.id, index): [] for s, index in carried}
        ends: dict[int, list[Buffer]] = {stage.id: [] for stage, _ in carried}
        for element in elements:
            buffer = Buffer.unpack(element)
            wanted = router.stage_of(buffer)
            if wanted is None or wanted.level > level:
                yield router.next_task(buffer), element
            elif buffer.kind == BufferKind.END:
                ends[wanted.id].append(buffer)
            else:
                inbox[wanted.id, buffer.target].append(buffer)
        before = current_log_origin()
        left = tuple((stage.id, index) for stage, index in carried)
        try:
            for number, (stage, index) in enumerate(carried):
                of = (plan.epoch, plan.attempt)
                self.watchdog.begin(plan.job_dir, program.run_id, of, left[number:], stage.name)
                enter_log_origin(LogOrigin(program.job_name, stage.name, index))
                subtask = self.subtask(program, stage, index)
                buffers = inbox.pop((stage.id, index)) + ends[stage.id]
                short = partial(self._is_short_of_memory, program, plan.epoch)
                for made in subtask.run(plan, attempt, buffers, load, write_segment, short):
                    yield router.next_task(made), made.pack()
                if subtask.evicted:
                    del self._subtasks[program.run_id, stage.id, index]
                    subtask.subtask.close()
        finally:
            self.watchdog.end()
            enter_log_origin(before)

    def change_width(self, program: Program, task: int) -> None:
        """Adapt the subtasks to a new number of tasks: drop subtasks that now belong to other
        tasks, and give the new program to the remaining subtasks."""
        width = program.max_width
        if self._widths.setdefault(program.run_id, width) == width:
            return
        self._widths[program.run_id] = width
        for key in [key for key in self._subtasks if key[0] == program.run_id]:
            if key[2] % width == task:
                self._subtasks[key].subtask.update_program(program)
            else:
                self._subtasks.pop(key).subtask.close()

    def change_place(self, program: Program, task: int) -> None:
        """Keep only the subtasks of one resident task. Its number, or the number of tasks, may have
        changed."""
        width = program.max_width
        is_same = self._widths.get(program.run_id, width) == width
        self._widths[program.run_id] = width
        for key in [key for key in self._subtasks if key[0] == program.run_id]:
            if key[2] % width != task:
                self._subtasks.pop(key).subtask.close()
            elif not is_same:
                self._subtasks[key].subtask.update_program(program)

    def held(self) -> list[tuple[str, int, int]]:
        """Run, stage and index of each subtask in this process."""
        return list(self._subtasks)

    def subtask(self, program: Program, stage: Stage, index: int) -> EpochSubtask:
        """The subtask of this process, created if there is none."""
        key = (program.run_id, stage.id, index)
        subtask = self._subtasks.get(key)
        if subtask is None:
            subtask = EpochSubtask(
                Subtask(program, stage, index, self._source_clock),
                self.name,
                self.subtask,
                self._interruptible,
            )
            self._subtasks[key] = subtask
        self._subtasks.move_to_end(key)
        return subtask

    def _is_short_of_memory(self, program: Program, epoch: int) -> bool:
        """Whether the process exceeds the job's memory limit even after dropping subtasks of other
        jobs and subtasks that now run elsewhere.

        If so, the subtask that has just run is evicted: each runs once per epoch, so the least
        recently used one will be needed first.
        """
        cap = program.memory_cap
        while cap is not None and len(self._subtasks) > 1 and resident_bytes() > cap:
            key, oldest = next(iter(self._subtasks.items()))
            if key[0] == program.run_id and oldest.last_epoch >= epoch - 1:
                return True
            self._subtasks.pop(key).subtask.close()
        return False

    def forget(self, run_id: str) -> None:
        """Drop all subtasks of a run."""
        self._widths.pop(run_id, None)
        for key in [key for key in self._subtasks if key[0] == run_id]:
            self._subtasks.pop(key).subtask.close()

    def close_ended(self) -> None:
        """Close the subtasks whose input has ended, because no other process on this host will
        continue with their state."""
        for held in self._subtasks.values():
            if held.subtask.ended:
                held.subtask.close()
        finish_prints()


class _Router:
    """Routes buffers of one level: to a stage of this level, or to a task of the next level."""

    def __init__(self, program: Program, level: int) -> None:
        stages = {stage.id: stage for stage in program.stages}
        self._stages = stages
        self._targets = {edge.id: stages[edge.target_stage] for edge in program.edges}
        last = level + 1 >= program.levels
        self._next = 1 if last else program.width(level + 1)
        self._width = program.max_width

    def stage_of(self, buffer: Buffer) -> Stage | None:
        """Stage that a buffer is for. None if it is an acknowledgement, which is for the driver."""
        if buffer.kind == BufferKind.DELIVERED:
            return self._stages[buffer.edge]
        return None if buffer.kind == BufferKind.ACK else self._targets[buffer.edge]

    def next_task(self, buffer: Buffer) -> int:
        """Task of the next level to which a buffer is sent. If the buffer is for a later level,
        this task forwards it."""
        return buffer.target % self._width % self._next


def resident_bytes() -> int:
    """Bytes of memory that this process holds now (Linux), or its peak elsewhere."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
