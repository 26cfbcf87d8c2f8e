"""What a program says about the operators of a stage that is needed to read and write state."""

from __future__ import annotations

from millrace.common.type_information import TypeInformation
from millrace.runtime.program import Program, Stage
from millrace.state.serialization.entry_types import StateOwner


def owners_of(program: Program, stage: Stage) -> dict[str, StateOwner]:
    """The operators of a stage by uid. The head's keys are those that its input is keyed by."""
    key_type = _key_type(program, stage)
    return {
        node.uid: StateOwner(node.name, key_type if position == 0 else None)
        for position, node in enumerate(stage.nodes)
    }


def _key_type(program: Program, stage: Stage) -> TypeInformation | None:
    inputs = set(stage.inputs)
    types = (edge.key_type for edge in program.edges if edge.id in inputs)
    return next((found for found in types if found is not None), None)
