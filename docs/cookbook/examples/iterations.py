from millrace.datastream import StreamExecutionEnvironment

Walk = tuple[int, int, int]  # where it began, where it is, how many steps it took


def step(walk: Walk) -> Walk:
    start, number, steps = walk
    return start, number // 2 if number % 2 == 0 else 3 * number + 1, steps + 1


env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection([6, 1, 3])
loop = numbers.map(lambda number: (number, number, 0)).iterate()
going_on = loop.filter(lambda walk: walk[1] != 1)
arrived = loop.filter(lambda walk: walk[1] == 1)

loop.close_with(going_on.map(step))
arrived.map(lambda walk: f"{walk[0]} comes to 1 in {walk[2]} steps").print()
env.execute("collatz")
