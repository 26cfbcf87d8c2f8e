"""Information about the operators of a stage that is needed to read and write their state."""

from __future__ import annotations

from typing import Any

from millrace.common.types.type_information import TypeInformation
from millrace.runtime.program import Program, Stage
from millrace.state.serialization.entry_types import StateOwner


def owners_of(program: Program, stage: Stage) -> dict[str, StateOwner]:
    """Operators of a stage, by uid. The keys and records of the head operator are those of the
    stage's inputs.
    """
    key_type, record_types = _key_type(program, stage), _record_types(program, stage)
    return {
        node.uid: StateOwner(node.name, key_type, record_types)
        if position == 0
        else StateOwner(node.name)
        for position, node in enumerate(stage.nodes)
    }


def _record_types(program: Program, stage: Stage) -> dict[int, TypeInformation[Any]]:
    inputs = set(stage.inputs)
    edges = (edge for edge in program.edges if edge.id in inputs)
    return {e.input_number: e.record_type for e in edges if e.record_type is not None}


def _key_type(program: Program, stage: Stage) -> TypeInformation[Any] | None:
    inputs = set(stage.inputs)
    types = (edge.key_type for edge in program.edges if edge.id in inputs)
    return next((key_type for key_type in types if key_type is not None), None)
