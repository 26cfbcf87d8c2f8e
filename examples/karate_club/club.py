"""A club that falls apart: ties between people come and go, and a query says which groups there
are, on a public data set."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from millrace.common import Row
from millrace.datastream import StreamExecutionEnvironment
from millrace.graph.streams import GraphStream, added, removed
from millrace.table import StreamTableEnvironment


def ties() -> Iterator[Row]:
    """The 78 ties of Zachary's karate club (1977), which NetworkX ships. Then the instructor and
    the officers quarrel, and the ties between their followers end one by one."""
    club = nx.karate_club_graph()
    side = nx.get_node_attributes(club, "club")
    yield from (added(*tie) for tie in club.edges)
    yield from (removed(*tie) for tie in club.edges if side[tie[0]] != side[tie[1]])


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    graph = GraphStream(env.from_collection(list(ties())))
    for name, result in (("members", graph.components()), ("triangles", graph.triangles())):
        t_env.create_temporary_view(name, t_env.from_changelog_stream(result))
    t_env.execute_sql(GROUPS).print()


GROUPS = """
SELECT m.component AS first_member, COUNT(*) AS members,
    SUM(COALESCE(t.triangles, 0)) / 3 AS triangles
FROM members m LEFT JOIN triangles t ON m.vertex = t.vertex
GROUP BY m.component
"""

if __name__ == "__main__":
    main()
