"""The OpenAPI document, made from the declarations of the routes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from millrace import __version__
from millrace.server.api_route import AccessRole, ApiRoute, ErrorsAnswer, QueryParameter

__all__ = ["openapi_document"]

_REFERENCE = "#/components/schemas/{name}"
_TYPES = {str: "string", int: "integer", bool: "boolean"}
_PARAMETER = re.compile(r"\{(\w+)\}")
_ID = "^[0-9a-f]{32}$"
_IDS = ("jobid", "vertexid", "triggerid")
_FORM = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}},
    "required": ["file"],
}


def openapi_document(routes: Iterable[ApiRoute], with_tokens: bool = True) -> dict[str, Any]:
    """The OpenAPI 3.1 document of some routes.

    Args:
        with_tokens: whether the server requires tokens.
    """
    known = list(routes)
    kinds = [k for route in known for k in (route.answer, route.body) if k not in (None, str)]
    schemas, components = msgspec.json.schema_components(
        [*kinds, ErrorsAnswer], ref_template=_REFERENCE
    )
    schema_of = {str(kind): schema for kind, schema in zip(kinds, schemas, strict=False)}
    paths: dict[str, Any] = {}
    for route in known:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(
            route, schema_of, with_tokens
        )
    components = {name: _without_defaults(schema) for name, schema in components.items()}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Millrace",
            "version": __version__,
            "description": "The REST API of the job server: Flink's paths and JSON where Flink "
            "has them. Every path may begin with /v1.",
        },
        "servers": [{"url": "/"}, {"url": "/v1"}],
        "paths": paths,
        "components": {"schemas": components},
    }
    if with_tokens:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return document


def _operation(route: ApiRoute, schema_of: Mapping[str, Any], with_tokens: bool) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": _operation_id(route),
        "tags": [route.path.split("/")[1]],
        "parameters": [
            *map(_path_parameter, _PARAMETER.findall(route.path)),
            *map(_query_parameter, route.query),
        ],
        "responses": {
            str(route.status): _answer(route, schema_of),
            "default": {
                "description": "It was not done; the answer says why.",
                "content": {"application/json": {"schema": _reference(ErrorsAnswer)}},
            },
        },
    }
    if route.takes_file:
        operation["requestBody"] = {"content": {"multipart/form-data": {"schema": _FORM}}}
    elif route.body is not None:
        schema = schema_of[str(route.body)]
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    if with_tokens and route.role is not AccessRole.NOBODY:
        operation["security"] = [{"token": []}]
        operation["x-role"] = route.role.name.lower()
    return operation


def _answer(route: ApiRoute, schema_of: Mapping[str, Any]) -> dict[str, Any]:
    if route.answer is str:
        return {"description": "Text.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    schema = schema_of[str(route.answer)] if route.answer is not None else {}
    return {"description": "Done.", "content": {"application/json": {"schema": schema}}}


def _operation_id(route: ApiRoute) -> str:
    words = re.sub(r"[^A-Za-z0-9]+", " ", route.path).split()
    return "_".join([route.method.lower(), *words])


def _path_parameter(name: str) -> dict[str, Any]:
    schema = {"type": "string", "pattern": _ID} if name in _IDS else {"type": "string"}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameter(parameter: QueryParameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES[parameter.kind]}
    if parameter.minimum is not None:
        schema["minimum"] = parameter.minimum
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    return {
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.description,
        "schema": schema,
    }


def _reference(kind: type) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(name=kind.__name__)}


def _without_defaults(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without the default values of its properties. Defaults of requests come from the
    job, and some are not JSON."""
    for property in schema.get("properties", {}).values():
        property.pop("default", None)
    return schema
