"""Requests that were made up from the OpenAPI document: none makes the server fail, and answers are
what the document says."""

from __future__ import annotations

from collections.abc import Iterator

import gallery
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from millrace.server.api_route import ApiError
from millrace.server.application import create_application
from millrace.server.observed_job import vertex_id
from millrace.server.program_store import ProgramStore
from millrace.server.resources import stacks

CHECKS = [
    not_a_server_error,
    response_schema_conformance,
    content_type_conformance,
    status_code_conformance,
]
EXAMPLES = 6
"""Per route."""
KNOWN = {
    "jobid": [gallery.RUNNING, gallery.FAILED, gallery.NEW],
    "vertexid": [vertex_id("source"), vertex_id("count")],
    "checkpointid": ["3", "2"],
    "subtaskindex": ["0", "1"],
    "attempt": ["1"],
}
"""What half of the requests name, for others do not get far."""


@pytest.fixture(scope="module")
def schema(tmp_path_factory) -> Iterator[schemathesis.schemas.BaseSchema]:
    patch = pytest.MonkeyPatch()
    patch.setattr("schemathesis.python.asgi.HOST", "localhost")  # all else is refused
    patch.setattr(stacks, "TIMEOUT", 0.05)
    patch.setattr("millrace.server.job_process.JobProcess.start", lambda self, *asked: None)
    patch.setattr("millrace.server.resources.programs.plan_of", _no_plan)
    server = gallery.server_of(tmp_path_factory.mktemp("server"), allow_uploads=True)
    server.programs = ProgramStore(server.settings.uploads, server.settings.directory)
    application = create_application(server, gallery.NO_TOKENS)
    yield schemathesis.openapi.from_asgi("/openapi.json", application)
    server.registry.close()
    patch.undo()


def _no_plan(*arguments: object) -> None:
    """A process for each example would take minutes; `test_programs` has real ones."""
    raise ApiError(400, "not in this test")


def test_no_request_breaks_the_server(schema) -> None:
    tried = []
    for found in schema.get_all_operations():
        operation = found.ok()
        try_operation(operation)
        tried.append(operation.label)
    assert len(tried) > 50


def try_operation(operation: schemathesis.schemas.APIOperation) -> None:
    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    def attempt(case: schemathesis.Case) -> None:
        assert case.call_and_validate(checks=CHECKS).status_code != 403
        known = {name: KNOWN[name][0] for name in case.path_parameters if name in KNOWN}
        if known:
            case.path_parameters.update(known)
            case.call_and_validate(checks=CHECKS)

    attempt()
