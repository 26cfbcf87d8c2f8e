"""The automaton of a pattern as a labelled graph, from which texts and drawings are made.

Nodes are the beginning, the positions in the order of the pattern, and the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from millrace.cep.condition_text import text_of
from millrace.common.time.amounts import Duration
from millrace.runtime.cep.automaton import Automaton
from millrace.runtime.cep.pattern_model import Contiguity, EventPattern
from millrace.runtime.cep.position import Guard, PatternPosition, Transition

__all__ = ["PatternGraph", "GraphEdge", "GraphNode", "graph_of"]

BEGIN = 0


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A state of the automaton: a position in the pattern, the beginning or the end."""

    number: int
    label: str
    condition: str = ""
    """Condition for events that are taken here."""
    stops: tuple[str, ...] = ()
    """Events that are not taken here: the ends of loops."""


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A transition from one node to another."""

    source: int
    target: int
    contiguity: Contiguity | None
    """None if the transition leads to the end, or from the beginning."""
    notes: tuple[str, ...] = ()
    """Conditions that close the transition, and conditions of a match."""


@dataclass(frozen=True, slots=True)
class PatternGraph:
    """Nodes in the order of their numbers, and edges in the order of their sources."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    limits: tuple[str, ...]
    """Limits of the whole pattern."""

    @property
    def end(self) -> int:
        """The number of the last node."""
        return len(self.nodes) - 1

    def edges_from(self, node: GraphNode) -> list[GraphEdge]:
        """The transitions that leave a node."""
        return [edge for edge in self.edges if edge.source == node.number]


def graph_of(pattern: EventPattern) -> PatternGraph:
    """The graph of a pattern.

    Raises:
        MalformedPatternError: the pattern contradicts itself.

    Example:
        >>> from millrace.cep import Pattern
        >>> graph = graph_of(Pattern.begin("a").next("b").one_or_more().model())
        >>> [(edge.source, edge.target) for edge in graph.edges]
        [(0, 1), (1, 2), (2, 2), (2, 3)]
    """
    automaton = Automaton(pattern)
    end = len(automaton.positions) + 1
    nodes = [GraphNode(BEGIN, "begin"), *map(_node, automaton.positions), GraphNode(end, "match")]
    edges = [
        GraphEdge(BEGIN, _number(transition, end), None, tuple(_closing(transition)))
        for transition in automaton.start.transitions
    ]
    for position in automaton.positions:
        for transition in position.transitions:
            contiguity = None if transition.target is None else transition.contiguity
            notes = tuple(_notes(transition))
            edges.append(
                GraphEdge(position.number + 1, _number(transition, end), contiguity, notes)
            )
    return PatternGraph(tuple(nodes), tuple(edges), tuple(_limits(pattern)))


def _node(position: PatternPosition) -> GraphNode:
    condition = text_of(position.condition)
    stops = tuple(text_of(guard.condition) for guard in position.refused)
    return GraphNode(position.number + 1, position.label, condition, stops)


def _number(transition: Transition, end: int) -> int:
    return end if transition.target is None else transition.target.number + 1


def _notes(transition: Transition) -> Iterable[str]:
    if transition.at_once:
        return  # no event can close it
    if transition.pending:
        yield "when time is over"
    elif transition.target is None:
        yield "at the next event"
    yield from _closing(transition)
    if transition.window_time is not None:
        yield f"less than {Duration.of_millis(transition.window_time)} later"


def _closing(transition: Transition) -> Iterable[str]:
    """Conditions that close a transition, in words."""
    for guard in transition.unless:
        yield f"unless {_guard(guard)} comes before"
    for guard in transition.not_next:
        yield f"unless {_guard(guard)} comes immediately"
    for guard in transition.until:
        yield f"until {text_of(guard.condition)}"
    for position in transition.yields_to:
        yield f"only what {position.label} does not take"


def _guard(guard: Guard) -> str:
    return f"{guard.name} ({text_of(guard.condition)})"


def _limits(pattern: EventPattern) -> Iterable[str]:
    if pattern.within is not None:
        within = Duration.of_millis(pattern.within)
        yield f"from the first event to the last: less than {within}"
    name = "" if pattern.skip.pattern_name is None else f" {pattern.skip.pattern_name}"
    missed = ", an error if there is none to skip to" if pattern.skip.throws else ""
    yield f"after a match: {pattern.skip.kind.value}{name}{missed}"
