from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.window import CountTrigger, GlobalWindows, PurgingTrigger

Score = tuple[str, int]  # player, points


def added(one: Score, other: Score) -> Score:
    return one[0], one[1] + other[1]


scores = [("ann", 1), ("ann", 2), ("bob", 5), ("ann", 3), ("ann", 4), ("bob", 6), ("ann", 9)]

env = StreamExecutionEnvironment.get_execution_environment()
players = env.from_collection(scores).key_by(lambda score: score[0])
players.count_window(2).reduce(added).print("two each")

# the same from its parts: one window per key that never ends, fired and emptied by the trigger
windows = players.window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(2)))
windows.reduce(added).print("the same")

env.from_collection(scores).count_window_all(3).reduce(added).print("any three")
env.execute("scores")
