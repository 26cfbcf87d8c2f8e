"""Prepares docstrings for the API reference: an extension of Griffe, named in mkdocs.yml.

Docstrings are written to be read in an editor, too: examples stand as sessions (``>>>``) in the
text, code follows a line that ends with two colons, and single backticks name public classes. Here
the first two become blocks of code, and the names become links. Arguments that one line describes
together get a line each: Griffe knows an argument by its name alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from textwrap import dedent
from typing import Any

from griffe import Alias, Extension, Module, Object

BODY = r"(?P<body>(?:    .*\n|\n)+)"
EXAMPLE = re.compile(rf"^Example(?P<title>:? .*?)?:(?P<code>:)?\n{BODY}", re.MULTILINE)
LITERAL = re.compile(rf"::\n\n{BODY}")
SESSION = re.compile(r"^(?P<indent> *)>>> .*\n(?:(?P=indent).*\S.*\n)*", re.MULTILINE)
FENCED = re.compile(r"(```.*?```)", re.DOTALL)
ARGUMENTS = re.compile(rf"^Args:\n{BODY}", re.MULTILINE)
SEVERAL = re.compile(
    r"^    (?P<names>\w+(?:, \w+)+): (?P<text>.*\n(?:(?:     +.*)?\n)*)", re.MULTILINE
)
NAME = re.compile(r"(?<![`\[\w])`(?P<path>[A-Z]\w*(?:\.\w+)?)`(?!`)")


class Docstrings(Extension):
    """Rewrites the docstrings of a package once it is loaded."""

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        public = dict(_public_names(pkg))
        for item in _objects(pkg):
            if item.docstring is not None:
                item.docstring.value = rendered(item.docstring.value, public)


def rendered(text: str, public: Mapping[str, str]) -> str:
    """The docstring as Markdown; ``public`` has the full path of each public name."""
    text = EXAMPLE.sub(_example, text + "\n")
    text = ARGUMENTS.sub(lambda match: SEVERAL.sub(_line_each, match[0]), text)
    text = LITERAL.sub(lambda match: f":\n\n{_fenced(match['body'], 'text')}", text)
    text = SESSION.sub(lambda match: _fenced(match[0], "pycon"), text)
    outside_and_inside = FENCED.split(text)
    outside_and_inside[::2] = [_linked(part, public) for part in outside_and_inside[::2]]
    return "".join(outside_and_inside).rstrip()


def _example(match: re.Match[str]) -> str:
    head = f"**Example{match['title'] or ''}:**\n\n"
    if match["code"]:
        return head + _fenced(match["body"], "python")
    return head + dedent(match["body"]).lstrip("\n")


def _line_each(match: re.Match[str]) -> str:
    return "".join(f"    {name}: {match['text']}" for name in match["names"].split(", "))


def _fenced(code: str, language: str) -> str:
    return f"```{language}\n{dedent(code).strip()}\n```\n\n"


def _linked(text: str, public: Mapping[str, str]) -> str:
    def link(match: re.Match[str]) -> str:
        name, _, member = match["path"].partition(".")
        if name not in public:
            return match[0]
        identifier = f"{public[name]}.{member}" if member else public[name]
        code = f"<code>{match['path']}</code>"
        return f'<autoref optional identifier="{identifier}">{code}</autoref>'

    return NAME.sub(link, text)


def _public_names(module: Module) -> Iterator[tuple[str, str]]:
    """What the packages export, and where it is defined: pages are found by that."""
    for inner in module.modules.values():
        if not inner.is_alias:
            yield from _public_names(inner)
    if module.is_init_module:
        for name in map(str, module.exports or ()):
            member = module.members[name]
            found = member.final_target if isinstance(member, Alias) else member
            yield name, found.path


def _objects(item: Object) -> Iterator[Object]:
    yield item
    for member in item.members.values():
        if isinstance(member, Object):
            yield from _objects(member)
