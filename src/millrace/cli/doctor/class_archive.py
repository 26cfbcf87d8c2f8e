"""Checks that Spark's JVM starts from an archive of its classes, which saves seconds."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.cli.doctor.diagnosis import Diagnosis, ok, warning

CHECK = "class archive"


def check_class_archive(options: str, environment: Mapping[str, str]) -> Diagnosis:
    """Judge the options of the JVM.

    Args:
        options: result of `archive_options`.
        environment: environment of this process.
    """
    if "SharedArchiveFile=" in options:
        return ok(CHECK, "used")
    if options:
        return ok(CHECK, "created when the first job ends")
    if environment.get("MILLRACE_CLASS_ARCHIVE") == "off":
        return ok(CHECK, "switched off")
    return warning(
        CHECK,
        "there is no directory for it that only this user can write",
        "Set MILLRACE_CLASS_ARCHIVE to such a directory (an absolute path without blanks), "
        "or to 'off'. Spark starts without the archive, but some seconds later.",
    )
