"""Texts that are broken give errors with a place, never another exception, and soon."""

from __future__ import annotations

import os
import random
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from millrace.sql.errors import SqlParserError
from millrace.sql.parser import parse

CASES = int(os.environ.get("FUZZ_CASES", "1500"))
SEED = int(os.environ.get("FUZZ_SEED", "12"))
PIECES = ["(", ")", "'", "`", ",", ";", "/*+", "*/", "--", "SELECT", "FROM", "NOT", "[", "{-", "\0"]


def statements() -> list[str]:
    """Those that test_parser parses."""
    spec = spec_from_file_location("statements", Path(__file__).with_name("test_parser.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return [text for _, text in module.ALL]


def read(text: str) -> bool:
    """Whether it is parsed; the place of an error lies in the text."""
    error: SqlParserError | None = None
    try:
        parse(text)
    except SqlParserError as refused:
        error = refused
    if error is None:
        return True
    place = error.position
    assert 0 <= place.start <= place.end <= len(text)
    assert 1 <= error.line <= text.count("\n") + 1
    assert str(error)
    return False


def broken(text: str, source: random.Random) -> str:
    """With a token left out, doubled, replaced, moved, or a piece of something else."""
    tokens = re.findall(r"\s+|\w+|.", text)
    for _ in range(source.randint(1, 3)):
        at, other = source.randrange(len(tokens)), source.randrange(len(tokens))
        match source.randrange(4):
            case 0:
                tokens[at] = ""
            case 1:
                tokens[at] += tokens[other]
            case 2:
                tokens[at] = source.choice(PIECES)
            case _:
                tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


@pytest.mark.fuzz
def test_statements_that_end_early() -> None:
    """Cut off anywhere; many of the shorter ones are statements themselves."""
    source = random.Random(SEED)
    for text in statements():
        for end in source.sample(range(len(text)), min(len(text), 12)):
            read(text[:end])


@pytest.mark.fuzz
def test_statements_that_are_mutated() -> None:
    """Some stay statements, most do not."""
    source = random.Random(SEED)
    texts = statements()
    parsed = sum(read(broken(source.choice(texts), source)) for _ in range(CASES))
    assert parsed < CASES / 2
