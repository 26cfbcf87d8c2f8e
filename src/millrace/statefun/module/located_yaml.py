"""YAML whose values know their positions, so that an error names file, document and line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from millrace.common.errors import JobDefinitionError
from millrace.common.similar_names import did_you_mean
from millrace.statefun.address import FunctionType

__all__ = ["Located", "ModuleError", "located_documents"]

T = TypeVar("T")
MAX_BYTES = 4 << 20
MAX_DEPTH = 50
_TAG = "tag:yaml.org,2002:"
_SCALARS = {_TAG + name for name in ("str", "int", "float", "bool", "null", "timestamp")}
_UNITS = {
    1: ("ms", "milli", "millis", "millisecond", "milliseconds"),
    1_000: ("s", "sec", "secs", "second", "seconds"),
    60_000: ("m", "min", "minute", "minutes"),
    3_600_000: ("h", "hour", "hours"),
    86_400_000: ("d", "day", "days"),
}
_MS = {unit: factor for factor, units in _UNITS.items() for unit in units}
_DURATION = re.compile(r"(\d{1,15})\s*([a-z]*)", re.IGNORECASE | re.ASCII)


class ModuleError(JobDefinitionError):
    """A fault in a ``module.yaml``. The text begins with file, document and line."""


class Located:
    """A value of a YAML document.

    Args:
        node: node of PyYAML.
        path: keys that lead to the value, for messages.
    """

    def __init__(self, node: Any, file: str, document: int, path: str = "") -> None:
        self._node = node
        self._file = file
        self._document = document
        self.path = path

    def error(self, message: str, node: Any = None) -> ModuleError:
        """Error that names the position of the value, or of another node."""
        return ModuleError(f"{self._place(node or self._node)}: {message}")

    @property
    def place(self) -> str:
        """Position of the value: file, document and line."""
        return self._place(self._node)

    def _place(self, node: Any) -> str:
        return f"{self._file}, document {self._document}, line {node.start_mark.line + 1}"

    def _child(self, node: Any, key: str) -> Located:
        return Located(node, self._file, self._document, f"{self.path}.{key}".lstrip("."))

    @property
    def is_mapping(self) -> bool:
        """Whether the value has keys."""
        return bool(self._node.id == "mapping")

    @property
    def is_absent(self) -> bool:
        """Whether the value is null."""
        return bool(self._node.tag == _TAG + "null")

    def fields(self) -> dict[str, Located]:
        """Values of a mapping by key.

        Raises:
            ModuleError: the value is no mapping, or a key occurs twice or is not a text.
        """
        if not self.is_mapping:
            raise self.error(f"{self._named()} must have keys, got {self._shown()}")
        fields: dict[str, Located] = {}
        for key, value in self._node.value:
            if key.id != "scalar":
                raise self.error(f"a key of {self._named()} is not a text", key)
            if key.tag == _TAG + "merge":
                raise self.error("merge keys ('<<') are not supported: repeat the keys", key)
            if key.value in fields:
                raise self.error(f"key '{key.value}' occurs twice in {self._named()}", key)
            fields[key.value] = self._child(value, key.value)
        return fields

    def require_known(self, known: Iterable[str]) -> dict[str, Located]:
        """Values of a mapping by key, if there is no unknown key.

        Raises:
            ModuleError: there is one; the error suggests the nearest known key.
        """
        names, fields = list(known), self.fields()
        for (key, _), name in zip(self._node.value, fields, strict=True):
            if name not in names:
                raise self.error(f"{self._named()} has no key '{name}'{_hint(name, names)}", key)
        return fields

    def items(self) -> list[Located]:
        """Elements of a list.

        Raises:
            ModuleError: the value is no list.
        """
        if self._node.id != "sequence":
            raise self.error(f"{self._named()} must be a list, got {self._shown()}")
        return [self._child(node, str(n)) for n, node in enumerate(self._node.value)]

    def text(self) -> str:
        """The text of a scalar as it is written; numbers are accepted, too.

        Raises:
            ModuleError: the value is not a scalar, or it is empty.
        """
        if self._node.id != "scalar" or self.is_absent or not self._node.value.strip():
            raise self.error(f"{self._named()} must be a text, got {self._shown()}")
        return str(self._node.value)

    def integer(self, least: int, most: int) -> int:
        """A whole number.

        Raises:
            ModuleError: the value is none, or it is out of range.
        """
        text = self.text()
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", text) or not least <= int(text) <= most:
            message = f"{self._named()} must be a whole number from {least} to {most}, got {text}"
            raise self.error(message)
        return int(text)

    def duration_ms(self, least: int = 1) -> int:
        """An amount of time, such as ``2m`` or ``1 min``, in milliseconds.

        Raises:
            ModuleError: the value is none, or it is too small.
        """
        text = self.text()
        match = _DURATION.fullmatch(text.strip())
        factor = _MS.get(match[2].lower() or "ms") if match else None
        if match is None or factor is None:
            raise self.error(
                f"{self._named()} must be an amount of time such as 500ms, 10s, 2m or 1h, got "
                f"{text!r}"
            )
        amount = int(match[1]) * factor
        if amount < least:
            raise self.error(f"{self._named()} must be at least {least} ms, got {text!r}")
        return amount

    def choice(self, known: Iterable[str]) -> str:
        """The text, after a check that it is one of the known words.

        Raises:
            ModuleError: the value is another word.
        """
        names, word = list(known), self.text()
        if word not in names:
            hint = _hint(word, names)
            raise self.error(f"{self._named()} is '{word}'{hint}")
        return word

    def typename(self) -> FunctionType:
        """A namespace and a name.

        Raises:
            ModuleError: the value has another form.
        """
        return self.converted(FunctionType.of)

    def converted(self, convert: Callable[[str], T]) -> T:
        """The text converted by ``convert``; an error of ``convert`` is raised with the place in
        the file.

        Raises:
            ModuleError: ``convert`` refused it.
        """
        try:
            return convert(self.text())
        except ModuleError:
            raise
        except (ValueError, JobDefinitionError) as error:
            raise self.error(f"{self._named()}: {error}") from None

    def pairs(self) -> Iterator[tuple[str, Located]]:
        """Entries of a mapping, or of a list of mappings with one key each."""
        for part in [self] if self.is_mapping else self.items():
            yield from part.fields().items()

    def _named(self) -> str:
        return f"'{self.path}'" if self.path else "the document"

    def _shown(self) -> str:
        kinds = {"sequence": "a list", "mapping": "keys"}
        if self._node.id in kinds:
            return kinds[self._node.id]
        return "nothing" if self.is_absent or not self._node.value else repr(self._node.value[:80])


def _hint(word: str, known: list[str]) -> str:
    """Suggestion of the nearest known word, or all of them."""
    return did_you_mean(word, known, f"there are {', '.join(sorted(known))}")


def located_documents(content: bytes, file: str) -> list[Located]:
    """Documents of a YAML file that are not empty.

    Raises:
        ModuleError: the content is no YAML, or it uses more of YAML than data needs: aliases, tags
            and deep nesting.
    """
    import yaml

    if len(content) > MAX_BYTES:
        raise ModuleError(f"{file} has {len(content)} bytes; a module has at most {MAX_BYTES}")
    try:
        _require_plain(yaml.SafeLoader(content), file)
        documents = _composed(yaml.SafeLoader(content), file)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ModuleError(f"{file} is not a YAML text: {error}") from None
    return [document for document in documents if not document.is_absent]


def _composed(loader: Any, file: str) -> list[Located]:
    documents: list[Located] = []
    while loader.check_node():
        node = loader.get_node()
        documents.append(Located(node, file, len(documents) + 1))
        _require_known_tags(documents[-1], node)
    return documents


def _require_plain(loader: Any, file: str) -> None:
    """Refuse malformed YAML, aliases and deep nesting before nodes are made."""
    import yaml

    depth, document = 0, 0
    while True:
        try:
            event = loader.get_event()
        except yaml.MarkedYAMLError as error:
            line = (error.problem_mark or error.context_mark).line + 1
            place = f"{file}, document {max(document, 1)}, line {line}"
            raise ModuleError(f"{place}: the text is not valid YAML: {error.problem}") from None
        if isinstance(event, yaml.StreamEndEvent):
            return
        document += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        refused = "an alias ('*')" if isinstance(event, yaml.AliasEvent) else ""
        if depth > MAX_DEPTH:
            refused = f"nesting deeper than {MAX_DEPTH}"
        if refused:
            place = f"{file}, document {document}, line {event.start_mark.line + 1}"
            raise ModuleError(f"{place}: {refused} is not supported: write the value out")


def _require_known_tags(document: Located, node: Any) -> None:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.id == "scalar":
            if node.tag not in _SCALARS and node.tag != _TAG + "merge":
                raise document.error(f"the tag {node.tag!r} is not supported", node)
            continue
        if node.tag not in (_TAG + "map", _TAG + "seq"):
            raise document.error(f"the tag {node.tag!r} is not supported", node)
        for part in node.value:
            waiting.extend(part if isinstance(part, tuple) else (part,))
