"""Parser of functions with a syntax of their own: EXTRACT, TRIM, CAST, JSON_VALUE, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from millrace.sql.dialect.calls import CallParser
from millrace.sql.dialect.nodes import JsonBehavior, JsonEntry

__all__ = ["SpecialCallParser"]

_Arguments = list[exp.Expr]


class SpecialCallParser(CallParser):
    """Reads calls that have keywords between their arguments."""

    def special_call(self) -> exp.Expr | None:
        """Parse a call of a function with a syntax of its own; None if another call is next."""
        if self.peek().key != "(":
            return None
        mark = self.index
        if self.token.key in ("CAST", "TRY_CAST"):
            return self._cast(mark)
        read = _READERS.get(self.token.key)
        if read is None:
            return None
        name = self._function_name()
        self.need("(")
        arguments = read(self)
        self.need(")")
        args: dict[str, Any] = {"this": name, "expressions": arguments}
        return self.with_clauses(mark, args)

    def _function_name(self) -> exp.Identifier:
        mark = self.index
        return self.placed(exp.Identifier(this=self.advance().value, quoted=False), mark)

    def _cast(self, mark: int) -> exp.Expr:
        kind = exp.Cast if self.need_one("CAST", "TRY_CAST") == "CAST" else exp.TryCast
        self.need("(")
        value = self.expression()
        self.need("AS")
        node = kind(this=value, to=self.type_name())
        self.need(")")
        return self.placed(node, mark)

    def _extract(self) -> _Arguments:
        unit = self.time_unit()
        self.need("FROM")
        return [unit, self.expression()]

    def _rounded(self) -> _Arguments:
        value = self.expression()
        if self.take("TO"):
            return [value, self.time_unit()]
        return [value, *self._further()]

    def _units_first(self) -> _Arguments:
        unit = self.time_unit()
        return [unit, *self._further()]

    def _further(self) -> _Arguments:
        return [self.expression() for _ in iter(lambda: self.take(","), False)]

    def _position(self) -> _Arguments:
        found = [self.operand()]
        self.need("IN")
        found.append(self.expression())
        if self.take("FROM"):
            found.append(self.expression())
        return found

    def _overlay(self) -> _Arguments:
        found = [self.expression()]
        if self.at(","):
            return found + self._further()
        for word in ("PLACING", "FROM"):
            self.need(word)
            found.append(self.expression())
        if self.take("FOR"):
            found.append(self.expression())
        return found

    def _substring(self) -> _Arguments:
        found = [self.expression()]
        if not self.take("FROM"):
            return found + self._further()
        found.append(self.expression())
        if self.take("FOR"):
            found.append(self.expression())
        return found

    def _trim(self) -> _Arguments:
        mark = self.index
        side = self.take_one("BOTH", "LEADING", "TRAILING")
        word = self.placed(exp.Var(this=side or "BOTH"), mark)
        blank = self.placed(exp.Literal(this=" ", is_string=True), mark)
        if side and self.take("FROM"):
            return [word, blank, self.expression()]
        value = self.expression()
        if self.take("FROM"):
            return [word, value, self.expression()]
        return [word, blank, value] if side else [value, *self._further()]

    def _json_path_call(self) -> _Arguments:
        """Parse the arguments of JSON_VALUE, JSON_QUERY and JSON_EXISTS."""
        found = [self.expression()]
        self.take("FORMAT", "JSON")
        self.need(",")
        found.append(self.expression())
        if self.at("RETURNING"):
            found.append(self._returning())
        if self.at("WITHOUT", "WITH"):
            found.append(self._wrapper())
        while not self.at(")"):
            found.append(self._on_empty_or_error())
        return found

    def _returning(self) -> exp.Expr:
        mark = self.index
        self.need("RETURNING")
        return self.placed(JsonBehavior(this=self.type_name(), on="RETURNING"), mark)

    def _wrapper(self) -> exp.Expr:
        mark = self.index
        kind = "WITHOUT"
        if self.need_one("WITHOUT", "WITH") == "WITH":
            kind = self.take_one("CONDITIONAL", "UNCONDITIONAL") or "UNCONDITIONAL"
        self.take("ARRAY")
        self.need("WRAPPER")
        return self.placed(JsonBehavior(this=kind, on="WRAPPER"), mark)

    def _on_empty_or_error(self) -> exp.Expr:
        mark = self.index
        args: dict[str, Any] = {
            "this": self.need_one("NULL", "ERROR", "DEFAULT", "EMPTY", "TRUE", "FALSE", "UNKNOWN")
        }
        if args["this"] == "DEFAULT":
            args["expression"] = self.expression()
        elif args["this"] == "EMPTY":
            args["this"] = f"EMPTY {self.need_one('ARRAY', 'OBJECT')}"
        self.need("ON")
        return self.placed(JsonBehavior(**args, on=self.need_one("EMPTY", "ERROR")), mark)

    def _json_constructor(self, item: Callable[[], exp.Expr]) -> _Arguments:
        """Parse the arguments of JSON_OBJECT, JSON_ARRAY and their aggregates."""
        found: _Arguments = []
        if not self.at(")", "ABSENT") and not self.at_all("NULL", "ON"):
            found = self.listed(item)
        if self.at("ORDER"):
            raise self.error("the order of JSON_ARRAYAGG is that of its input: no ORDER BY here")
        mark = self.index
        if self.at("ABSENT") or self.at_all("NULL", "ON"):
            behavior = self.need_one("NULL", "ABSENT")
            self.need("ON", "NULL")
            found.append(self.placed(JsonBehavior(this=behavior, on="NULL"), mark))
        return found

    def _json_object(self) -> _Arguments:
        return self._json_constructor(self._json_entry)

    def _json_array(self) -> _Arguments:
        return self._json_constructor(self._json_value)

    def _json_value(self) -> exp.Expr:
        value = self.expression()
        self.take("FORMAT", "JSON")
        return value

    def _json_entry(self) -> exp.Expr:
        mark = self.index
        with_word = self.at("KEY") and self.peek().key not in ("VALUE", ":", ",", ")", ".")
        if with_word:
            self.advance()
        key = self.expression()
        if not self.take(":"):
            self.need("VALUE")
        return self.placed(JsonEntry(this=key, expression=self._json_value()), mark)


_READERS: dict[str, Callable[[SpecialCallParser], _Arguments]] = {
    "CEIL": SpecialCallParser._rounded,
    "CEILING": SpecialCallParser._rounded,
    "EXTRACT": SpecialCallParser._extract,
    "FLOOR": SpecialCallParser._rounded,
    "JSON_ARRAY": SpecialCallParser._json_array,
    "JSON_ARRAYAGG": SpecialCallParser._json_array,
    "JSON_EXISTS": SpecialCallParser._json_path_call,
    "JSON_OBJECT": SpecialCallParser._json_object,
    "JSON_OBJECTAGG": SpecialCallParser._json_object,
    "JSON_QUERY": SpecialCallParser._json_path_call,
    "JSON_VALUE": SpecialCallParser._json_path_call,
    "OVERLAY": SpecialCallParser._overlay,
    "POSITION": SpecialCallParser._position,
    "SUBSTRING": SpecialCallParser._substring,
    "TIMESTAMPADD": SpecialCallParser._units_first,
    "TIMESTAMPDIFF": SpecialCallParser._units_first,
    "TRIM": SpecialCallParser._trim,
}
