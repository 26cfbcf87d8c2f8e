"""Division of the graph of transformations, at its exchanges, into stages of chained operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.job_graph.job_graph import JobGraph, LoopNode, SinkNode, SourceNode
from millrace.job_graph.transformation import Input, Partitioning, Role, Transformation
from millrace.job_graph.uids import assign_uids
from millrace.runtime.operator_state_declaration import (
    OperatorStateDeclaration,
    check_declarations,
)
from millrace.runtime.program import (
    Exchange,
    JobEdge,
    LoopEnds,
    OperatorNode,
    Program,
    Route,
    Stage,
)
from millrace.state.key_groups import MAX_KEY_GROUPS
from millrace.state.serialization.pickles import dump_code


@dataclass
class _Chain:
    """A stage under construction."""

    id: int
    members: list[Transformation]
    inputs: list[int] = field(default_factory=list)
    level: int = 0


def build_job_graph(
    sinks: Sequence[Transformation], run_id: str, job_name: str, **settings: Any
) -> JobGraph:
    """The job graph whose ends are ``sinks``; ``settings`` are further fields of `Program`.

    Raises JobDefinitionError when there is no sink or the program is wrong.
    """
    if not sinks:
        raise JobDefinitionError(
            "the job has no sink, so nothing would be computed; end a stream with print(), "
            "sink_to(), add_sink() or execute_and_collect()"
        )
    ordered = inputs_first(sinks)
    _check_closed(ordered)
    return _Builder(ordered).build(run_id, job_name, settings)


def inputs_first(sinks: Sequence[Transformation]) -> list[Transformation]:
    """All transformations that lead to ``sinks``, each after its inputs."""
    ordered: list[Transformation] = []
    seen: set[Transformation] = set()
    stack = [(sink, False) for sink in reversed(sinks)]
    while stack:
        transformation, done = stack.pop()
        if done:
            ordered.append(transformation)
        elif transformation not in seen:
            seen.add(transformation)
            stack.append((transformation, True))
            stack.extend((i.transformation, False) for i in reversed(transformation.inputs))
    return ordered


class _Builder:
    def __init__(self, ordered: list[Transformation]) -> None:
        self._ordered = ordered
        self._uids = assign_uids(ordered)
        self._chains: list[_Chain] = []
        self._chain_of: dict[Transformation, _Chain] = {}
        self._edges: list[JobEdge] = []
        self._routes: dict[Transformation, list[Route]] = {t: [] for t in ordered}

    def build(self, run_id: str, job_name: str, settings: dict[str, Any]) -> JobGraph:
        for transformation in self._ordered:
            self._place(transformation)
        stages = tuple(self._stage(chain) for chain in self._chains)
        loops = self._loops()
        program = Program(
            run_id=run_id,
            job_name=job_name,
            stages=stages,
            edges=tuple(self._edges),
            loops=tuple(ends for _, ends in loops),
            **settings,
        )
        self._check_parallelism(program)
        self._check_max_parallelism(program)
        return JobGraph(
            program,
            tuple(self._sources()),
            tuple(self._sinks()),
            self._uids,
            tuple(node for node, _ in loops),
        )

    def _place(self, transformation: Transformation) -> None:
        """Append a transformation to the chain of its only input, or start a chain with it."""
        inputs = transformation.inputs
        if len(inputs) == 1 and self._can_chain(inputs[0], transformation):
            upstream = inputs[0].transformation
            chain = self._chain_of[upstream]
            route = Route(inputs[0].tag, node=len(chain.members))
            chain.members.append(transformation)
            self._routes[upstream].append(route)
        else:
            chain = _Chain(len(self._chains), [transformation])
            self._chains.append(chain)
            for source in inputs:
                self._connect(source, chain, transformation)
        self._chain_of[transformation] = chain

    @staticmethod
    def _can_chain(source: Input, transformation: Transformation) -> bool:
        upstream = source.transformation
        chaining = upstream.chaining and transformation.chaining
        chaining = chaining and not transformation.starts_chain
        forward = source.partitioning is None or source.partitioning.exchange is Exchange.FORWARD
        same = upstream.parallelism == transformation.parallelism
        return forward and same and chaining

    def _connect(self, source: Input, chain: _Chain, transformation: Transformation) -> None:
        upstream = source.transformation
        partitioning = source.partitioning
        exchange = partitioning.exchange if partitioning else self._default(source, transformation)
        if exchange is Exchange.FORWARD and upstream.parallelism != transformation.parallelism:
            raise JobDefinitionError(
                f"forward() between '{upstream.name}' (parallelism {upstream.parallelism}) and "
                f"'{transformation.name}' (parallelism {transformation.parallelism}) is not "
                "possible; use rebalance() or give both the same parallelism"
            )
        edge = JobEdge(
            id=len(self._edges),
            source_stage=self._chain_of[upstream].id,
            target_stage=chain.id,
            exchange=exchange,
            key_selector=partitioning.key_selector if partitioning else None,
            key_batch=partitioning.key_batch if partitioning else None,
            name=_edge_name(exchange, upstream),
            input_number=source.number,
            partitioner=_pickled_partitioner(partitioning, upstream),
            sql_keys=partitioning is not None and partitioning.sql_keys,
            key_type=partitioning.key_type if partitioning else None,
            record_type=upstream.output_type if source.tag is None else source.tag.type_info,
        )
        dump_code(edge.key_batch, lambda: f"the key selector of '{edge.name}'")
        self._edges.append(edge)
        chain.inputs.append(edge.id)
        chain.level = max(chain.level, self._chain_of[upstream].level + 1)
        self._routes[upstream].append(Route(source.tag, edge=edge.id))

    @staticmethod
    def _default(source: Input, transformation: Transformation) -> Exchange:
        same = source.transformation.parallelism == transformation.parallelism
        return Exchange.FORWARD if same else Exchange.REBALANCE

    def _stage(self, chain: _Chain) -> Stage:
        head = chain.members[0]
        nodes = tuple(
            OperatorNode(
                self._uids[t],
                t.name,
                _pickled(t),
                tuple(self._routes[t]),
                *_traits(t),
            )
            for t in chain.members
        )
        return Stage(
            id=chain.id,
            uid=self._uids[head],
            name=" -> ".join(t.name for t in chain.members),
            level=chain.level,
            parallelism=head.parallelism,
            nodes=nodes,
            inputs=tuple(chain.inputs),
        )

    def _check_max_parallelism(self, program: Program) -> None:
        if program.max_parallelism > MAX_KEY_GROUPS:
            raise JobDefinitionError(
                f"the job's max parallelism is {program.max_parallelism}; it can be "
                f"{MAX_KEY_GROUPS} at most"
            )
        for t in self._ordered:
            if t.max_parallelism is not None and t.max_parallelism != program.max_parallelism:
                raise JobDefinitionError(
                    f"operator '{t.name}' has a max parallelism of {t.max_parallelism}, but all "
                    f"operators of a job share one, which is {program.max_parallelism}; call "
                    f"env.set_max_parallelism({t.max_parallelism}) instead"
                )

    @staticmethod
    def _check_parallelism(program: Program) -> None:
        for stage in program.stages:
            if stage.parallelism > program.max_parallelism:
                raise JobDefinitionError(
                    f"operator '{stage.name}' has parallelism {stage.parallelism}, more than the "
                    f"job's max parallelism {program.max_parallelism}; lower the "
                    "parallelism, or raise the max parallelism with set_max_parallelism()"
                )

    def _sources(self) -> list[SourceNode]:
        return [
            SourceNode(
                self._uids[t], t.name, t.source, self._chain_of[t].id, t.parallelism, t.alignment
            )
            for t in self._ordered
            if t.role is Role.SOURCE and t.source is not None
        ]  # fmt: skip

    def _loops(self) -> list[tuple[LoopNode, LoopEnds]]:
        heads = [t for t in self._ordered if t.loop is not None and t.role is not Role.FEEDBACK]
        return [self._loop(head) for head in heads]

    def _loop(self, head: Transformation) -> tuple[LoopNode, LoopEnds]:
        tail = next(t for t in self._ordered if t.loop == head.loop and t.role is Role.FEEDBACK)
        if tail.parallelism != head.parallelism:
            raise JobDefinitionError(
                f"an iteration begins with parallelism {head.parallelism} and ends with "
                f"{tail.parallelism}; set the parallelism before close_with()"
            )
        # inputs come first in the order, so one pass finds all that is behind the head
        behind = {head}
        for t in self._ordered:
            if any(i.transformation in behind for i in t.inputs):
                behind.add(t)
        if tail not in behind:
            raise JobDefinitionError(
                f"close_with() got the result of '{tail.inputs[0].transformation.name}', which "
                "does not come from this iteration; pass a stream that is made from the result of "
                "iterate()"
            )
        body = {self._chain_of[t].id for t in behind & set(inputs_first([tail]))}
        into = [edge for edge in self._edges if edge.target_stage in body]
        feeders = {edge.source_stage for edge in into} - set(body)
        loop, stage = str(head.loop), self._chain_of[head].id
        node = LoopNode(loop, stage, head.parallelism, frozenset(body), frozenset(feeders))
        return node, LoopEnds(loop, stage, self._chain_of[tail].id, self._uids[tail])

    def _sinks(self) -> list[SinkNode]:
        sinks = [
            SinkNode(self._uids[t], t.name, t.sink, self._chain_of[t].id, t.parallelism)
            for t in self._ordered
            if t.role is Role.SINK and t.sink is not None
        ]
        _check_exclusive(sinks)
        return sinks


def _check_exclusive(sinks: Sequence[SinkNode]) -> None:
    """Raise JobDefinitionError when two sinks claim a resource that only one may have."""
    owners: dict[str, str] = {}
    for node in sinks:
        exclusive = node.sink.exclusive_id
        if exclusive is None:
            continue
        if exclusive in owners:
            raise JobDefinitionError(
                f"sinks '{owners[exclusive]}' and '{node.name}' have the same {exclusive}: give "
                "each its own"
            )
        owners[exclusive] = node.name


def _check_closed(ordered: Sequence[Transformation]) -> None:
    """Raise JobDefinitionError when a loop is begun but not closed."""
    closed = {t.loop for t in ordered if t.role is Role.FEEDBACK}
    if any(t.loop is not None and t.loop not in closed for t in ordered):
        raise JobDefinitionError(
            "an iteration is not closed, so nothing would be fed back; call close_with() on the "
            "stream that iterate() returned"
        )


def _edge_name(exchange: Exchange, upstream: Transformation) -> str:
    calls = {Exchange.KEYED: "key_by", Exchange.CUSTOM: "partition_custom"}
    return f"{calls[exchange]} after {upstream.name}" if exchange in calls else ""


def _pickled_partitioner(partitioning: Partitioning | None, upstream: Transformation) -> bytes:
    if partitioning is None or partitioning.partitioner is None:
        return b""
    return dump_code(partitioning.partitioner, lambda: f"the partitioner after '{upstream.name}'")


def _traits(
    transformation: Transformation,
) -> tuple[tuple[OperatorStateDeclaration, ...], Callable[[bytes], object] | None]:
    """Declared states of an operator, and the check of messages to it; None if it takes none.
    Raises JobDefinitionError if a state cannot be redistributed."""
    operator = transformation.factory()
    declared = tuple(operator.operator_states)
    check_declarations(transformation.name, declared)
    return declared, operator.message_check


def _pickled(transformation: Transformation) -> bytes:
    """The pickled factory; raises SerializationError with the operator and the captured object."""
    return dump_code(transformation.factory, lambda: f"operator '{transformation.name}'")
