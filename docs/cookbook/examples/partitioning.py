from millrace.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.functions import Partitioner


class ByRegion(Partitioner):
    def partition(self, key: str, num_partitions: int) -> int:
        return ("north", "south").index(key) % num_partitions


class Where(MapFunction[tuple[str, int], str]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: tuple[str, int]) -> str:
        return f"{value[0]} {value[1]} in subtask {self.subtask}"


env = StreamExecutionEnvironment.get_execution_environment()
parcels = env.from_collection([("north", 1), ("south", 2), ("north", 3)])

by_region = parcels.partition_custom(ByRegion(), lambda parcel: parcel[0])
by_region.map(Where()).set_parallelism(2).print("by region").set_parallelism(1)

one_place = parcels.rebalance().map(lambda parcel: parcel).set_parallelism(2).global_()
one_place.map(Where()).set_parallelism(2).start_new_chain().print("one place")
env.execute("parcels")
