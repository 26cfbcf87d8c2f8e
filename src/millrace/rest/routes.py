"""Routes of the endpoint, and the functions that answer requests.

::

    GET /jobs                                the jobs of this driver
    GET /jobs/JOB                            how a job is doing
    GET /jobs/JOB/state                      its queryable states
    GET /jobs/JOB/state/OPERATOR/NAME        one of them; with ?key=..&key=.. several keys
    GET /jobs/JOB/state/OPERATOR/NAME/KEY    one key

With ``json=1`` in the query keys are JSON as `key_text` writes it, and nothing is guessed.

JOB is the job's id or name, OPERATOR an operator's uid or name, NAME the queryable name of a state
or its own.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, unquote

from millrace.common.errors import StateError
from millrace.common.types.json_values import to_json
from millrace.engine.queryable_view import NotLoadedError
from millrace.rest.answers import Answer, failure, unknown
from millrace.rest.job_view import JobView
from millrace.rest.key_text import exact_candidates, key_candidates, likely_texts
from millrace.runtime.epoch import QueryableState
from millrace.state.frozen import MISSING

__all__ = ["Router"]

RETRY_AFTER = "1"
"""Seconds after which a client may try again while state is being loaded."""
MOST_KEYS = 1_000
"""Largest number of keys in one request."""
SHOWN_KEYS = 5
WITH_KEY = 6
"""Number of parts of a path that ends with a key."""


class Router:
    """Answers requests about one job."""

    def __init__(self, job: JobView) -> None:
        self._job = job

    def get(self, target: str) -> Answer:
        """The answer to ``GET target``; ``target`` is path and query as received."""
        before, _, query = target.partition("?")
        path = [unquote(part) for part in before.split("/")[1:]]
        if path[-1:] == [""] and len(path) != WITH_KEY:  # there it is the empty key
            path.pop()
        try:
            return self._route(path, query)
        except NotLoadedError as error:
            headers = {"Retry-After": RETRY_AFTER}
            return failure(HTTPStatus.SERVICE_UNAVAILABLE, str(error), headers)
        except StateError as error:
            return failure(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))

    def _route(self, path: list[str], query: str) -> Answer:
        if path[:1] != ["jobs"]:
            return unknown("path", "/" + "/".join(path), ["/jobs"])
        if len(path) == 1:
            return Answer(HTTPStatus.OK, {"jobs": [self._job.summary()]})
        if path[1] not in self._job.names():
            return unknown("job", path[1], [self._job.summary()])
        if len(path) == 2:
            return Answer(HTTPStatus.OK, self._job.details())
        if path[2] != "state" or len(path) > WITH_KEY:
            return unknown("path", "/" + "/".join(path), [f"/jobs/{path[1]}/state"])
        return self._state(path[3:], query)

    def _state(self, path: list[str], query: str) -> Answer:
        if not path:
            return self._list_states()
        own = [state for state in self._known() if path[0] in self._operator_names(state)]
        if not own:
            known = dict.fromkeys(self._job.operator_name(s.uid) for s in self._known())
            return unknown("operator", path[0], known)
        if len(path) == 1:
            return Answer(HTTPStatus.OK, {"states": [self._described(s) for s in own]})
        matching = [s for s in own if s.name == path[1]] or [s for s in own if s.state == path[1]]
        if not matching:
            return unknown("state", path[1], [state.name for state in own])
        if len(matching) > 1:
            several = ", ".join(f"{s.name} (operator uid {s.uid})" for s in matching)
            return failure(HTTPStatus.CONFLICT, f"several states are meant: {several}")
        asked = parse_qs(query, keep_blank_values=True)
        exact = asked.get("json") == ["1"]
        if len(path) == 3:
            return self._one_key(matching[0], path[2], exact)
        return self._several_keys(matching[0], asked.get("key", []), exact)

    def _known(self) -> list[QueryableState]:
        states = self._job.view.states()
        if not states and self._job.view.checkpoint is None:
            raise NotLoadedError("the job has just started and made no checkpoint yet; ask again")
        return states

    def _operator_names(self, state: QueryableState) -> tuple[str, str]:
        return state.uid, self._job.operator_name(state.uid)

    def _list_states(self) -> Answer:
        states = [self._described(state) for state in self._known()]
        body = {"checkpoint": self._job.view.checkpoint, "states": states}
        return Answer(HTTPStatus.OK, body)

    def _described(self, state: QueryableState) -> dict[str, Any]:
        keys, problem = None, {}
        try:
            keys = self._job.view.keys(state)[0]
        except NotLoadedError:
            pass
        except StateError as error:
            problem = {"problem": str(error)}
        return {
            "operator": self._job.operator_name(state.uid),
            "uid": state.uid,
            "name": state.name,
            "state": state.state,
            "kind": state.kind,
            "keys": keys,
            **problem,
        }

    def _meant(
        self, state: QueryableState, text: str, examples: list[Any], exact: bool
    ) -> list[Any]:
        """The keys that a text may mean, the most likely first."""
        view = self._job.view
        if exact:
            return exact_candidates(text, view.written(state, text), examples)
        written = [key for likely in likely_texts(text) for key in view.written(state, likely)]
        return key_candidates(text, examples, written)

    def _one_key(self, state: QueryableState, text: str, exact: bool) -> Answer:
        view = self._job.view
        count, examples = view.keys(state)
        reading = view.read(state, [self._meant(state, text, examples, exact)])
        key, value = reading.found[0]
        at = {"checkpoint": reading.checkpoint, "timestamp": reading.timestamp}
        if value is MISSING:
            shown = [to_json(example) for example in examples[:SHOWN_KEYS]]
            return unknown("key", text, shown, keys=count, **at)
        return Answer(HTTPStatus.OK, {"key": to_json(key), "value": to_json(value), **at})

    def _several_keys(self, state: QueryableState, texts: list[str], exact: bool) -> Answer:
        if not texts:
            return Answer(HTTPStatus.OK, self._described(state))
        if len(texts) > MOST_KEYS:
            return failure(HTTPStatus.BAD_REQUEST, f"a request may name at most {MOST_KEYS} keys")
        _, examples = self._job.view.keys(state)
        reading = self._job.view.read(
            state, [self._meant(state, text, examples, exact) for text in texts]
        )
        values = [
            {"key": text, "found": False}
            if value is MISSING
            else {"key": to_json(key), "found": True, "value": to_json(value)}
            for text, (key, value) in zip(texts, reading.found, strict=True)
        ]
        at = {"checkpoint": reading.checkpoint, "timestamp": reading.timestamp}
        return Answer(HTTPStatus.OK, {"values": values, **at})
