from collections.abc import Iterator

from millrace.common import Time, Types
from millrace.datastream import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ListState, ListStateDescriptor, StateTtlConfig
from millrace.testing import OperatorHarness

HOUR = 3_600_000


class LastLogins(KeyedProcessFunction[str, tuple[str, str], str]):
    """The places from which a user has logged in within a day."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ListStateDescriptor[str]("places", Types.STRING())
        lifetime = (
            StateTtlConfig.new_builder(Time.days(1))
            .set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)
            .set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
            .build()
        )
        descriptor.enable_time_to_live(lifetime)
        self.places: ListState[str] = runtime_context.get_list_state(descriptor)

    def process_element(
        self, value: tuple[str, str], ctx: KeyedProcessFunction.Context
    ) -> Iterator[str]:
        self.places.add(value[1])
        yield f"{value[0]}: {', '.join(self.places.get())}"


with OperatorHarness(LastLogins(), key_by=lambda login: login[0]) as harness:
    for hour, place in [(0, "Rome"), (10, "Oslo"), (23, "Rome"), (30, "Bern"), (40, "Bern")]:
        harness.set_processing_time(hour * HOUR)
        harness.process_element(("ada", place))
    print("\n".join(harness.output()))
