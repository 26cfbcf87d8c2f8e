"""Operator chains: creates the operators of a stage and connects them with each other and with
exchanges."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from millrace.common.functions.output_tag import OutputTag
from millrace.runtime.buffer import MAX_WATERMARK, MIN_WATERMARK
from millrace.runtime.declared_output import declared_output
from millrace.runtime.epoch import OperatorFigures
from millrace.runtime.exchange import create_exchange
from millrace.runtime.exchange_output import ExchangeOutput
from millrace.runtime.operator import LoopTail, Operator, OperatorContext, wall_clock
from millrace.runtime.operator_input import OperatorInput, operator_input
from millrace.runtime.output import Output, combined
from millrace.runtime.previews import PreviewTap
from millrace.runtime.program import OperatorNode, Program, Stage
from millrace.runtime.runtime_context import StreamRuntimeContext
from millrace.runtime.waker import Waker
from millrace.state.store import SubtaskState


class OperatorChain:
    """Operators of one subtask, head first, and the exchanges at its ends."""

    def __init__(
        self, program: Program, stage: Stage, subtask: int, state: SubtaskState,
        clock: Callable[[], int], attempt_number: int = 0,
        source_clock: Callable[[], int] = wall_clock, waker: Waker | None = None,
    ) -> None:  # fmt: skip
        self._program = program
        self._attempt_number = attempt_number
        self._stage = stage
        self._subtask = subtask
        self._source_clock = source_clock
        self._waker = waker or Waker()
        self._tails: dict[str, LoopTail] = {}
        self.exchanges: dict[int, ExchangeOutput] = {}
        self._inputs: list[list[OperatorInput]] = [[] for _ in stage.nodes]
        """Per operator, its input within the chain."""
        self._counted: list[list[OperatorInput | ExchangeOutput]] = [[] for _ in stage.nodes]
        """Per operator, one destination of each of its outputs."""
        self.operators: list[Operator] = [_made(node) for node in stage.nodes]
        for index in reversed(range(len(self.operators))):
            self._setup(index, state, clock)
        self._waiting = [op for op in self.operators if type(op).room is not Operator.room]
        """Operators that may have to wait for something outside."""

    @property
    def head(self) -> Operator:
        """Operator that takes the subtask's input."""
        return self.operators[0]

    def room(self) -> int | None:
        """Number of records that all operators can take now without waiting. None if no operator
        ever waits.
        """
        if not self._waiting:
            return None
        return min((room for op in self._waiting if (room := op.room()) is not None), default=None)

    def inputs(self) -> dict[int, Output]:
        """Input of the head operator for each incoming edge, by edge id."""
        edges = (edge for edge in self._program.edges if edge.id in self._stage.inputs)
        return {edge.id: operator_input(self.head, edge.input_number) for edge in edges}

    def begin_epoch(self, epoch: int, attempt: int, hands_over: bool = False) -> None:
        """Begin a new epoch, run by this task attempt, and reset the counts. With
        ``hands_over``, targets of the same task run in this process, and get records
        immediately."""
        for exchange in self.exchanges.values():
            exchange.begin_epoch(epoch, attempt)
            exchange.hands_over = hands_over
        for inputs in self._inputs:
            for one in inputs:
                one.records = 0

    def figures(self, taken: int) -> tuple[OperatorFigures, ...]:
        """Records in and out of each operator in this epoch. ``taken`` is the number of records
        that the head received."""
        return tuple(
            OperatorFigures(
                sum(one.records for one in inputs) if index else taken,
                sum(output.records for output in counted),
                operator.watermark,
            )
            for index, (operator, inputs, counted) in enumerate(
                zip(self.operators, self._inputs, self._counted, strict=True)
            )
        )

    @property
    def has_emitted(self) -> bool:
        """Whether an operator has emitted records in this epoch."""
        inputs = (one for inputs in self._inputs for one in inputs)
        outputs = self.exchanges.values()
        return any(one.records for one in inputs) or any(output.has_emitted for output in outputs)

    @property
    def holds_end(self) -> bool:
        """Whether an operator delays the end of the input."""
        return any(operator.holds_end for operator in self.operators)

    @property
    def holds_barrier(self) -> bool:
        """Whether an operator delays the end of the epoch."""
        return any(operator.holds_barrier for operator in self.operators)

    @property
    def watermarks(self) -> list[int]:
        """Last watermarks of the operators, in ms since the epoch."""
        return [operator.watermark for operator in self.operators]

    def restore(self, watermark: int) -> None:
        """Let all operators refresh from the tables, after a restore, replay or roll-back has
        changed the tables.

        ``watermark`` is the watermark of the subtask's input, in ms since the epoch.
        """
        self.head.watermark = watermark
        for operator, node in zip(self.operators, self._stage.nodes, strict=True):
            operator.restore()
            if self._program.available_now and operator.watermark == MAX_WATERMARK:
                operator.watermark = MIN_WATERMARK  # the job had ended, and goes on after all
            for route in node.routes:
                if route.node is not None:
                    self.operators[route.node].watermark = operator.watermark
                elif route.edge is not None:
                    # the next stage may have lost it: the exchange sends it again
                    self.exchanges[route.edge].restored_watermark = operator.watermark

    def idle_exchanges(self, idle: bool) -> dict[int, bool]:
        """Whether each outgoing edge is idle, by edge id. ``idle`` says whether the subtask's
        input is idle."""
        edges: dict[int, bool] = {}
        inputs = {0: idle}
        for index, (operator, node) in enumerate(
            zip(self.operators, self._stage.nodes, strict=True)
        ):
            status = operator.output_idle(inputs[index])
            inputs.update((r.node, status) for r in node.routes if r.node is not None)
            edges.update((r.edge, status) for r in node.routes if r.edge is not None)
        return edges

    def _setup(self, index: int, state: SubtaskState, clock: Callable[[], int]) -> None:
        node = self._stage.nodes[index]
        context = OperatorContext(
            uid=node.uid,
            name=node.name,
            subtask_index=self._subtask,
            parallelism=self._stage.parallelism,
            max_parallelism=self._program.max_parallelism,
            state=state,
            clock=clock,
            batch_mode=self._program.batch_mode,
            run_id=self._program.run_id,
            job_name=self._program.job_name,
            attempt_number=self._attempt_number,
            job_parameters=self._program.job_parameters,
            place=index,
            source_clock=self._source_clock,
            poll_interval=self._program.poll_interval,
            watermark_interval=self._program.watermark_interval,
            waker=self._waker,
            tails=self._tails,
        )
        outputs = self._outputs(index, context)
        main = combined(outputs.pop(None, []))
        if self._program.previews:
            main = PreviewTap(main, self._program.run_id, node.uid, self._subtask)
        operator = self.operators[index]
        if operator.output_wrapper is not None:
            main = operator.output_wrapper(main)
        side = {
            tag: declared_output(combined(tagged), tag.type_info)
            for tag, tagged in outputs.items()
            if tag is not None
        }
        operator.setup(context, main, side)

    def _outputs(
        self, index: int, context: OperatorContext
    ) -> dict[OutputTag[Any] | None, list[Output]]:
        outputs: dict[OutputTag[Any] | None, list[Output]] = {}
        for route in self._stage.nodes[index].routes:
            output: OperatorInput | ExchangeOutput
            if route.node is not None:
                output = operator_input(self.operators[route.node])
                self._inputs[route.node].append(output)
            else:
                assert route.edge is not None
                output = self._exchange(route.edge)
                output.open(StreamRuntimeContext(context, None))
            if route.tag not in outputs:
                self._counted[index].append(output)
            outputs.setdefault(route.tag, []).append(output)
        return outputs

    def _exchange(self, edge_id: int) -> ExchangeOutput:
        program = self._program
        edge = next(edge for edge in program.edges if edge.id == edge_id)
        target = next(stage for stage in program.stages if stage.id == edge.target_stage)
        exchange = create_exchange(
            edge,
            self._subtask,
            self._stage.parallelism,
            target.parallelism,
            program.buffer_records,
            program.max_parallelism,
        )
        exchange.tasks = program.max_width
        self.exchanges[edge_id] = exchange
        return exchange


def _made(node: OperatorNode) -> Operator:
    operator = pickle.loads(node.factory)()
    assert isinstance(operator, Operator)
    return operator
