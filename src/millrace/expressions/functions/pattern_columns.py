"""`by_pattern` and searches with RE2: apply Java patterns to columns of texts.

RE2 needs time in proportion to the text. Python, like Java, may need more than anybody has, so it
searches only for what RE2 lacks, and only in texts in which RE2 has found something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.expressions.columns import Datum, array_of, is_scalar
from millrace.expressions.functions.java_pattern import JavaPattern
from millrace.expressions.functions.utf16 import code_units

__all__ = [
    "by_pattern",
    "count_in",
    "find_all_in",
    "find_in",
    "has_match",
    "place_in",
    "replaced_in",
]

Column = Callable[[str, Any], Any]
_WHOLE = "whole"
_SAMPLE = 2048
"""Texts that are looked at to tell whether texts repeat."""
_REPEATED = 0.75
"""Most of a sample that may be different if its texts repeat."""
_MARKS = "\x00\x01\x02\x03\x04\x05\x06\x07"
"""Characters, one of which stands around matches for a while."""


def by_pattern(column: Column, text: Datum, pattern: Datum, arrow: Any) -> Datum:
    """Result of a function that takes texts and a pattern. It is called once for each distinct
    pattern; NULL for NULL.

    Args:
        column: makes an array of a pattern and an array of texts.
        text, pattern: columns or scalars.
        arrow: type of the result.
    """
    if is_scalar(pattern):
        if not pattern.is_valid:
            return pa.scalar(None, arrow)
        if is_scalar(text):
            return column(pattern.as_py(), array_of(text, 1))[0]
        return column(pattern.as_py(), array_of(text, len(text)))
    texts = array_of(text, len(pattern))
    encoded = array_of(pattern, len(pattern)).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy()
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1))
    made = [pa.nulls(int(bounds[0]), arrow)]
    for code, pattern_text in enumerate(encoded.dictionary.to_pylist()):
        made.append(
            column(pattern_text, texts.take(pa.array(order[bounds[code] : bounds[code + 1]])))
        )
    return pa.concat_arrays(made).take(pa.array(np.argsort(order, kind="stable")))


def has_match(known: JavaPattern, texts: Any) -> Any:
    """Whether each text contains a match, by RE2; None if RE2 cannot decide."""
    return _tried(lambda: pc.match_substring_regex(texts, known.linear), _readable(known, texts))


def find_in(known: JavaPattern, texts: Any, group: int) -> Any:
    """For each text, a group of its first match; group 0 is the whole match. None if RE2 cannot
    decide.
    """
    possible = known.same_groups and _readable(known, texts)
    search = partial(_first, known, group=group)
    return _tried(lambda: _each_once(search, texts), possible)


def find_all_in(known: JavaPattern, texts: Any, group: int) -> Any:
    """For each text, a group of each of its matches. None if RE2 cannot decide."""
    if not _is_same_anywhere(known):
        return None
    mark = next(
        (
            candidate
            for candidate in _MARKS
            if not pc.any(pc.match_substring(texts, candidate)).as_py()
        ),
        "",
    )
    search = partial(_all, known, group=group, mark=mark)
    return _tried(lambda: _each_once(search, texts), bool(mark))


def replaced_in(known: JavaPattern, texts: Any, new: str) -> Any:
    """The texts with each match replaced by another text; None if RE2 cannot decide."""
    kept = new.replace("\\", "\\\\")
    return _tried(lambda: pc.replace_substring_regex(texts, known.linear, kept), known.replaces)


def count_in(known: JavaPattern, texts: Any) -> Any:
    """Number of matches in each text; None if RE2 cannot decide."""
    return _tried(lambda: pc.count_substring_regex(texts, known.linear), _is_same_anywhere(known))


def place_in(known: JavaPattern, texts: Any) -> Any:
    """Position of the first match in each text, from 1 in UTF-16 units as in Java; 0 without a
    match; None if RE2 cannot decide."""
    return _tried(lambda: _place(known, texts), _readable(known, texts))


def _is_same_anywhere(known: JavaPattern) -> bool:
    """Whether a match does not depend on its position in the text."""
    return known.replaces and "\\A" not in str(known.linear)


def _readable(known: JavaPattern, texts: Any) -> bool:
    """Whether RE2 gives the same result as Java for these texts: RE2's ``$`` also matches
    between the two characters of a line end."""
    if known.linear is None or not known.ends:
        return known.linear is not None
    return not pc.any(pc.match_substring(texts, "\r\n")).as_py()


def _tried(search: Callable[[], Any], possible: bool) -> Any:
    if not possible:
        return None
    try:
        return search()
    except pa.ArrowInvalid:  # it is too large for RE2
        return None


def _each_once(search: Callable[[Any], Any], texts: Any) -> Any:
    """Result of a search in texts. If a sample repeats, each distinct text is searched once: a
    search takes several times as long as finding duplicates."""
    sample = texts.slice(0, _SAMPLE)
    if pc.count_distinct(sample).as_py() > _REPEATED * len(sample):
        return search(texts)
    encoded = texts.dictionary_encode()
    return search(encoded.dictionary).take(encoded.indices)


def _place(known: JavaPattern, texts: Any) -> Any:
    offsets = pc.find_substring_regex(texts, known.linear).cast(pa.int32())
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return pc.add(offsets, pa.scalar(1, pa.int32()))
    pairs = zip(texts.cast(pa.binary()).to_pylist(), offsets.to_pylist(), strict=True)
    places = [
        None if raw is None else code_units(raw[:place].decode()) + 1 if place >= 0 else 0
        for raw, place in pairs
    ]
    return pa.array(places, pa.int32())


def _first(known: JavaPattern, texts: Any, group: int) -> Any:
    named = f"(?P<{_WHOLE}>{known.linear})"
    groups = pc.extract_regex(texts, named)
    if group:
        part = _where(groups.is_valid(), groups.field(f"g{group}"))
        empty = pc.equal(part, "").fill_null(False)
        if not pc.any(empty).as_py():
            return part
        # a group that took no part in the match is empty here, too
        spans = pc.extract_regex_span(texts.filter(empty), named).field(f"g{group}")
        return pc.replace_with_mask(part, empty, _where(spans.is_valid(), part.filter(empty)))
    whole = _where(groups.is_valid(), groups.field(_WHOLE))
    if not known.ends or pc.all(pc.equal(groups.field("end"), "")).as_py() is not False:
        return whole
    pairs = zip(whole.to_pylist(), groups.field("end").to_pylist(), strict=True)
    return pa.array([text and text[: len(text) - len(end)] for text, end in pairs], pa.string())


def _where(mask: Any, texts: Any) -> Any:
    return pc.if_else(mask, texts, pa.scalar(None, pa.string()))


def _all(known: JavaPattern, texts: Any, group: int, mark: str) -> Any:
    marked = pc.replace_substring_regex(texts, known.linear, f"{mark}\\0{mark}")
    parts = pc.split_pattern(marked, mark)
    counts = pc.list_value_length(parts).fill_null(0).to_numpy()
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    is_match = (np.arange(len(starts)) - starts) % 2 == 1
    matches = parts.flatten().filter(pa.array(is_match))
    if group:
        whole = f"\\A(?:{known.linear})\\z"
        matches = _first(replace(known, linear=whole), matches, group)
    offsets = np.concatenate(([0], np.cumsum(counts // 2))).astype(np.int32)
    mask = texts.is_null() if texts.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), matches, mask=mask)
