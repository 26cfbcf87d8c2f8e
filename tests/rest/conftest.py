"""A job with queryable state whose epochs are in the test's hands, and its endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from millrace.common import Configuration, Time, Types
from millrace.datastream import KeyedProcessFunction
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.rest import QueryableStateClient
from millrace.rest.endpoint import RestEndpoint
from millrace.testing import MiniJob

TOKEN = "the-token-of-the-tests"


def queryable(descriptor: Any, name: str) -> Any:
    descriptor.set_queryable(name)
    return descriptor


class Remember(KeyedProcessFunction):
    """Keeps the last value, all values, and how often each came; forgets a key for None."""

    def open(self, runtime_context):
        last = queryable(ValueStateDescriptor("last"), "last-value")
        seen = queryable(ListStateDescriptor("seen", Types.LONG()), "seen-values")
        times = queryable(MapStateDescriptor("times", Types.LONG(), Types.INT()), "times")
        short = queryable(ValueStateDescriptor("short"), "short-lived")
        short.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(10)).build())
        self.last = runtime_context.get_state(last)
        self.seen = runtime_context.get_list_state(seen)
        self.times = runtime_context.get_map_state(times)
        self.short = runtime_context.get_state(short)
        self.private = runtime_context.get_state(ValueStateDescriptor("private"))

    def process_element(self, value, ctx):
        _, number = value
        self.private.update(number)
        self.last.update(number)
        self.short.update(number)
        if number is None:
            self.seen.clear()
            self.times.clear()
        else:
            self.seen.add(number)
            self.times.put(number, (self.times.get(number) or 0) + 1)


def endpoint_among(observers: list[Any]) -> RestEndpoint:
    (found,) = (observer for observer in observers if isinstance(observer, RestEndpoint))
    return found


class Served:
    """The job and whatever asks it."""

    def __init__(self, job: MiniJob) -> None:
        self.job = job
        self.source = job.source("numbers")
        stream = self.source.stream.key_by(0).process(Remember()).name("remember").uid("remember")
        job.collect(stream)

    def push(self, *records: tuple[Any, Any]) -> None:
        """Run an epoch with these (key, number), and wait until it can be asked for."""
        self.source.push(*records)
        self.job.process()
        self.wait()

    def wait(self) -> None:
        assert self.endpoint.view.wait_for(self.job.client.progress().checkpoint, timeout=180)

    @property
    def endpoint(self) -> RestEndpoint:
        return endpoint_among(self.job.client._manager._observers)

    def client(self) -> QueryableStateClient:
        address = self.endpoint.address
        assert address is not None
        host, _, port = address.url.removeprefix("http://").rpartition(":")
        return QueryableStateClient(host, int(port), address.token)


@pytest.fixture
def serve(tmp_path) -> Any:
    """Makes the job; a second one with ``resume`` goes on from the first."""

    @contextmanager
    def serving(parallelism: int = 2, resume: bool = False, **settings: str) -> Iterator[Served]:
        configuration = Configuration({"rest.enabled": "true", "rest.token": TOKEN, **settings})
        directory = str(tmp_path / "checkpoints")
        with MiniJob(
            parallelism, configuration=configuration, checkpoint_dir=directory, resume=resume
        ) as job:
            yield Served(job)

    return serving


@pytest.fixture
def served(serve) -> Iterator[Served]:
    with serve() as running:
        yield running
