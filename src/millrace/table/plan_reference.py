"""`PlanReference`: the place of a compiled plan. PyFlink: ``pyflink.table.plan_reference``."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from millrace.common.errors import JobDefinitionError
from millrace.filesystem.registry import file_system_of, resolved

__all__ = ["FilePlanReference", "JsonContentPlanReference", "PlanReference"]


class PlanReference(ABC):
    """A compiled plan in a file or in a text, for `TableEnvironment.load_plan`.

    Example:
        >>> PlanReference.from_json_string("{}").get_content()
        '{}'
    """

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> FilePlanReference:
        """The plan in a file, in any file system that checkpoints may use."""
        return FilePlanReference(os.fspath(path))

    @staticmethod
    def from_json_string(json_string: str) -> JsonContentPlanReference:
        """The plan in a text from `CompiledPlan.as_json_string`."""
        return JsonContentPlanReference(json_string)

    @abstractmethod
    def json(self) -> str:
        """The plan's text.

        Raises:
            JobDefinitionError: the file cannot be read.
        """


@dataclass(frozen=True)
class FilePlanReference(PlanReference):
    """A plan in a file."""

    path: str

    def get_file(self) -> Path:
        """The file of the plan."""
        return Path(self.path)

    def exists(self) -> bool:
        """Whether the file exists."""
        return file_system_of(self.path).status(resolved(self.path)) is not None

    def write(self, text: str, replaced: bool) -> None:
        """Write the plan's file.

        Raises:
            JobDefinitionError: there is one, which is not to be replaced.
        """
        system, location = file_system_of(self.path), resolved(self.path)
        if replaced:
            system.delete(location)
        try:
            system.publish(location, [text.encode()], exclusive=True)
        except FileExistsError:
            raise JobDefinitionError(
                f"there is a plan in {self.path} already, and a new plan might not be able "
                "to use its state: use IF NOT EXISTS (ignore_if_exists), or another file"
            ) from None

    def json(self) -> str:
        try:
            return file_system_of(self.path).read(resolved(self.path)).decode()
        except (FileNotFoundError, UnicodeDecodeError) as error:
            raise JobDefinitionError(f"there is no plan in {self.path}: {error}") from None


@dataclass(frozen=True)
class JsonContentPlanReference(PlanReference):
    """A plan in a text."""

    content: str

    def get_content(self) -> str:
        """The text of the plan."""
        return self.content

    def json(self) -> str:
        return self.content
