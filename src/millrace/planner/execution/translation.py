"""`Translator`: turns a relational tree into transformations, one node at a time.

Each kind of node is translated by a function in a module of its own:

    @translates(Filter)
    def translate_filter(node: Filter, translator: Translator) -> Transformation: ...

Every transformation emits `ColumnBatch` whose columns are those of the node's ``row_type``, by
position, in the types of `millrace.common.types.logical.arrow_type`. Flink: ``ExecNode``.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.functions.key_selector import batch_keys, resolve_key_selector
from millrace.expressions.resolved import ResolvedExpression
from millrace.expressions.session_settings import SessionSettings
from millrace.job_graph.transformation import Input, Partitioning, QueryUid, Role, Transformation
from millrace.planner.execution.state_digest import digest
from millrace.planner.execution.state_signature import Provenance, StateSignature
from millrace.planner.inference.changelog_mode import ChangelogModes
from millrace.planner.inference.lost_rows import leaves_lost_rows
from millrace.planner.relational.rel_node import RelNode
from millrace.planner.relational.sink_nodes import LogicalSink
from millrace.runtime.operator import Operator
from millrace.runtime.program import Exchange
from millrace.state.checkpoint.manifest import QUERY_UIDS

__all__ = ["ChangelogModes", "TranslationSettings", "Translator", "translates"]

N = TypeVar("N", bound=RelNode)
Translate = Callable[[Any, "Translator"], Transformation]

_UID_DIGITS = 12
_ORDER_DIGITS = 6
_TRANSLATIONS: dict[type[RelNode], Translate] = {}


def translates(kind: type[N]) -> Callable[[Callable[[N, Translator], Transformation]], Any]:
    """Register a function as the translation of a kind of node."""

    def register(function: Callable[[N, Translator], Transformation]) -> Any:
        _TRANSLATIONS[kind] = function
        return function

    return register


@dataclass(frozen=True)
class TranslationSettings:
    """Settings that a translation depends on besides the tree.

    Attributes:
        parallelism: parallelism of operators that are not bound to one subtask.
        batch: whether the job reads bounded inputs and emits final results only.
        session: settings for the evaluation of expressions (time zone and so on); None: the
            defaults.
        state_ttl: ms after which unused state expires; 0: never
            (``table.exec.state.ttl``).
        options: all options of the session by key, for settings of a single kind of node.
    """

    parallelism: int = 1
    batch: bool = False
    session: Any = None
    state_ttl: int = 0
    options: dict[str, Any] = field(default_factory=dict)


class Translator:
    """Translates the trees of one job. A node that occurs twice is translated only once.

    Args:
        settings: settings of the session.
        modes: changelog modes of the nodes; None: all nodes may update, and all consumers need
            -U rows.
    """

    def __init__(self, settings: TranslationSettings, modes: ChangelogModes | None = None) -> None:
        self.settings = settings
        self._modes = modes
        self._made: dict[RelNode, Transformation] = {}
        self._nodes: dict[Transformation, RelNode] = {}
        self._provenance: dict[Transformation, Provenance] = {}
        self._uids: dict[str, list[str]] = {}
        self._number = 0
        self._sinks = itertools.count()

    def translate(self, node: RelNode) -> Transformation:
        """The transformation that produces a node's rows.

        Raises:
            JobDefinitionError: there is no translation of such a node.
        """
        made = self._made.get(node)
        if made is None:
            _load_translations()
            function = _TRANSLATIONS.get(type(node))
            if function is None:
                raise JobDefinitionError(
                    f"a {type(node).__name__} cannot run here yet; its columns are {node.row_type}"
                )
            made = self._made[node] = function(node, self)
            self._nodes.setdefault(made, node)
            self._provenance.setdefault(made, self._own(made, node))
        return made

    def _own(self, made: Transformation, node: RelNode) -> Provenance:
        """Meaning of the rows and columns of an operator with state, derived from its uid."""
        uid = str(made.uid)
        columns = (digest(uid, index) for index in range(len(node.row_type)))
        return Provenance(uid, tuple(columns), self.session)

    def changelog_mode(self, made: Transformation) -> str:
        """The row kinds of a transformation, as Flink's EXPLAIN shows them; empty for sinks, and
        if they are unknown."""
        node = self._nodes.get(made)
        if node is None or self._modes is None or made.role is Role.SINK:
            return ""
        return self._modes.changes(node).shown(self._modes.emits_update_before(node))

    def replace(self, node: RelNode, made: Transformation) -> None:
        """Let a transformation produce a node's rows, in place of the node's own translation."""
        self._made[node] = made

    def number(self) -> int:
        """Number of the next operator, shown in its name: ``Calc[2]``."""
        self._number += 1
        return self._number

    def sink_ordinal(self) -> int:
        """Number of the next sink, from 0."""
        return next(self._sinks)

    def emits_update_before(self, node: RelNode) -> bool:
        """Whether the node must emit a -U row before each +U row."""
        return self._modes is None or self._modes.emits_update_before(node)

    def repeatable(self, node: RelNode) -> bool:
        """Whether the node's changes must also correct rows that an epoch wrote before it was
        lost."""
        return self._modes is not None and self._modes.repeatable(node)

    def leaves_lost_rows(self, sink: LogicalSink) -> bool:
        """Whether rows that an epoch wrote by key before it was lost could stay in the sink's
        table.
        """
        return self._modes is not None and leaves_lost_rows(sink, self._modes)

    def insert_only(self, node: RelNode) -> bool:
        """Whether a node's rows are never updated or deleted."""
        return self._modes is not None and self._modes.insert_only(node)

    def state_ttl(self, of_node: int | None = None) -> int:
        """Time to live of state in ms: a node's own, or the session's. In batch mode state does
        not expire."""
        if self.settings.batch:
            return 0
        return self.settings.state_ttl if of_node is None else of_node

    # -- transformations ---------------------------------------------------------------

    def input(self, node: RelNode, number: int = 0) -> Input:
        """The rows of a node as an input of an operator in the same subtasks."""
        return Input(self.translate(node), number=number)

    def keyed(self, node: RelNode, positions: Sequence[int], number: int = 0) -> Input:
        """The rows of a node as an input keyed by some columns: rows with equal keys go to the same
        subtask. Without columns, all rows go to one subtask.
        """
        if not positions:
            partitioning = Partitioning(Exchange.GLOBAL)
        else:
            selector: Any = tuple(positions) if len(positions) > 1 else positions[0]
            partitioning = Partitioning(
                Exchange.KEYED,
                resolve_key_selector(selector),
                batch_keys(selector),
                sql_keys=True,
            )
        return Input(self.translate(node), partitioning=partitioning, number=number)

    def provenance(self, rows: Input) -> Provenance:
        """Digests of the origin of an input's rows and columns."""
        return self._provenance[rows.transformation]

    def stateless(
        self,
        name: str,
        factory: Callable[[], Operator],
        inputs: Iterable[Input],
        gives: Provenance,
        description: str = "",
    ) -> Transformation:
        """An operator without state, which runs in the subtasks of its input.

        Args:
            gives: meaning of its rows and columns, for the operators with state above it: they
                cannot use state that was kept for other values.
        """
        inputs = tuple(inputs)
        parallelism = max(source.transformation.parallelism for source in inputs)
        uid = self.uid(name, digest([self.provenance(source).rows for source in inputs]))
        made = Transformation(
            f"{name}[{self.number()}]",
            Role.OPERATOR,
            factory,
            inputs,
            parallelism,
            uid=uid,
            query_uid=QueryUid(uid),
            description=description,
        )
        self._provenance[made] = gives
        return made

    def stateful(
        self,
        name: str,
        factory: Callable[[], Operator],
        inputs: Iterable[Input],
        signature: StateSignature,
        description: str = "",
    ) -> Transformation:
        """An operator with keyed state.

        Args:
            signature: the parts of the query that decide the meaning of the state. The uid is made
                from the signature: after a change of the query, unchanged parts find their state
                again.
        """
        inputs = tuple(inputs)
        single = any(
            source.partitioning is not None and source.partitioning.exchange is Exchange.GLOBAL
            for source in inputs
        )
        uid = self.uid(name, digest(QUERY_UIDS, signature.digest), signature.filters)
        made = Transformation(
            f"{name}[{self.number()}]",
            Role.OPERATOR,
            factory,
            inputs,
            1 if single else self.settings.parallelism,
            fixed_parallelism=single,
            uid=uid,
            query_uid=QueryUid(uid, signature.filters),
            description=description,
        )
        return made

    def name(
        self, made: Transformation, uid: str, gives: Provenance, taken: JobDefinitionError
    ) -> None:
        """Give a stateful operator the uid that the program chose.

        Args:
            gives: meaning of its rows and columns.
            taken: error to raise if another operator has this uid.
        """
        if uid in self._uids:
            raise taken
        self._uids[uid] = [""]
        made.uid = uid
        self._provenance[made] = gives

    def begin(
        self, transformation: Transformation, identity: str, columns: Iterable[object]
    ) -> Transformation:
        """Give a source its uid and provenance.

        Args:
            identity: a text that identifies the source, independent of its columns.
            columns: identity of each column in the source.
        """
        uid = transformation.uid = self.uid(transformation.name, identity)
        transformation.query_uid = QueryUid(uid)
        # the second scan of a table gives the same rows
        uid = _first_uid(transformation.name, identity)
        self._provenance[transformation] = Provenance(
            uid, tuple(digest(uid, column) for column in columns), self.session
        )
        return transformation

    def narrow(self, transformation: Transformation, condition: ResolvedExpression) -> None:
        """Record that a source of updates produces only rows for which a condition is TRUE.
        Retractions of these rows then need the same condition.
        """
        rows = self._provenance[transformation]
        self._provenance[transformation] = rows.with_columns(
            rows.columns, "where", rows.expression(condition)
        )

    def end(self, transformation: Transformation, identity: str) -> Transformation:
        """Give a sink its uid.

        Args:
            identity: a text that identifies the sink, independent of its rows.
        """
        uid = transformation.uid = self.uid(transformation.name, identity)
        transformation.query_uid = QueryUid(uid)
        return transformation

    @property
    def session(self) -> SessionSettings:
        """Settings for the evaluation of expressions."""
        return self.settings.session or SessionSettings()

    def uid(self, name: str, identity: str, filters: str = "") -> str:
        """A uid that stays the same as long as the query has this operator at this place. Further
        operators with an equal signature get a number as suffix.

        Args:
            filters: digest of filters that tells apart operators that are equal otherwise. If such
                digests differ, the uid also depends on those of the former operators, so that
                operators in another order do not resume each other's state.
        """
        uid = _first_uid(name, identity)
        equal = self._uids.setdefault(uid, [])
        equal.append(filters)
        if len(equal) == 1:
            return uid
        order = f"-{digest(equal)[:_ORDER_DIGITS]}" if len(set(equal)) > 1 else ""
        return f"{uid}-{len(equal)}{order}"


def _first_uid(name: str, identity: str) -> str:
    """Uid of the first operator with a name and an identity."""
    word = name.split("[", maxsplit=1)[0].lower()
    kind = "".join(sign if sign.isalnum() else "-" for sign in word)
    hashed = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{kind.strip('-')}-{hashed[:_UID_DIGITS]}"


def _load_translations() -> None:
    """Import all modules of this package, which register their translations."""
    package = __name__.rpartition(".")[0]
    if _LOADED:
        return
    _LOADED.append(package)
    for module in iter_modules(import_module(package).__path__):
        import_module(f"{package}.{module.name}")


_LOADED: list[str] = []
