"""Slot sharing groups: accepted, kept for the plan, without effect on Spark.

Flink docs, "Fine-Grained Resource Management". Spark's scheduler decides where tasks run, and every
subtask of a job shares the executors; resources are those of the Spark application.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from millrace.common.config.memory_size import MemorySize
from millrace.common.errors import JobDefinitionError

__all__ = ["SlotSharingGroup"]


@dataclass(frozen=True)
class SlotSharingGroup:
    """A named group with its requested resources.

    Example:
        >>> builder = SlotSharingGroup.builder("heavy").set_cpu_cores(2.0)
        >>> group = builder.set_task_heap_memory_mb(512).build()
        >>> group.get_name(), group.get_cpu_cores(), str(group.get_task_heap_memory())
        ('heavy', 2.0, '512 mb')
    """

    name: str
    cpu_cores: float | None = None
    task_heap_memory: MemorySize | None = None
    task_off_heap_memory: MemorySize | None = None
    managed_memory: MemorySize | None = None
    external_resources: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """A builder of the group with the given name."""
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """The group's name."""
        return self.name

    def get_cpu_cores(self) -> float | None:
        """Number of cores, or None."""
        return self.cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        """Heap memory, or None."""
        return self.task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Off-heap memory, or None."""
        return self.task_off_heap_memory

    def get_managed_memory(self) -> MemorySize | None:
        """Managed memory, or None."""
        return self.managed_memory

    def get_external_resources(self) -> dict[str, float]:
        """Amounts of resources other than CPU and memory, such as GPUs, by name."""
        return dict(self.external_resources)

    class Builder:
        """Builds a group."""

        def __init__(self, name: str) -> None:
            self._values: dict[str, Any] = {"name": name}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Set the number of cores, greater than 0."""
            if cpu_cores <= 0:
                raise JobDefinitionError(f"a group needs more than 0 cores, got {cpu_cores}")
            return self._set("cpu_cores", float(cpu_cores))

        def set_task_heap_memory(
            self, task_heap_memory: MemorySize | str
        ) -> SlotSharingGroup.Builder:
            """Set the heap memory, greater than 0."""
            return self._set("task_heap_memory", _heap(_memory(task_heap_memory)))

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the heap memory in MiB, greater than 0."""
            memory = MemorySize.of_mebi_bytes(task_heap_memory_mb)
            return self._set("task_heap_memory", _heap(memory))

        def set_task_off_heap_memory(
            self, task_off_heap_memory: MemorySize | str
        ) -> SlotSharingGroup.Builder:
            """Set the off-heap memory."""
            return self._set("task_off_heap_memory", _memory(task_off_heap_memory))

        def set_task_off_heap_memory_mb(
            self, task_off_heap_memory_mb: int
        ) -> SlotSharingGroup.Builder:
            """Set the off-heap memory in MiB."""
            memory = MemorySize.of_mebi_bytes(task_off_heap_memory_mb)
            return self._set("task_off_heap_memory", memory)

        def set_managed_memory(self, managed_memory: MemorySize | str) -> SlotSharingGroup.Builder:
            """Set the managed memory."""
            return self._set("managed_memory", _memory(managed_memory))

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the managed memory in MiB."""
            return self._set("managed_memory", MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Set the amount of another resource."""
            resources = {**self._values.get("external_resources", {}), name: value}
            return self._set("external_resources", resources)

        def _set(self, name: str, value: Any) -> SlotSharingGroup.Builder:
            self._values[name] = value
            return self

        def build(self) -> SlotSharingGroup:
            """The group with all settings made so far.

            Raises:
                JobDefinitionError: the group requests resources, but not both cores and heap
                    memory.
            """
            required = {"cpu_cores", "task_heap_memory"}
            if len(self._values) > 1 and not required <= self._values.keys():
                raise JobDefinitionError(
                    f"slot sharing group {self._values['name']!r} requests resources, so it "
                    "needs set_cpu_cores and set_task_heap_memory, too"
                )
            return SlotSharingGroup(**self._values)


def _memory(size: MemorySize | str) -> MemorySize:
    return MemorySize.parse(size) if isinstance(size, str) else size


def _heap(memory: MemorySize) -> MemorySize:
    if memory.get_bytes() <= 0:
        raise JobDefinitionError(f"a group needs more than 0 bytes of heap memory, got {memory}")
    return memory


def group_name(group: str | SlotSharingGroup) -> str:
    """The name of a group, given as an object or by name."""
    if isinstance(group, SlotSharingGroup):
        return group.name
    if not isinstance(group, str):
        raise JobDefinitionError(f"a slot sharing group must be given by its name, got {group!r}")
    return group
