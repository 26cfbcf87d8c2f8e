"""Checks that text is UTF-8 everywhere: otherwise functions that print or open files fail on
some texts."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.cli.doctor.diagnosis import Diagnosis, ok, warning

CHECK = "encoding"
_FIX = "Set PYTHONUTF8=1 (for workers: spark.executorEnv.PYTHONUTF8=1) or a locale such as C.UTF-8."


def check_encoding(encodings: Mapping[str, str]) -> Diagnosis:
    """Judge the encodings of processes.

    Args:
        encodings: by process, its encodings of file names and of files, separated by a blank.
    """
    other = {
        where: words
        for where, words in encodings.items()
        if {word.replace("-", "").replace("_", "") for word in words.lower().split()} != {"utf8"}
    }
    if not other:
        return ok(CHECK, "UTF-8")
    return warning(CHECK, "; ".join(f"{where}: {words}" for where, words in other.items()), _FIX)
