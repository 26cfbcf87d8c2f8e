"""Methods of patterns and rules that explain a pattern in text and draw it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from millrace.cep.explain import Explanation, explain
from millrace.cep.graph import graph_of
from millrace.cep.graphviz import dot_of
from millrace.cep.mermaid import Diagram, mermaid_of
from millrace.runtime.cep.pattern_model import EventPattern


class PatternDiagrams(ABC):
    """Base class of objects with a pattern; its methods explain the pattern and draw it.

    Each method raises `MalformedPatternError` if the pattern contradicts itself.
    """

    @abstractmethod
    def model(self) -> EventPattern:
        """The pattern as plain data."""

    def explain(self) -> Explanation:
        """Describe in text the states of a partial match and the transitions between them.

        Conditions are shown with the source of their lambdas, or by name.

        Example:
            >>> from millrace.cep import Pattern
            >>> small = Pattern.begin("small").where(lambda value: value < 10)
            >>> small.followed_by("large").where(lambda value: value > 500).explain()
            begin
              -> small
            small: value < 10
              -> large  followed_by: the next such event
            large: value > 500
              -> match
            after a match: no_skip
        """
        return explain(graph_of(self.model()))

    def to_dot(self) -> str:
        """The automaton in the DOT language of Graphviz.

        Example:
            >>> from millrace.cep import Pattern
            >>> print(Pattern.begin("a").next("b").to_dot().splitlines()[0])
            digraph pattern {
        """
        return dot_of(graph_of(self.model()))

    def to_mermaid(self) -> Diagram:
        """The automaton as Mermaid text, which notebooks, GitHub and MkDocs draw.

        A thick line is `next`, a dashed one `followed_by`, a dotted one `followed_by_any`.

        Example:
            >>> from millrace.cep import Pattern
            >>> print(Pattern.begin("a").next("b").to_mermaid().splitlines()[0])
            flowchart LR
        """
        return mermaid_of(graph_of(self.model()))
