"""Building the operators of a stage and connecting them with each other and with exchanges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.output_tag import OutputTag
from millrace.runtime.exchange import ExchangeOutput, create_exchange
from millrace.runtime.operator import Operator, OperatorContext
from millrace.runtime.output import Output, combined
from millrace.runtime.program import Node, Program, Stage
from millrace.state.store import SubtaskState


class OperatorChain:
    """The operators of one subtask, head first, and the exchanges at its ends."""

    def __init__(
        self, program: Program, stage: Stage, subtask: int, state: SubtaskState,
        clock: Callable[[], int],
    ) -> None:  # fmt: skip
        self._program = program
        self._stage = stage
        self._subtask = subtask
        self.exchanges: dict[int, ExchangeOutput] = {}
        self.operators: list[Operator] = [node.factory() for node in stage.nodes]
        for index in reversed(range(len(self.operators))):
            self._setup(index, state, clock)

    @property
    def head(self) -> Operator:
        """The operator that takes the subtask's input."""
        return self.operators[0]

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
        )
        outputs = self._outputs(node)
        main = combined(outputs.pop(None, []))
        side = {tag: combined(found) for tag, found in outputs.items() if tag is not None}
        self.operators[index].setup(context, main, side)

    def _outputs(self, node: Node) -> dict[OutputTag[Any] | None, list[Output]]:
        outputs: dict[OutputTag[Any] | None, list[Output]] = {}
        for route in node.routes:
            output: Output
            if route.node is not None:
                output = self.operators[route.node]
            else:
                assert route.edge is not None
                output = self._exchange(route.edge)
            outputs.setdefault(route.tag, []).append(output)
        return outputs

    def _exchange(self, edge_id: int) -> ExchangeOutput:
        program = self._program
        edge = next(edge for edge in program.edges if edge.id == edge_id)
        target = next(stage for stage in program.stages if stage.id == edge.target_stage)
        exchange = create_exchange(
            edge, self._subtask, target.parallelism, program.buffer_records, program.max_parallelism
        )
        self.exchanges[edge_id] = exchange
        return exchange
