"""`FunctionDefinition`: a built-in function with its signatures, result type and kernel.

Names follow Flink's ``BuiltInFunctionDefinition``. A signature is a tuple of parameters, each the
name of a type or of a family of types (`PARAMETERS`); ``?`` behind it makes it optional, ``*``
takes any number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.call_options import CallOptions
from millrace.expressions.functions.utf16 import encodable
from millrace.expressions.parameters import accepted

__all__ = [
    "CallContext",
    "FunctionDefinition",
    "FunctionKind",
    "FunctionResolutionError",
    "Signature",
    "documented",
]

Signature = tuple[str, ...]
ResultStrategy = Callable[["CallContext"], LogicalType]


class FunctionResolutionError(JobDefinitionError):
    """A function does not exist, or does not accept these arguments."""


class FunctionKind(Enum):
    """Kinds of functions by their input and output. Flink: ``FunctionKind``."""

    SCALAR = "SCALAR"
    AGGREGATE = "AGGREGATE"
    TABLE = "TABLE"
    PROCESS_TABLE = "PROCESS_TABLE"


@dataclass(frozen=True, slots=True)
class CallContext:
    """A call, from which the type of its result is derived. Flink: ``CallContext``.

    Attributes:
        name: the function.
        types: types of the arguments, after implicit casts.
        literals: value of each argument that is a constant; otherwise None.
        options: arguments that are not expressions.
    """

    name: str
    types: tuple[LogicalType, ...]
    literals: tuple[Any, ...] = ()
    options: CallOptions | None = None

    @property
    def any_nullable(self) -> bool:
        """Whether an argument is nullable."""
        return any(kind.is_nullable for kind in self.types)


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """Definition of a built-in or user function, to which calls refer. There is only one object for
    each built-in function.

    Attributes:
        name: upper case, or the symbol of an operator.
        signatures: accepted arguments; the first signature that fits decides.
        result: strategy for the type of the value.
        kernel: ``kernel(site, *datums) -> datum`` over columns; None for aggregates.
        adjust: casts that the signature does not describe: a function from argument types to the
            types to cast to, or to None if the types do not fit together.
        lazy: whether arguments are evaluated only for the rows that need them (CASE, COALESCE,
            AND).
        may_fail: whether the function raises for some values, so that lazy functions must evaluate
            it only for the rows that need it.
        safe_with: tells from the arguments, each a constant or None, whether the call cannot fail.
        of_batch: whether the kernel also gets the `Frame`, with the number of rows and the instant.
        deterministic: whether the same arguments always give the same value.
        tells_time: whether a call without arguments tells the present time, unlike other calls.
        parameters: types that a function of the user declares, shown instead of the signatures.
        built_in: whether the function belongs to the registry or to the language, and is not a user
            function.
        process: `ProcessSignature` of a process table function.
        temporal: the table of a temporal table function, with its key and time columns.
        category, text, examples: for the documentation; examples are (expression, text of value).
    """

    name: str
    signatures: tuple[Signature, ...]
    result: ResultStrategy
    kernel: Callable[..., Any] | None = None
    kind: FunctionKind = FunctionKind.SCALAR
    adjust: Callable[[CallContext], tuple[LogicalType, ...] | None] | None = None
    lazy: bool = False
    may_fail: bool = False
    safe_with: Callable[[Sequence[Any]], bool] | None = None
    of_batch: bool = False
    deterministic: bool = True
    tells_time: bool = False
    parameters: tuple[str, ...] | None = None
    built_in: bool = True
    process: Any = None
    temporal: Any = None
    category: str = ""
    text: str = ""
    examples: tuple[tuple[str, str], ...] = field(default=())

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def infer(
        self,
        types: tuple[LogicalType, ...],
        literals: tuple[Any, ...] = (),
        options: CallOptions | None = None,
    ) -> tuple[tuple[LogicalType, ...], LogicalType]:
        """Types to which the arguments are cast, and the type of the result.

        Raises:
            FunctionResolutionError: no signature takes such arguments.
        """
        # as they are evaluated: with ? for half of a character
        literals = tuple(encodable(v) if isinstance(v, str) else v for v in literals)
        each_fits = False
        for signature in self.signatures:
            taken = _taken(signature, types)
            if taken is None:
                continue
            context = CallContext(self.name, taken, literals, options)
            if self.adjust is not None:
                adjusted = self.adjust(context)
                if adjusted is None:
                    each_fits = True
                    continue
                context = CallContext(self.name, adjusted, literals, options)
            return context.types, self.result(context)
        takes_any = any(part.startswith("<ANY>") for parts in self.signatures for part in parts)
        together = each_fits and takes_any and self.parameters is None
        raise FunctionResolutionError(
            self._refusal_together(types) if together else self.refusal(types)
        )

    def _refusal_together(self, types: tuple[LogicalType, ...]) -> str:
        """Error text for arguments that a signature with ``<any>`` takes one by one, but not beside
        each other: the signature, ``COALESCE(<any>, <any>, ...)``, would contradict the error."""
        kinds = {kind.with_nullable(True) for kind in types}
        reason = "because these arguments do not fit together"
        if len(kinds) > 1:
            reason = "because these types do not fit together: CAST some of them"
        elif self.name in ("GREATEST", "LEAST"):
            reason = "because values of this type cannot be compared"
        return f"{self.name} does not take ({', '.join(map(str, types))}), {reason}"

    def refusal(self, types: tuple[LogicalType, ...]) -> str:
        """Error text for arguments of the given types, with the function's signatures."""
        given = ", ".join(map(str, types))
        return f"{self.name} does not take ({given}); its signatures are:\n" + "\n".join(
            f"    {line}" for line in self.signature_texts()
        )

    def signature_texts(self) -> Iterator[str]:
        """Signatures of the function, as the documentation and errors show them."""
        if self.parameters is not None:
            yield f"{self.name}({', '.join(self.parameters)})"
            return
        for signature in self.signatures:
            yield f"{self.name}({', '.join(map(_parameter_text, signature))})"


def documented(
    category: str,
    name: str,
    signatures: tuple[Signature, ...],
    result: ResultStrategy,
    kernel: Callable[..., Any],
    text: str,
    *examples: tuple[str, str],
    may_fail: bool = False,
) -> FunctionDefinition:
    """Definition of a scalar function with its text and examples for the documentation."""
    return FunctionDefinition(
        name,
        signatures,
        result,
        kernel,
        category=category,
        text=text,
        examples=examples,
        may_fail=may_fail,
    )


def _parameter_text(parameter: str) -> str:
    name = parameter.rstrip("?*").lower() if parameter[0] == "<" else parameter.rstrip("?*")
    if parameter.endswith("?"):
        return f"[{name}]"
    return f"{name}, ..." if parameter.endswith("*") else name


def _taken(signature: Signature, types: tuple[LogicalType, ...]) -> tuple[LogicalType, ...] | None:
    """Types to which the arguments are cast; None if their number or types do not match the
    signature."""
    least = sum(1 for parameter in signature if parameter[-1] not in "?*")
    repeated = bool(signature) and signature[-1].endswith("*")
    if len(types) < least or (len(types) > len(signature) and not repeated):
        return None
    taken: list[LogicalType] = []
    for position, kind in enumerate(types):
        parameter = signature[min(position, len(signature) - 1)].rstrip("?*")
        wanted = accepted(parameter, kind)
        if wanted is None:
            return None
        taken.append(wanted)
    return tuple(taken)
