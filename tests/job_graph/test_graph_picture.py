"""The graph of a program, as text and as a picture."""

from __future__ import annotations

from xml.etree import ElementTree

from millrace.datastream import StreamExecutionEnvironment


def test_streams_and_environments_draw_themselves() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    assert env._repr_svg_() is None
    numbers = env.from_collection([1, 2])
    odd = numbers.filter(lambda n: n % 2 == 1).name("<odd> & so on, with a long name indeed")
    both = odd.union(numbers.map(lambda n: n + 1))
    both.key_by(str).reduce(max).print()
    assert "<odd> & so on" in repr(odd)
    lines = env.explain().splitlines()
    assert lines[0].endswith("[parallelism 1]")
    assert any("keyed [parallelism 2]" in line for line in lines)
    assert lines.pop().startswith("executor: ")
    assert "2 sinks" not in repr(env)
    assert repr(env) == "<environment of 1 sinks, parallelism 2>"
    picture = env._repr_svg_()
    assert picture is not None
    root = ElementTree.fromstring(picture)
    texts = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "keyed" in texts
    assert any(text.startswith("<odd> & so on") and text.endswith("…") for text in texts)
    boxes = [
        (each.get("x"), each.get("y")) for each in root.iter("{http://www.w3.org/2000/svg}rect")
    ]
    assert len(boxes) == len(set(boxes)) == len(lines)
