"""Hash functions (Flink docs, "System (Built-in) Functions", Hash)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from millrace.expressions.columns import CallSite, Datum, per_value
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.result_types import always

__all__ = ["HASHES"]

CATEGORY = "Hash"
_SIZES = (224, 256, 384, 512)


def _digest(name: str) -> Callable[[CallSite, Datum], Datum]:
    return lambda site, text: per_value(
        lambda value: hashlib.new(name, value.encode()).hexdigest(), site.arrow, text
    )


def _sha2(text: str, bits: int) -> str:
    if bits not in _SIZES:
        raise EvaluationError(f"SHA2 makes 224, 256, 384 or 512 bits, not {bits}")
    return hashlib.new(f"sha{bits}", text.encode()).hexdigest()


HASHES: tuple[FunctionDefinition, ...] = (
    *(
        FunctionDefinition(
            name,
            (("<CHARACTER_STRING>",),),
            always(f"CHAR({digits})"),
            _digest(name.lower()),
            category=CATEGORY,
            text=f"The {name} hash in {digits} hexadecimal digits.",
            examples=((f"CHAR_LENGTH({name}('abc'))", str(digits)),),
        )
        for name, digits in (
            ("MD5", 32),
            ("SHA1", 40),
            ("SHA224", 56),
            ("SHA256", 64),
            ("SHA384", 96),
            ("SHA512", 128),
        )
    ),
    FunctionDefinition(
        "SHA2",
        (("<CHARACTER_STRING>", "INT"),),
        always("VARCHAR(128)"),
        lambda site, text, bits: per_value(_sha2, site.arrow, text, bits),
        may_fail=True,
        category=CATEGORY,
        text="The SHA-2 hash of this number of bits, in hexadecimal digits.",
        examples=(("CHAR_LENGTH(SHA2('abc', 256))", "64"),),
    ),
)
