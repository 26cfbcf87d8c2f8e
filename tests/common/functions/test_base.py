"""The interfaces that user code implements."""

from __future__ import annotations

import inspect
import pickle

import pytest

from millrace.common.functions import (
    Function,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    RuntimeContext,
    TimeDomain,
)
from millrace.common.functions import base as functions

INTERFACES = [
    cls
    for cls in (getattr(functions, name) for name in functions.__all__)
    if inspect.isclass(cls)
    and issubclass(cls, Function)
    and cls not in (Function, functions.ReduceFunctionWrapper)
]


class Double(MapFunction[int, int]):
    """A user's function."""

    def map(self, value: int) -> int:
        return 2 * value


class Silent(KeyedProcessFunction[str, int, int]):
    """A user's function without timers."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        return None


class Subtask(RuntimeContext):
    """The second of four subtasks."""

    def get_task_name(self) -> str:
        return "Count"

    def get_number_of_parallel_subtasks(self) -> int:
        return 4

    def get_max_number_of_parallel_subtasks(self) -> int:
        return 128

    def get_index_of_this_subtask(self) -> int:
        return 1

    def get_attempt_number(self) -> int:
        return 0

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return default_value

    def get_metrics_group(self):
        raise NotImplementedError

    def get_state(self, state_descriptor):
        raise NotImplementedError

    get_list_state = get_map_state = get_reducing_state = get_aggregating_state = get_state

    def add_accumulator(self, name, accumulator):
        raise NotImplementedError

    def get_accumulator(self, name):
        raise NotImplementedError

    get_int_counter = get_long_counter = get_double_counter = get_histogram = get_accumulator


@pytest.mark.parametrize("interface", INTERFACES, ids=lambda cls: cls.__name__)
def test_an_interface_cannot_be_made_without_its_method(interface: type[Function]) -> None:
    """Forgetting the method is found when the function is made, not when it runs."""
    with pytest.raises(TypeError, match="abstract"):
        interface()


@pytest.mark.parametrize("interface", INTERFACES, ids=lambda cls: cls.__name__)
def test_open_and_close_are_optional(interface: type[Function]) -> None:
    """Every function has a life cycle that does nothing by itself."""
    assert interface.open is Function.open
    assert interface.close is Function.close


def test_a_function_opens_works_and_pickles() -> None:
    """It travels to the workers."""
    double = pickle.loads(pickle.dumps(Double()))
    double.open(Subtask())
    assert double.map(21) == 42
    double.close()


def test_on_timer_and_clear_are_optional() -> None:
    """Only those with timers or window state need them."""
    assert Silent().on_timer(5, None) is None  # type: ignore[arg-type]
    assert not getattr(ProcessWindowFunction.clear, "__isabstractmethod__", False)


def test_on_timer_context_is_a_context() -> None:
    """What works for records works for timers."""
    assert issubclass(KeyedProcessFunction.OnTimerContext, KeyedProcessFunction.Context)
    assert {domain.name for domain in TimeDomain} == {"EVENT_TIME", "PROCESSING_TIME"}


def test_task_name_with_subtasks() -> None:
    """As Flink writes it."""
    assert Subtask().get_task_name_with_subtasks() == "Count (2/4)#0"
