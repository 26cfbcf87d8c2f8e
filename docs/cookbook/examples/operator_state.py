from collections.abc import Iterator

from millrace.common import Types
from millrace.datastream import FlatMapFunction, StreamExecutionEnvironment
from millrace.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from millrace.datastream.state import ListState, ListStateDescriptor


class Pairs(FlatMapFunction[str, str], CheckpointedFunction):
    """Puts two records in one; the odd one waits in a field, which a checkpoint must not miss."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor[str]("waiting", Types.STRING())
        store = context.get_operator_state_store()
        self.kept: ListState[str] = store.get_list_state(descriptor)
        self.waiting = list(self.kept.get())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.kept.update(self.waiting)

    def flat_map(self, value: str) -> Iterator[str]:
        self.waiting.append(value)
        if len(self.waiting) == 2:
            yield "+".join(self.waiting)
            self.waiting.clear()


env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection(["a", "b", "c", "d", "e"]).flat_map(Pairs()).print()
env.execute("pairs")
