"""Settings of file systems that are no secrets: they travel with a job to its workers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FileSystemSettings", "current_settings", "use_settings"]


@dataclass(frozen=True, slots=True)
class FileSystemSettings:
    """Where stores are. Credentials are not among it: each process finds its own."""

    s3_endpoint: str | None = None
    s3_region: str | None = None
    s3_path_style: bool | None = None


_settings = FileSystemSettings()


def current_settings() -> FileSystemSettings:
    """Those in force in this process."""
    return _settings


def use_settings(settings: FileSystemSettings) -> None:
    """Put settings in force, for what is opened from now on."""
    global _settings  # noqa: PLW0603  one per process, as environment variables are
    _settings = settings
